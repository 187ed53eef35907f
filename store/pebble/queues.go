package pebble

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// queues assigns a number to each queue's name, and counts its tasks.
type queues struct {
	names   atomic.Pointer[[]string] // by number; copy-on-write
	numbers map[string]uint32        // used only by the committer, like durable
	durable []bool                   // by number: the name is on disk

	mu     sync.Mutex
	counts []counts // by number
}

// counts are the tasks of a queue by state.
type counts [4]int64

// name returns the name for a queue's number.
func (q *queues) name(number uint32) (string, bool) {
	names := *q.names.Load()
	if int(number) >= len(names) {
		return "", false
	}
	return names[number], true
}

// number returns a queue's number and never assigns one.
func (q *queues) number(name string) (uint32, bool) {
	i := slices.Index(*q.names.Load(), name)
	return uint32(i), i >= 0
}

// intern returns a queue's number, and assigns the next number to a new queue.
func (q *queues) intern(name string) uint32 {
	if n, ok := q.numbers[name]; ok {
		return n
	}
	n := uint32(len(q.durable))
	names := append(slices.Clip(*q.names.Load()), name)
	q.names.Store(&names)
	q.numbers[name] = n
	q.durable = append(q.durable, false)
	q.mu.Lock()
	q.counts = append(q.counts, counts{})
	q.mu.Unlock()
	return n
}

func appendCounts(b []byte, c counts) []byte {
	for _, n := range c {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func (s *Store) readQueues() error {
	s.queues.numbers = map[string]uint32{}
	s.queues.names.Store(new([]string))
	err := s.scan([]byte{tableQueue}, func(_, row []byte) error {
		n := s.queues.intern(string(row))
		s.queues.durable[n] = true
		return nil
	})
	if err != nil {
		return err
	}
	return s.scan([]byte{tableDepth}, func(key, row []byte) error {
		n := binary.BigEndian.Uint32(key[1:])
		if int(n) >= len(s.queues.counts) {
			return pack.ErrCorrupt
		}
		p := pack.Read(row)
		for i := range s.queues.counts[n] {
			s.queues.counts[n][i] = p.Varint()
		}
		return p.End()
	})
}

// Depths counts the tasks of each non-empty queue, by state. The counts are exact.
func (s *Store) Depths(context.Context) ([]store.Depth, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.queues.mu.Lock()
	counted := slices.Clone(s.queues.counts)
	s.queues.mu.Unlock()

	var depths []store.Depth
	for i, c := range counted {
		if c == (counts{}) {
			continue
		}
		name, _ := s.queues.name(uint32(i))
		depths = append(depths, store.Depth{
			Queue:     name,
			Pending:   c[bellman.Pending],
			Succeeded: c[bellman.Succeeded],
			Failed:    c[bellman.Failed],
			Cancelled: c[bellman.Cancelled],
		})
	}
	slices.SortFunc(depths, func(a, b store.Depth) int { return strings.Compare(a.Queue, b.Queue) }) // they have the order of their first tasks
	return depths, nil
}

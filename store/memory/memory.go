// Package memory is a store that loses all data when it is closed. It implements store.Store as
// simply as possible, for tests and examples. Reads of pages scan all tasks.
//
// A test of a schedule needs no real time: in a bubble of testing/synctest, make the store and the
// engine, call Run in a goroutine, and wait for its return at the end. A day then takes seconds.
package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Store keeps tasks in memory. Make one with New.
type Store struct {
	// Clock is the store's clock, for tests in which it differs from its users'. Set it before
	// the first use. Nil: time.Now.
	Clock func() time.Time

	mu      sync.Mutex
	closed  bool
	rows    map[bellman.ID]*row
	keys    map[[2]string]*row // by queue and key, of the tasks that have one
	aliases map[string]*row
	pending pending
	chains  chains
	docs    map[[2]string][]byte // by kind and name
	audits  []store.Audit        // by time
	shards  [64]store.Shard      // as many as in the other stores
	nodes   map[string]node
}

// A row is a task with its attempts.
type row struct {
	bellman.Task
	digest   bellman.Digest
	attempts []bellman.Attempt // by number
	at       int64             // VisibleAt in Unix ms, while the task is pending
}

func (r *row) position() store.Position { return store.Position{VisibleAt: r.at, ID: r.ID} }

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{
		rows: map[bellman.ID]*row{}, keys: map[[2]string]*row{}, aliases: map[string]*row{}, pending: pending{}, chains: chains{},
		docs: map[[2]string][]byte{}, nodes: map[string]node{},
	}
	for i := range s.shards {
		s.shards[i].Shard = uint16(i)
	}
	return s
}

func (s *Store) now() time.Time {
	if s.Clock != nil {
		return s.Clock()
	}
	return time.Now()
}

// Close makes all later calls return ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// alone calls f under the lock, unless the store is closed.
func alone[T any](ctx context.Context, s *Store, f func() (T, error)) (result T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return result, bellman.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return result, err
	}
	return f()
}

// do is alone for an f that returns nothing.
func (s *Store) do(ctx context.Context, f func() error) error {
	_, err := alone(ctx, s, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Commit applies b as one transaction.
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	return s.do(ctx, func() error {
		for _, l := range b.Leases {
			if int(l.Shard) >= len(s.shards) || s.shards[l.Shard].Lease != l {
				return fmt.Errorf("%w: shard %d", bellman.ErrFenced, l.Shard)
			}
		}
		for _, d := range b.Docs {
			if d.Was != nil && !bytes.Equal(s.docs[[2]string{d.Kind, d.Name}], d.Was) { // a missing document fits an empty Was, because no value is empty
				return fmt.Errorf("%w: document %s/%s", bellman.ErrConflict, d.Kind, d.Name)
			}
		}
		for i := range b.Adds {
			s.add(&b.Adds[i])
		}
		for i := range b.Changes {
			s.change(&b.Changes[i])
		}
		for _, d := range b.Docs {
			s.docs[[2]string{d.Kind, d.Name}] = bytes.Clone(d.Value) // nil: deleted
		}
		for _, a := range b.Audits {
			s.audit(a)
		}
		return nil
	})
}

func (s *Store) add(a *store.Add) {
	a.Existing, a.Err = bellman.ID{}, nil
	if a.Task.Queue == "" {
		a.Err = bellman.InvalidField("queue", "is missing")
		return
	}
	key := [2]string{a.Task.Queue, a.Task.Key}
	if r := s.keys[key]; r != nil {
		a.Existing = r.ID
		if r.digest != a.Digest {
			a.Err = bellman.ErrKeyTaken
		}
		return
	}
	if s.rows[a.Task.ID] != nil {
		a.Existing = a.Task.ID
		return
	}
	if r := s.aliases[a.Task.Alias()]; r != nil {
		a.Existing, a.Err = r.ID, bellman.ErrAliasTaken
		return
	}
	r := &row{Task: *clone(a.Task), digest: a.Digest}
	r.Last = nil
	s.rows[r.ID] = r
	if r.Key != "" {
		s.keys[key] = r
	}
	if r.Alias() != "" {
		s.aliases[r.Alias()] = r
	}
	s.pending.put(r)
	s.chains.add(r, s.now(), a.Moved)
	a.Task.Place = r.Place
}

func (s *Store) change(c *store.Change) {
	r := s.rows[c.ID]
	switch c.Err = nil; {
	case r == nil:
		c.Err = bellman.ErrNotFound
	case r.Version != c.Version:
		c.Err = bellman.ErrConflict
	default:
		s.put(r, c)
	}
}

func (s *Store) put(r *row, c *store.Change) {
	c.To.Version = r.Version + 1
	s.pending.drop(r)
	ended := r.State.Ended()
	r.Status = clone(&bellman.Task{Status: c.To}).Status
	s.pending.put(r)
	if c.Ordering != nil && r.State.Ended() != ended {
		s.chains.change(r)
	}
	if c.Attempt != nil {
		a := *c.Attempt
		a.Due, a.Started = cut(a.Due), cut(a.Started)
		r.attempts = append(r.attempts, a)
		slices.SortFunc(r.attempts, func(a, b bellman.Attempt) int { return a.Number - b.Number })
		last := r.attempts[len(r.attempts)-1]
		r.Last = &last
	}
	if c.Audit != nil {
		s.audit(*c.Audit)
	}
	for i := range c.Follow {
		s.add(&c.Follow[i])
	}
}

func (s *Store) audit(a store.Audit) {
	a.At, a.Changes = cut(a.At), slices.Clone(a.Changes)
	i := len(s.audits)
	for i > 0 && s.audits[i-1].At.After(a.At) {
		i--
	}
	s.audits = slices.Insert(s.audits, i, a)
}

// Prune deletes tasks that ended in state and finished before the given time.
func (s *Store) Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (pruned int, err error) {
	return alone(ctx, s, func() (int, error) {
		if !state.Ended() {
			return 0, errors.New("prune pending tasks: want an end state")
		}
		for _, r := range s.oldest() {
			if pruned < limit && r.State == state && r.Finished.Before(cut(before)) {
				delete(s.rows, r.ID)
				delete(s.keys, [2]string{r.Queue, r.Key})
				delete(s.aliases, r.Alias())
				pruned++
			}
		}
		return pruned, nil
	})
}

// Due reads the entries of shards from a position to a time.
func (s *Store) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	return alone(ctx, s, func() ([]store.Entry, error) {
		for _, r := range s.pending.due(shards, from, to, limit) {
			buf = append(buf, store.Entry{
				ID: r.ID, VisibleAt: r.at, Due: r.Due.UnixMilli(), Line: store.LineOf(r.Queue, r.Endpoint),
				Version: r.Version, Attempts: uint32(r.Attempts), Shard: r.Shard,
			})
		}
		return buf, nil
	})
}

// Load reads the tasks of entries that are still of their version.
func (s *Store) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	return alone(ctx, s, func() ([]*bellman.Task, error) {
		tasks := make([]*bellman.Task, len(entries))
		for i, e := range entries {
			if r := s.rows[e.ID]; r != nil && r.State == bellman.Pending && r.Version == e.Version {
				tasks[i] = clone(&r.Task)
				tasks[i].Last = nil
			}
		}
		return tasks, nil
	})
}

// Task reads a task.
func (s *Store) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	return alone(ctx, s, func() (*bellman.Task, error) {
		if r := s.rows[id]; r != nil {
			return clone(&r.Task), nil
		}
		return nil, bellman.ErrNotFound
	})
}

// Find returns the task that has each key or alias.
func (s *Store) Find(ctx context.Context, keys []store.Key) ([]store.Found, error) {
	return alone(ctx, s, func() ([]store.Found, error) {
		found := make([]store.Found, len(keys))
		for i, k := range keys {
			if r := s.aliases[k.Key]; r != nil && k.Queue == "" {
				found[i].ID = r.ID
			} else if r := s.keys[[2]string{k.Queue, k.Key}]; r != nil {
				found[i] = store.Found{ID: r.ID, Digest: r.digest}
			}
		}
		return found, nil
	})
}

// Attempts reads a task's attempts.
func (s *Store) Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error) {
	return alone(ctx, s, func() (log []bellman.Attempt, err error) {
		if r := s.rows[id]; r != nil {
			log = slices.DeleteFunc(slices.Clone(r.attempts), func(a bellman.Attempt) bool { return a.Number <= after })
		}
		return first(log, limit), nil
	})
}

// List reads the tasks that match f, newest first.
func (s *Store) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	err = s.do(ctx, func() error {
		for _, r := range slices.Backward(s.oldest()) {
			switch {
			case limit <= 0:
				return nil
			case !before.IsZero() && r.ID.Compare(before) >= 0, !f.Fits(&r.Task):
			case len(tasks) == limit:
				next = tasks[limit-1].ID
				return nil
			default:
				tasks = append(tasks, clone(&r.Task))
			}
		}
		return nil
	})
	return tasks, next, err
}

// Depths counts tasks.
func (s *Store) Depths(ctx context.Context) ([]store.Depth, error) {
	return alone(ctx, s, func() (depths []store.Depth, err error) {
		for _, r := range s.rows {
			i, found := slices.BinarySearchFunc(depths, r.Queue, func(d store.Depth, queue string) int { return strings.Compare(d.Queue, queue) })
			if !found {
				depths = slices.Insert(depths, i, store.Depth{Queue: r.Queue})
			}
			d := &depths[i]
			*[...]*int64{&d.Pending, &d.Succeeded, &d.Failed, &d.Cancelled}[r.State]++
		}
		return depths, nil
	})
}

// Docs reads documents.
func (s *Store) Docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	return alone(ctx, s, func() ([]store.Doc, error) { return first(s.docsOf(f), limit), nil })
}

// docsOf returns the documents that f chooses, in order.
func (s *Store) docsOf(f store.DocFilter) (docs []store.Doc) {
	for key, value := range s.docs {
		if value != nil && key[0] == f.Kind && key[1] > f.After && (f.Name == "" || key[1] == f.Name) {
			docs = append(docs, store.Doc{Kind: key[0], Name: key[1], Value: bytes.Clone(value)})
		}
	}
	slices.SortFunc(docs, func(a, b store.Doc) int { return strings.Compare(a.Name, b.Name) })
	return docs
}

// Audits reads the newest audit records.
func (s *Store) Audits(ctx context.Context, before time.Time, limit int) ([]store.Audit, error) {
	return alone(ctx, s, func() (found []store.Audit, err error) {
		for _, a := range slices.Backward(s.audits) {
			full := len(found) >= limit && (limit <= 0 || !a.At.Equal(found[len(found)-1].At))
			if !full && (before.IsZero() || a.At.Before(cut(before))) {
				found = append(found, a)
			}
		}
		return found, nil
	})
}

// oldest returns all rows, the oldest first.
func (s *Store) oldest() []*row {
	return slices.SortedFunc(maps.Values(s.rows), func(a, b *row) int { return a.ID.Compare(b.ID) })
}

func first[T any](list []T, limit int) []T { return list[:min(len(list), max(limit, 0))] }

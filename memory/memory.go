// Package memory is a store that forgets everything when it is closed. It is
// the contract of bellman.Store in as few words as possible, for tests and
// examples: every read looks at every task.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// shardCount is the number of shards, as in the other stores.
const shardCount = 64

// A Store keeps tasks in memory. Make one with New.
type Store struct {
	mu     sync.Mutex
	closed bool
	tasks  map[bellman.ID]*row
	docs   map[[2]string][]byte // by kind and name
	audits []bellman.Audit
	shards [shardCount]bellman.Shard
	nodes  map[string]*node
}

type row struct {
	bellman.Task
	digest   bellman.Digest
	attempts []bellman.Attempt
}

type node struct {
	bellman.Node
	ttl     time.Duration
	expires time.Time
}

var _ bellman.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{tasks: map[bellman.ID]*row{}, docs: map[[2]string][]byte{}, nodes: map[string]*node{}}
	for i := range s.shards {
		s.shards[i].Shard = uint16(i)
	}
	return s
}

// Close makes all later calls return ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// do calls f alone, unless the store is closed.
func (s *Store) do(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return bellman.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}

// locked is do with a result.
func locked[T any](ctx context.Context, s *Store, f func() (T, error)) (result T, err error) {
	err = s.do(ctx, func() error {
		result, err = f()
		return err
	})
	return result, err
}

// Commit applies b as one transaction.
func (s *Store) Commit(ctx context.Context, b *bellman.Batch) error {
	return s.do(ctx, func() error {
		for _, l := range b.Leases {
			if int(l.Shard) >= shardCount || s.shards[l.Shard].Epoch != l.Epoch {
				return fmt.Errorf("%w: shard %d", bellman.ErrFenced, l.Shard)
			}
		}
		for i := range b.Adds {
			s.add(&b.Adds[i])
		}
		for i := range b.Changes {
			s.change(&b.Changes[i])
		}
		for _, d := range b.Docs {
			if d.Value == nil {
				delete(s.docs, [2]string{d.Kind, d.Name})
			} else {
				s.docs[[2]string{d.Kind, d.Name}] = bytes.Clone(d.Value)
			}
		}
		for _, a := range b.Audits {
			s.audit(a)
		}
		return nil
	})
}

func (s *Store) add(a *bellman.Add) {
	a.Existing, a.Err = bellman.ID{}, nil
	if have := s.holder(a.Task.Queue, a.Task.Key); have != nil {
		a.Existing = have.ID
		if have.digest != a.Digest {
			a.Err = bellman.ErrKeyTaken
		}
		return
	}
	if _, ok := s.tasks[a.Task.ID]; ok {
		a.Existing = a.Task.ID
		return
	}
	r := &row{Task: clone(a.Task), digest: a.Digest}
	r.Last = nil
	s.tasks[r.ID] = r
}

func (s *Store) change(c *bellman.Change) {
	c.Err = nil
	r, ok := s.tasks[c.ID]
	if !ok {
		c.Err = bellman.ErrNotFound
		return
	}
	if r.Version != c.Version {
		c.Err = bellman.ErrConflict
		return
	}
	c.To.Version = r.Version + 1
	next := clone(&bellman.Task{Status: c.To})
	r.Status = next.Status
	if c.Attempt != nil {
		a := *c.Attempt
		a.Due, a.Started = cut(a.Due), cut(a.Started)
		r.attempts = append(r.attempts, a)
		slices.SortFunc(r.attempts, func(a, b bellman.Attempt) int { return a.Number - b.Number })
	}
	if c.Audit != nil {
		s.audit(*c.Audit)
	}
	for i := range c.Follow {
		s.add(&c.Follow[i])
	}
}

// audit keeps the records in order of time, those of one time as they came.
func (s *Store) audit(a bellman.Audit) {
	a.At = cut(a.At)
	s.audits = append(s.audits, a)
	slices.SortStableFunc(s.audits, func(a, b bellman.Audit) int { return a.At.Compare(b.At) })
}

// Prune deletes tasks that ended in state and finished before the given time.
func (s *Store) Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (int, error) {
	return locked(ctx, s, func() (int, error) {
		if !state.Ended() {
			return 0, errors.New("prune pending tasks: want an end state")
		}
		n := 0
		for _, r := range s.sorted() {
			if n < limit && r.State == state && r.Finished.Before(cut(before)) {
				delete(s.tasks, r.ID)
				n++
			}
		}
		return n, nil
	})
}

// Due reads the entries of shards from a position to a time.
func (s *Store) Due(ctx context.Context, shards []uint16, from bellman.Position, to int64, limit int, buf []bellman.Entry) ([]bellman.Entry, error) {
	return locked(ctx, s, func() ([]bellman.Entry, error) {
		var found []bellman.Entry
		for _, r := range s.tasks {
			e := bellman.Entry{ID: r.ID, Look: milli(r.Look), Due: milli(r.Due), Line: bellman.LineOf(r.Queue, r.Endpoint),
				Version: r.Version, Attempts: uint32(r.Attempts), Shard: r.Shard}
			after := e.Look > from.Look || e.Look == from.Look && (from.ID.IsZero() || bytes.Compare(e.ID[:], from.ID[:]) > 0)
			if r.State == bellman.Pending && after && e.Look < to && slices.Contains(shards, r.Shard) {
				found = append(found, e)
			}
		}
		slices.SortFunc(found, func(a, b bellman.Entry) int {
			return cmp.Or(cmp.Compare(a.Look, b.Look), bytes.Compare(a.ID[:], b.ID[:]))
		})
		return append(buf, found[:min(len(found), max(limit, 0))]...), nil
	})
}

// Load reads the tasks of entries that are still of their version.
func (s *Store) Load(ctx context.Context, entries []bellman.Entry) ([]*bellman.Task, error) {
	return locked(ctx, s, func() ([]*bellman.Task, error) {
		tasks := make([]*bellman.Task, len(entries))
		for i, e := range entries {
			if r, ok := s.tasks[e.ID]; ok && r.State == bellman.Pending && r.Version == e.Version {
				t := clone(&r.Task)
				tasks[i] = &t
			}
		}
		return tasks, nil
	})
}

// Task reads a task.
func (s *Store) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	return locked(ctx, s, func() (*bellman.Task, error) {
		r, ok := s.tasks[id]
		if !ok {
			return nil, bellman.ErrNotFound
		}
		return r.read(), nil
	})
}

// Lookup finds a task by queue and key.
func (s *Store) Lookup(ctx context.Context, queue, key string) (bellman.ID, error) {
	return locked(ctx, s, func() (bellman.ID, error) {
		if r := s.holder(queue, key); r != nil {
			return r.ID, nil
		}
		return bellman.ID{}, bellman.ErrNotFound
	})
}

// Attempts reads a task's attempts.
func (s *Store) Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error) {
	return locked(ctx, s, func() ([]bellman.Attempt, error) {
		var found []bellman.Attempt
		if r, ok := s.tasks[id]; ok {
			for _, a := range r.attempts {
				if a.Number > after && len(found) < limit {
					found = append(found, a)
				}
			}
		}
		return found, nil
	})
}

// List reads tasks that fit f, newest first.
func (s *Store) List(ctx context.Context, f bellman.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	err = s.do(ctx, func() error {
		for _, r := range slices.Backward(s.sorted()) {
			switch {
			case !before.IsZero() && bytes.Compare(r.ID[:], before[:]) >= 0, !fits(&f, &r.Task):
			case len(tasks) == limit:
				next = tasks[limit-1].ID
				return nil
			default:
				tasks = append(tasks, r.read())
			}
		}
		return nil
	})
	return tasks, next, err
}

func fits(f *bellman.Filter, t *bellman.Task) bool {
	same := func(want, have string) bool { return want == "" || want == have }
	u, err := url.Parse(t.URL)
	return same(f.Queue, t.Queue) && same(f.Key, t.Key) && same(f.MerchantNo, t.MerchantNo) &&
		same(f.OrderNo, t.OrderNo) && same(f.Event, t.Event) &&
		(f.URLHost == "" || err == nil && (f.URLHost == u.Host || f.URLHost == u.Hostname())) &&
		(f.State == nil || *f.State == t.State) &&
		(f.CreatedFrom.IsZero() || !t.Created().Before(cut(f.CreatedFrom))) &&
		(f.CreatedTo.IsZero() || t.Created().Before(cut(f.CreatedTo)))
}

// Depths counts tasks.
func (s *Store) Depths(ctx context.Context) ([]bellman.Depth, error) {
	return locked(ctx, s, func() ([]bellman.Depth, error) {
		depths := map[string]bellman.Depth{}
		for _, r := range s.tasks {
			d := depths[r.Queue]
			d.Queue = r.Queue
			*[...]*int64{&d.Pending, &d.Succeeded, &d.Failed, &d.Cancelled}[r.State]++
			depths[r.Queue] = d
		}
		list := slices.SortedFunc(maps.Values(depths), func(a, b bellman.Depth) int { return strings.Compare(a.Queue, b.Queue) })
		return list, nil
	})
}

// Docs reads the documents of a kind.
func (s *Store) Docs(ctx context.Context, kind, after string, limit int) ([]bellman.Doc, error) {
	return locked(ctx, s, func() ([]bellman.Doc, error) {
		var docs []bellman.Doc
		for key, value := range s.docs {
			if key[0] == kind && key[1] > after {
				docs = append(docs, bellman.Doc{Kind: kind, Name: key[1], Value: bytes.Clone(value)})
			}
		}
		slices.SortFunc(docs, func(a, b bellman.Doc) int { return strings.Compare(a.Name, b.Name) })
		return docs[:min(len(docs), max(limit, 0))], nil
	})
}

// Audits reads the newest audit records.
func (s *Store) Audits(ctx context.Context, before time.Time, limit int) ([]bellman.Audit, error) {
	return locked(ctx, s, func() ([]bellman.Audit, error) {
		var found []bellman.Audit
		for _, a := range slices.Backward(s.audits) {
			if !before.IsZero() && !a.At.Before(cut(before)) {
				continue
			}
			if len(found) >= limit && (limit <= 0 || !a.At.Equal(found[len(found)-1].At)) {
				break
			}
			found = append(found, a)
		}
		return found, nil
	})
}

// holder finds the task that has this key.
func (s *Store) holder(queue, key string) *row {
	for _, r := range s.tasks {
		if key != "" && r.Queue == queue && r.Key == key {
			return r
		}
	}
	return nil
}

// sorted returns all tasks in order of their ids.
func (s *Store) sorted() []*row {
	return slices.SortedFunc(maps.Values(s.tasks), func(a, b *row) int { return bytes.Compare(a.ID[:], b.ID[:]) })
}

// read copies a task, with its newest attempt.
func (r *row) read() *bellman.Task {
	t := clone(&r.Task)
	if n := len(r.attempts); n > 0 {
		last := r.attempts[n-1]
		t.Last = &last
	}
	return &t
}

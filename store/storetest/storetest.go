// Package storetest is the contract of store.Store as tests. Every store passes them unchanged. So
// should a store of your own:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
//	}
//
// Like compares a store with another one, by random batches.
package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Run tests the store that open opens. The store must be empty, have at least 2 shards, and use the
// clock of this machine. Run closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	nouns := map[string][]promise{
		"ability": abilities,
		"alias":   aliases,
		"add":     append(slices.Clip(adds), refusals...),
		"change":  changes,
		"due":     dues,
		"load":    loads,
		"read":    reads,
		"list":    lists,
		"depth":   depths,
		"order":   orderings,
		"prune":   prunes,
		"shard":   shardings,
		"doc":     docs,
		"audit":   audits,
		"value":   values,
		"close":   closings,
	}
	for _, noun := range slices.Sorted(maps.Keys(nouns)) {
		for _, p := range nouns[noun] {
			t.Run(noun+"/"+p.says, func(t *testing.T) {
				s := open(t)
				t.Cleanup(func() {
					if err := s.Close(); err != nil && !errors.Is(err, bellman.ErrClosed) {
						t.Errorf("Close() = %v", err)
					}
				})
				p.test(&suite{T: t, s: s})
			})
		}
	}
}

// A promise is one sentence of the contract and its test.
type promise struct {
	says string
	test func(t *suite)
}

// A suite is one test and the store that it tests.
type suite struct {
	*testing.T
	s   store.Store
	ids uint64
}

// t0 is the creation time of the tasks in most tests.
var t0 = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// id returns an id of a task created at a time. It is greater than all earlier ids of the same
// time.
func (t *suite) id(created time.Time) bellman.ID {
	t.ids++
	id := bellman.FirstID(created)
	id[6] = 0x70
	id[8] = 0x80
	binary.BigEndian.PutUint32(id[12:], uint32(t.ids))
	return id
}

// task returns a pending task of queue q that is due at its creation.
func (t *suite) task(created time.Time) *bellman.Task {
	return &bellman.Task{
		ID: t.id(created), Queue: "q", URL: "https://merchant.example/notify", Body: []byte(`{"state":"SUCCESS"}`),
		Status: bellman.Status{Version: 1, Began: created, Due: created, VisibleAt: created, Updated: created},
	}
}

// commit writes b, which must succeed as a whole.
func (t *suite) commit(b *store.Batch) {
	t.Helper()
	if err := t.s.Commit(t.Context(), b); err != nil {
		t.Fatalf("Commit() = %v", err)
	}
}

// add adds tasks, each of which must be new.
func (t *suite) add(tasks ...*bellman.Task) {
	t.Helper()
	b := &store.Batch{}
	for _, task := range tasks {
		b.Adds = append(b.Adds, store.Add{Task: task, Digest: task.Digest()})
	}
	t.commit(b)
	for _, a := range b.Adds {
		if a.Err != nil || !a.Existing.IsZero() {
			t.Fatalf("add %v: Existing = %v, Err = %v; want a new task", a.Task.ID, a.Existing, a.Err)
		}
	}
}

// added returns a new task that is in the store.
func (t *suite) added() *bellman.Task {
	t.Helper()
	task := t.task(t0)
	t.add(task)
	return task
}

// addExisting adds a task whose key or alias is taken, and checks the outcome.
func (t *suite) addExisting(task *bellman.Task, digest bellman.Digest, existing bellman.ID, err error) {
	t.Helper()
	b := &store.Batch{Adds: []store.Add{{Task: task, Digest: digest}}}
	t.commit(b)
	t.outcome(b.Adds[0], existing, err)
}

// outcome checks the outcome of an add: the existing task, zero if there is none, and the error.
func (t *suite) outcome(a store.Add, existing bellman.ID, err error) {
	t.Helper()
	if a.Existing != existing || !errors.Is(a.Err, err) || (a.Err == nil) != (err == nil) {
		t.Errorf("add %v: Existing = %v, Err = %v; want %v, %v", a.Task.ID, a.Existing, a.Err, existing, err)
	}
}

// change makes one change and returns its error.
func (t *suite) change(id bellman.ID, version uint32, to bellman.Status) error {
	t.Helper()
	return t.make(store.Change{ID: id, Version: version, To: to}).Err
}

// make commits one change and returns it with its outcome.
func (t *suite) make(c store.Change) store.Change {
	t.Helper()
	b := &store.Batch{Changes: []store.Change{c}}
	t.commit(b)
	return b.Changes[0]
}

// must fails the test if err is not nil.
func (t *suite) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got %v, want no error", err)
	}
}

// end ends a task that has not been changed before.
func (t *suite) end(task *bellman.Task, state bellman.State, finished time.Time) {
	t.Helper()
	t.must(t.change(task.ID, 1, ended(state, finished)))
}

func ended(state bellman.State, finished time.Time) bellman.Status {
	return bellman.Status{State: state, Reason: "accepted", Attempts: 1, Updated: finished, Finished: finished}
}

// get reads a task that must exist.
func (t *suite) get(id bellman.ID) *bellman.Task {
	t.Helper()
	task, err := t.s.Task(t.Context(), id)
	if err != nil {
		t.Fatalf("Task(%v) = %v", id, err)
	}
	return task
}

// missing checks that a task does not exist.
func (t *suite) missing(id bellman.ID) {
	t.Helper()
	_, err := t.s.Task(t.Context(), id)
	t.wantErr(fmt.Sprintf("Task(%v)", id), err, bellman.ErrNotFound)
}

// prune deletes up to limit tasks that ended in a state before a time, and checks how many.
func (t *suite) prune(state bellman.State, before time.Time, limit, want int) {
	t.Helper()
	if n, err := t.s.Prune(t.Context(), state, before, limit); n != want || err != nil {
		t.Fatalf("Prune(%v, %v, %d) = %d, %v; want %d", state, before, limit, n, err, want)
	}
}

// race calls try n times at once, and checks that one of the calls wins.
func (t *suite) race(n int, try func(i int) (won bool)) {
	t.Helper()
	var won atomic.Int32
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if try(i) {
				won.Add(1)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d of %d callers won, want 1", won.Load(), n)
	}
}

// due reads all due entries of all shards before a time.
func (t *suite) due(to time.Time) []store.Entry {
	t.Helper()
	return t.entries(t.shards(), store.Position{}, to.UnixMilli(), 1<<20)
}

// entries reads a page of due entries.
func (t *suite) entries(shards []uint16, from store.Position, to int64, limit int) []store.Entry {
	t.Helper()
	entries, err := t.s.Due(t.Context(), shards, from, to, limit, nil)
	if err != nil {
		t.Fatalf("Due() = %v", err)
	}
	return entries
}

// idle checks that no task is due before a time.
func (t *suite) idle(to time.Time) {
	t.Helper()
	if entries := t.due(to); len(entries) != 0 {
		t.Errorf("Due(before %v) = %+v, want none", to, entries)
	}
}

func (t *suite) shards() (numbers []uint16) {
	t.Helper()
	for _, shard := range t.state("").Shards {
		numbers = append(numbers, shard.Shard)
	}
	return numbers
}

func (t *suite) wantErr(what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// same checks that a task came back as it was given, except that its times are cut to milliseconds.
func (t *suite) same(got, given *bellman.Task) {
	t.Helper()
	g, w := plain(got), plain(given)
	if !reflect.DeepEqual(g, w) {
		t.Errorf("task came back changed:\n got %+v\nwant %+v", g, w)
	}
}

// plain returns a task in a normal form, so that tasks with the same meaning are equal.
func plain(given *bellman.Task) bellman.Task {
	p := *given
	p.Last = nil
	if len(p.Header) == 0 {
		p.Header = nil
	}
	if len(p.Body) == 0 {
		p.Body = nil
	}
	if len(p.Data) == 0 {
		p.Data = nil
	}
	for _, at := range []*time.Time{&p.StartAt, &p.Began, &p.Due, &p.VisibleAt, &p.Updated, &p.Finished} {
		*at = cut(*at)
	}
	if p.Before != nil {
		before := *p.Before
		before.Due, before.Finished = cut(before.Due), cut(before.Finished)
		p.Before = &before
	}
	return p
}

// cut returns t as a store must return it: UTC, in whole milliseconds.
func cut(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// ids returns the ids of tasks, in their order.
func ids(tasks []*bellman.Task) (list []bellman.ID) {
	for _, task := range tasks {
		list = append(list, task.ID)
	}
	return list
}

func keyed(n int) string { return fmt.Sprintf("key-%d", n) }

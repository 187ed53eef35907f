package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/store"
)

// Like commits random batches to a store and to a model of a store, and checks that both give the
// same outcomes and the same reads: names that a collation might confuse, rows that are taken,
// changes of a wrong version, several changes of one task, follow-ups, documents with conditions,
// and deleted tasks. Each seed has its own stores, which must be empty, and always makes the same
// batches.
func Like(t *testing.T, seeds, batches int, open func(t *testing.T) (s, model store.Store)) {
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			l := &likeness{T: t, rand: rand.New(rand.NewPCG(seed, 0)), contents: map[bellman.ID]store.Add{}}
			l.s, l.model = open(t)
			given := &suite{T: t}
			for range 20 {
				l.pool = append(l.pool, given.id(t0.Add(time.Duration(l.rand.IntN(4))*time.Hour)))
			}
			for i := range batches {
				l.step(i)
				if i%8 == 7 || i == batches-1 {
					l.compare()
				}
				if t.Failed() {
					t.Fatalf("after these batches:\n%s", strings.Join(l.log[max(0, len(l.log)-20):], "\n"))
				}
			}
		})
	}
}

// A likeness is the comparison of two stores.
type likeness struct {
	*testing.T
	s, model store.Store
	rand     *rand.Rand
	pool     []bellman.ID
	log      []string
	contents map[bellman.ID]store.Add // of the ids that were given: the same id is the same task
}

// odd are names of which a collation, a character set or a padding may confuse two.
var odd = []string{"", "k", "K", "k ", " k", "k\x00", "\x00", "é", "e\u0301", "\xff\xfe", "k\x00\x01", "k'\\", "ß", "ss", "?", "??", "k\x01"}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (l *likeness) text() string { return pick(l.rand, odd...) }

func (l *likeness) at() time.Time {
	return t0.Add(time.Duration(l.rand.IntN(20)) * 499 * time.Microsecond)
}

func (l *likeness) task() *bellman.Task {
	id := pick(l.rand, l.pool...)
	r := l.rand
	task := &bellman.Task{ID: id, Queue: cmp.Or(pick(r, "q", "Q", "q ", "q\x00", "\xff", ""), "q"), Key: pick(r, "", l.text()), MerchantNo: pick(r, "", l.text()), OrderNo: pick(r, "", l.text()),
		Event: pick(r, "", "e", "E", "\x00"), URL: pick(r, "", "https://a.example/x", "https://A.example:81/", "http://b.example", "::", "amqp://a.example/q"), Body: []byte(pick(r, "", "x", "\x00'\\")),
		OrderingKey: pick(r, "", "", "o", "O", "o ", "\x00"),
		Status:      bellman.Status{Version: 1, Shard: uint16(r.IntN(3)), Began: l.at(), Due: l.at(), Updated: l.at()}}
	task.VisibleAt = task.Due.Add(time.Duration(r.IntN(3)) * time.Millisecond)
	task.Supersedes = task.OrderingKey != "" && r.IntN(3) == 0
	if r.IntN(3) == 0 {
		task.SetAlias(l.text())
	}
	if r.IntN(10) == 0 {
		task.Status = l.ended(task.Status)
		task.Version = uint32(r.IntN(4) + 1)
	}
	if r.IntN(20) == 0 {
		task.Queue = ""
	}
	return task
}

func (l *likeness) ended(st bellman.Status) bellman.Status {
	st.State, st.Reason, st.Finished = pick(l.rand, bellman.Succeeded, bellman.Failed, bellman.Cancelled), pick(l.rand, "", "accepted", "\xff"), l.at()
	st.Due, st.VisibleAt, st.Phase = time.Time{}, time.Time{}, 0
	return st
}

// add returns a task of a random id. While the model has the id, the content is the same again.
func (l *likeness) add() store.Add {
	fresh := store.Add{Task: l.task(), Digest: bellman.Digest{byte(l.rand.IntN(2))}}
	id := fresh.Task.ID
	old, given := l.contents[id]
	if !given {
		l.contents[id] = fresh
		return fresh
	}
	task := *old.Task
	task.Place = 0
	return store.Add{Task: &task, Digest: old.Digest}
}

// change of a task as the model has it, or as somebody may believe that it is.
func (l *likeness) change() store.Change {
	r := l.rand
	id := pick(r, l.pool...)
	have, err := l.model.Task(l.Context(), id)
	if err != nil {
		return store.Change{ID: id, Version: 99, To: bellman.Status{Due: t0, VisibleAt: t0}, Follow: []store.Add{l.add()}}
	}
	c := store.Change{ID: id, Version: have.Version, To: have.Status, Ordering: have.Ordering()}
	if r.IntN(8) == 0 {
		c.Version += uint32(r.IntN(3)) - 1
	}
	if r.IntN(2) == 0 {
		c.Of = have
	}
	to := &c.To
	if r.IntN(3) > 0 {
		to.Attempts++
		c.Attempt = &bellman.Attempt{Number: int(to.Attempts), Due: l.at(), Started: l.at(), Response: l.text(), Error: l.text(), Status: r.IntN(3)}
		if r.IntN(6) == 0 {
			to.Attempts++ // a later one has no record
		}
	}
	to.Data, to.Updated = []byte(l.text()), l.at()
	if r.IntN(2) == 0 {
		*to = l.ended(*to)
	} else {
		to.State, to.Reason, to.Finished = bellman.Pending, "", time.Time{}
		to.Due, to.Shard = l.at(), uint16(r.IntN(3))
		to.VisibleAt = to.Due.Add(time.Duration(r.IntN(3)) * time.Millisecond)
		to.Phase = bellman.Phase(r.IntN(3))
		if r.IntN(3) == 0 {
			to.Before = &bellman.Before{State: bellman.Failed, Reason: l.text(), Due: l.at()}
		}
	}
	for range r.IntN(3) {
		c.Follow = append(c.Follow, l.add())
	}
	if r.IntN(4) == 0 {
		c.Audit = l.audit()
	}
	return c
}

func (l *likeness) audit() *store.Audit {
	text := func() string { return strings.ToValidUTF8(l.text(), "") }
	return &store.Audit{At: l.at(), Who: text(), Action: "resend", Target: text(), Reason: text(), Job: text()}
}

func (l *likeness) doc() store.Doc {
	d := store.Doc{Kind: pick(l.rand, "d", "D"), Name: cmp.Or(l.text(), "n")}
	if l.rand.IntN(3) > 0 {
		d.Value = []byte(pick(l.rand, "v", "w", "\x00"))
	}
	return d
}

// batch returns a batch whose changes are those of tasks as the model has them.
func (l *likeness) batch() *store.Batch {
	r, b := l.rand, &store.Batch{}
	for range r.IntN(5) {
		b.Adds = append(b.Adds, l.add())
	}
	seen := map[bellman.ID]uint32{}
	for range r.IntN(5) {
		c := l.change()
		if n := seen[c.ID]; n > 0 && r.IntN(2) == 0 { // sees the change before it
			c.Version += n
			c.To.Attempts += 2 * int32(n)
			if c.Attempt != nil {
				c.Attempt.Number += 2 * int(n)
			}
		}
		seen[c.ID]++
		b.Changes = append(b.Changes, c)
	}
	names := map[[2]string]bool{}
	for range r.IntN(4) {
		d := l.doc()
		if names[[2]string{d.Kind, d.Name}] {
			continue
		}
		names[[2]string{d.Kind, d.Name}] = true
		if r.IntN(4) == 0 {
			d.Was = []byte(pick(r, "v", "w", ""))
			if len(d.Was) == 0 && d.Value == nil {
				d.Value = []byte("v")
			}
		}
		b.Docs = append(b.Docs, d)
	}
	for range r.IntN(3) {
		b.Audits = append(b.Audits, *l.audit())
	}
	return b
}

// copyOf returns a batch that shares nothing which Commit sets.
func copyOf(b *store.Batch) *store.Batch {
	c := *b
	adds := func(list []store.Add) []store.Add {
		list = slices.Clone(list)
		for i := range list {
			task := *list[i].Task
			list[i].Task = &task
		}
		return list
	}
	c.Adds, c.Changes = adds(b.Adds), slices.Clone(b.Changes)
	for i := range c.Changes {
		c.Changes[i].Follow = adds(c.Changes[i].Follow)
	}
	return &c
}

// named are the errors that the contract names, for one row or for a batch.
var named = []error{bellman.ErrFenced, bellman.ErrConflict, bellman.ErrFull, bellman.ErrNotFound, bellman.ErrKeyTaken, bellman.ErrAliasTaken}

func kindOf(err error) string {
	if err == nil {
		return "ok"
	}
	for _, n := range named {
		if errors.Is(err, n) {
			return n.Error()
		}
	}
	if _, is := errors.AsType[*bellman.Invalid](err); is {
		return "invalid"
	}
	return err.Error()
}

// step commits a batch to both stores, or prunes both, and compares the outcomes.
func (l *likeness) step(n int) {
	if l.rand.IntN(6) == 0 {
		state, before, limit := pick(l.rand, bellman.Succeeded, bellman.Failed, bellman.Cancelled), t0.Add(12*time.Hour), 1000
		if l.rand.IntN(2) == 0 {
			before = l.at().Add(5 * time.Hour)
		}
		want, _ := l.model.Prune(l.Context(), state, before, limit)
		var got int
		var err error
		// Tasks that finished before others that were deleted already may be found only after ten
		// minutes.
		eventually.Within(10*time.Minute, func() bool {
			var n int
			n, err = l.s.Prune(l.Context(), state, before, limit)
			got += n
			return err != nil || got >= want
		})
		l.log = append(l.log, fmt.Sprintf("%d prune %v: %d", n, state, got))
		if err != nil || got != want {
			l.Errorf("Prune(%v, %v) = %d, %v; want %d", state, before, got, err, want)
		}
		for _, id := range l.pool {
			if _, err := l.model.Task(l.Context(), id); err != nil {
				delete(l.contents, id) // free for another task
			}
		}
		return
	}
	b := l.batch()
	m := copyOf(b)
	for i := range b.Changes { // the stores give other places
		c := &b.Changes[i]
		if have, err := l.s.Task(l.Context(), c.ID); err == nil {
			c.To.Place = have.Place
			if c.Of != nil {
				c.Of = have
			}
		}
	}
	want := l.model.Commit(l.Context(), m)
	outcome := func(adds []store.Add) (s string) {
		for i := range adds {
			a := &adds[i]
			s += fmt.Sprintf("[%v %q/%q alias %q: %v %s]", a.Task.ID, a.Task.Queue, a.Task.Key, a.Task.Alias(), a.Existing, kindOf(a.Err))
		}
		return s
	}
	all := func(b *store.Batch, err error) string {
		s := kindOf(err)
		if err != nil {
			return s
		}
		s += " adds " + outcome(b.Adds)
		for i := range b.Changes {
			c := &b.Changes[i]
			s += fmt.Sprintf(" change %v v%d to %v: %s", c.ID, c.Version, c.To.State, kindOf(c.Err))
			if c.Err == nil {
				s += outcome(c.Follow)
			}
		}
		return s
	}
	got := l.s.Commit(l.Context(), b)
	l.log = append(l.log, fmt.Sprintf("%d %s", n, all(m, want)))
	if g, w := all(b, got), all(m, want); g != w {
		l.Errorf("Commit:\n got %s\nwant %s", g, w)
	}
}

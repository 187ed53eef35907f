package migrate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A world is a source store that others use.
type world struct {
	*testing.T
	random *rand.Rand
	store  *memory.Store
	tasks  []bellman.ID
	keys   int
	pruned map[bellman.ID]bool
}

func (w *world) commit(b *store.Batch) {
	w.Helper()
	if err := w.store.Commit(w.Context(), b); err != nil {
		w.Fatal(err)
	}
	for i := range b.Changes {
		if b.Changes[i].Err != nil {
			w.Fatal(b.Changes[i].Err)
		}
	}
}

// add adds a task with random content.
func (w *world) add() {
	now := time.Now().UTC()
	t := &bellman.Task{ID: bellman.NewID(), Queue: []string{"q", "r"}[w.random.IntN(2)], MerchantNo: "M1", URL: "https://m.example/n",
		Header: map[string]string{"A": "b"}, Body: fmt.Append(nil, w.random.Uint64()), Schedule: "0s, 15s", Timeout: time.Second, Delay: 3, Inherited: bellman.InheritedTimeout,
		Status: bellman.Status{Version: 1, Shard: uint16(w.random.IntN(64)), Began: now, Due: now.Add(time.Hour), VisibleAt: now.Add(2 * time.Hour), Updated: now, Step: 3, Data: []byte("x")}}
	if i := w.random.IntN(4); i > 0 {
		t.OrderingKey, t.Supersedes = fmt.Sprint(i), w.random.IntN(5) == 0
	}
	if w.random.IntN(3) > 0 {
		t.Key = fmt.Sprint(w.random.IntN(w.keys))
	}
	if w.random.IntN(3) > 0 {
		t.SetAlias(fmt.Sprint("account/", w.random.IntN(w.keys)))
	}
	a := store.Add{Task: t, Digest: bellman.Digest{byte(w.random.IntN(200)), 15: 1}}
	b := &store.Batch{Adds: []store.Add{a}}
	w.commit(b)
	if b.Adds[0].Existing.IsZero() {
		w.tasks = append(w.tasks, t.ID)
	}
}

// change makes one change of one task.
func (w *world) change() {
	id := w.tasks[w.random.IntN(len(w.tasks))]
	t, err := w.store.Task(w.Context(), id)
	if errors.Is(err, bellman.ErrNotFound) {
		return // the task was pruned
	}
	if err != nil {
		w.Fatal(err)
	}
	now := time.Now().UTC()
	c := store.Change{ID: id, Version: t.Version, To: t.Status, Ordering: t.Ordering()}
	c.To.Updated = now
	if w.random.IntN(3) > 0 {
		c.To.Attempts += 1 + w.random.Int32N(5)/4 // an attempt may leave no record
		c.Attempt = &bellman.Attempt{Number: int(c.To.Attempts), Due: now, Started: now, Took: time.Second, Result: bellman.Refused, Response: fmt.Sprint(w.random.Uint64())}
	}
	switch w.random.IntN(4) {
	case 0:
		c.To.State, c.To.Reason, c.To.Finished, c.To.Due, c.To.Before = bellman.State(1+w.random.IntN(3)), "because", now, time.Time{}, nil
	case 1:
		c.To.State, c.To.Reason, c.To.Finished, c.To.Due, c.To.VisibleAt, c.To.Trigger = bellman.Pending, "", time.Time{}, now, now, bellman.ByHand
		c.To.Before = &bellman.Before{State: bellman.Failed, Reason: "gave_up", Finished: now}
	}
	w.commit(&store.Batch{Changes: []store.Change{c}})
}

// live does what servers and people do with a store.
func (w *world) live(n int) {
	for range n {
		switch w.random.IntN(20) {
		case 0:
			w.commit(&store.Batch{Docs: []store.Doc{{Kind: "pause", Name: fmt.Sprint(w.random.IntN(5)), Value: fmt.Append(nil, w.random.IntN(3))}}})
		case 1:
			w.commit(&store.Batch{Docs: []store.Doc{{Kind: "link", Name: fmt.Sprint(w.random.IntN(5))}}})
		case 2, 3:
			a := store.Audit{At: time.Now(), Action: "pause", Target: fmt.Sprint(w.random.IntN(2))}
			w.commit(&store.Batch{Audits: []store.Audit{a, a, {At: a.At, Action: "resume"}}})
		case 4:
			if w.pruned == nil {
				continue
			}
			before := slices.Clone(w.tasks)
			if _, err := w.store.Prune(w.Context(), bellman.State(1+w.random.IntN(3)), time.Now(), 2); err != nil {
				w.Fatal(err)
			}
			for _, id := range before {
				if _, err := w.store.Task(w.Context(), id); errors.Is(err, bellman.ErrNotFound) {
					w.pruned[id] = true
				}
			}
		case 5, 6, 7, 8:
			w.add()
		default:
			w.change()
		}
		time.Sleep(time.Duration(w.random.IntN(2)) * time.Millisecond) // in the bubble's time
	}
}

// equal checks that the target has everything that the source has.
func (w *world) equal(to store.Store) {
	w.Helper()
	all := func(s store.Store) map[bellman.ID]*bellman.Task {
		found := map[bellman.ID]*bellman.Task{}
		list := &tasks{s: s}
		for {
			part, err := list.page(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			if len(part) == 0 {
				return found
			}
			for _, t := range part {
				found[t.ID] = t
			}
		}
	}
	want, have := all(w.store), all(to)
	for id, t := range want {
		h := have[id]
		if h == nil {
			w.Errorf("task %s is missing", id)
			continue
		}
		if !reflect.DeepEqual(t, h) {
			w.Errorf("task %s\n is %+v\nwant %+v", id, h, t)
		}
		wantLog, err := log(w.Context(), w.store, id)
		haveLog, err2 := log(w.Context(), to, id)
		if errors.Join(err, err2) != nil || !slices.Equal(wantLog, haveLog) {
			w.Errorf("attempts of task %s = %+v, %v; want %+v, %v", id, haveLog, err2, wantLog, err)
		}
		wantDigest, _ := digestsOf(w.Context(), w.store, []*bellman.Task{t})
		haveDigest, _ := digestsOf(w.Context(), to, []*bellman.Task{t})
		if !slices.Equal(wantDigest, haveDigest) {
			w.Errorf("digest of task %s = %v, want %v", id, haveDigest, wantDigest)
		}
	}
	for id := range have {
		if want[id] == nil && (!w.pruned[id] || !have[id].State.Ended()) {
			w.Errorf("task %s is in the target alone, %s", id, have[id].State)
		}
	}
	order := func(s store.Store) (ids []string) {
		for _, queue := range []string{"q", "r"} {
			for key := range 4 {
				some, err := s.Chain(w.Context(), queue, fmt.Sprint(key), bellman.ID{}, 1<<20)
				if err != nil {
					w.Fatal(err)
				}
				for _, id := range some.First {
					if !w.pruned[id] {
						ids = append(ids, fmt.Sprintf("%s/%d: %v", queue, key, id))
					}
				}
			}
		}
		return ids
	}
	if want, have := order(w.store), order(to); !slices.Equal(want, have) {
		w.Errorf("order is\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	for _, kind := range []string{"pause", "link"} {
		wantDocs, _ := w.store.Docs(w.Context(), store.DocFilter{Kind: kind}, 100)
		haveDocs, _ := to.Docs(w.Context(), store.DocFilter{Kind: kind}, 100)
		if !reflect.DeepEqual(wantDocs, haveDocs) {
			w.Errorf("documents %s = %s, want %s", kind, haveDocs, wantDocs)
		}
	}
	said := func(s store.Store) (list []string) {
		found, _ := s.Audits(w.Context(), time.Time{}, 1<<20)
		for _, a := range found {
			if a.Action != "move" {
				list = append(list, fmt.Sprint(a))
			}
		}
		slices.Sort(list)
		return list
	}
	if a, b := said(w.store), said(to); !slices.Equal(a, b) {
		w.Errorf("%d audit records, want %d", len(b), len(a))
	}
}

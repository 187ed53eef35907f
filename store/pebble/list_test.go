package pebble

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// TestListAsRead lists tasks of all kinds and compares each with the task as read alone. List
// merges several kinds of rows with one iterator, and could mix them up.
func TestListAsRead(t *testing.T) {
	s, err := Open(t.TempDir(), Options{MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UTC().Truncate(time.Millisecond)
	const n = 1000
	var b store.Batch
	for i := range n {
		id := bellman.NewID()
		b.Adds = append(b.Adds, store.Add{Task: &bellman.Task{ID: id, Queue: fmt.Sprintf("q%d", i%3), MerchantNo: fmt.Sprintf("M%d", i%7), Event: fmt.Sprintf("e%d", i%5),
			URL: fmt.Sprintf("https://h%d.example/", i%11), Status: bellman.Status{Due: now, VisibleAt: now, Updated: now}}})
	}
	if err := s.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for version := uint32(1); version <= 8; version++ {
		var ends store.Batch
		for i := range b.Adds {
			if rand.IntN(int(version)+1) > 0 {
				continue // the task stays unchanged
			}
			st, err := s.Task(t.Context(), b.Adds[i].Task.ID)
			if err != nil {
				t.Fatal(err)
			}
			to := st.Status
			to.Attempts++
			to.Updated = now
			if rand.IntN(3) == 0 {
				to.State = bellman.State(rand.IntN(4))
			}
			c := store.Change{ID: st.ID, Version: st.Version, To: to}
			if rand.IntN(4) > 0 { // otherwise the attempt left no record
				c.Attempt = &bellman.Attempt{Number: int(to.Attempts), Due: now, Started: now, Result: bellman.ErrorStatus, Status: 500 + int(version)}
			}
			ends.Changes = append(ends.Changes, c)
		}
		if err := s.Commit(t.Context(), &ends); err != nil {
			t.Fatal(err)
		}
	}
	failed, pending := bellman.Failed, bellman.Pending
	for _, tt := range []struct {
		filter store.Filter
		fits   func(*bellman.Task) bool
	}{
		{store.Filter{}, func(*bellman.Task) bool { return true }},
		{store.Filter{Event: "e1"}, func(t *bellman.Task) bool { return t.Event == "e1" }},
		{store.Filter{URLHost: "h1.example"}, func(t *bellman.Task) bool { return t.URL == "https://h1.example/" }},
		{store.Filter{Queue: "q1", State: &failed}, func(t *bellman.Task) bool { return t.Queue == "q1" && t.State == failed }},
		{store.Filter{MerchantNo: "M1", State: &failed}, func(t *bellman.Task) bool { return t.MerchantNo == "M1" && t.State == failed }},
		{store.Filter{MerchantNo: "M1", State: &pending}, func(t *bellman.Task) bool { return t.MerchantNo == "M1" && t.State == pending }},
	} {
		var want []*bellman.Task
		for i := n - 1; i >= 0; i-- {
			task, err := s.Task(t.Context(), b.Adds[i].Task.ID)
			if err != nil {
				t.Fatal(err)
			}
			if tt.fits(task) {
				want = append(want, task)
			}
		}
		var got []*bellman.Task
		for before, more := (bellman.ID{}), true; more; more = !before.IsZero() {
			page, next, err := s.List(t.Context(), tt.filter, before, 1+rand.IntN(100))
			if err != nil {
				t.Fatal(err)
			}
			got, before = append(got, page...), next
		}
		if len(got) != len(want) || len(want) == 0 {
			t.Fatalf("List(%+v) gave %d tasks, want %d", tt.filter, len(got), len(want))
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("List(%+v) has\n%+v, with last attempt %+v; read alone the task is\n%+v, %+v", tt.filter, got[i], got[i].Last, want[i], want[i].Last)
			}
		}
	}
}

// A merchant's tasks in a state are found without reading all its others: List passes over them.
func TestListPassesOverOtherStates(t *testing.T) {
	s, err := Open(t.TempDir(), Options{MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UTC().Truncate(time.Millisecond)
	add := func(merchant string, n int, state bellman.State) {
		var b store.Batch
		for range n {
			b.Adds = append(b.Adds, store.Add{Task: &bellman.Task{ID: bellman.NewID(), Queue: "q", MerchantNo: merchant, Status: bellman.Status{State: state, Due: now, VisibleAt: now, Updated: now, Finished: now}}})
		}
		if err := s.Commit(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	add("M", 1, bellman.Failed)
	add("M", listRows, bellman.Succeeded)
	add("other", 3, bellman.Failed)
	add("M", listRows, bellman.Succeeded)
	failed, pending, cancelled := bellman.Failed, bellman.Pending, bellman.Cancelled
	for state, want := range map[*bellman.State]int{&failed: 1, &pending: 0, &cancelled: 0} {
		page, next, err := s.List(t.Context(), store.Filter{MerchantNo: "M", State: state}, bellman.ID{}, 100)
		if err != nil || len(page) != want || !next.IsZero() {
			t.Errorf("List of state %v gave %d tasks and continues at %v, %v; want %d, and all at once", *state, len(page), next, err, want)
		}
	}
}

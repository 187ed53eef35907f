package storetest

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var lists = []promise{
	{"every task is listed once, newest first, in pages of any size", func(t *suite) {
		want := t.mixed()
		for _, limit := range []int{1, 3, 10, 1000} {
			if got := t.list(store.Filter{}, limit); !slices.Equal(ids(got), ids(want)) {
				t.Errorf("pages of %d: got %d tasks in another order or number, want %d", limit, len(got), len(want))
			}
		}
	}},
	{"a limit of zero or less reads nothing, and deletes nothing", func(t *suite) {
		waiting, over := t.task(t0), t.added()
		waiting.Key = "k"
		t.add(waiting)
		t.must(t.make(store.Change{ID: over.ID, Version: 1, To: ended(bellman.Failed, t0), Attempt: &bellman.Attempt{Number: 1, Started: t0}}).Err)
		t.commit(&store.Batch{Docs: []store.Doc{{Kind: "k", Name: "n", Value: []byte("{}")}}, Audits: []store.Audit{{At: t0, Who: "ann"}}})
		failed := bellman.Failed
		for _, limit := range []int{0, -1} {
			for _, f := range []store.Filter{{}, {Key: "k"}, {Queue: "q", Key: "k"}, {State: &failed}, {Queue: "q"}, {URLHost: "merchant.example"}} {
				if tasks, next, err := t.s.List(t.Context(), f, bellman.ID{}, limit); len(tasks) > 0 || !next.IsZero() || err != nil {
					t.Errorf("List(%+v) with limit %d = %v, %v, %v; want nothing", f, limit, ids(tasks), next, err)
				}
			}
			if entries := t.entries(t.shards(), store.Position{}, t0.UnixMilli()+1, limit); len(entries) > 0 {
				t.Errorf("Due() with limit %d = %+v; want nothing", limit, entries)
			}
			if log, err := t.s.Attempts(t.Context(), over.ID, 0, limit); len(log) > 0 || err != nil {
				t.Errorf("Attempts() with limit %d = %+v, %v; want nothing", limit, log, err)
			}
			for _, f := range []store.DocFilter{{Kind: "k"}, {Kind: "k", Name: "n"}} {
				if docs, err := t.s.Docs(t.Context(), f, limit); len(docs) > 0 || err != nil {
					t.Errorf("Docs(%+v) with limit %d = %+v, %v; want nothing", f, limit, docs, err)
				}
			}
			if records, err := t.s.Audits(t.Context(), time.Time{}, limit); len(records) > 0 || err != nil {
				t.Errorf("Audits() with limit %d = %+v, %v; want nothing", limit, records, err)
			}
			t.prune(bellman.Failed, t0.Add(time.Hour), limit, 0)
		}
		t.get(over.ID)
	}},
	{"each filter works, alone and with others", func(t *suite) {
		all := t.mixed()
		pending, failed := bellman.Pending, bellman.Failed
		filters := []store.Filter{
			{Queue: "q1"}, {Queue: "none"}, {Key: keyed(3)}, {Key: keyed(3), Queue: "q0"}, {Key: "none"},
			{State: &pending}, {State: &failed}, {State: &failed, Queue: "q1"},
			{MerchantNo: "m1"}, {MerchantNo: "m"}, {MerchantNo: "m1", State: &failed}, {OrderNo: "o2"}, {OrderNo: "o2", MerchantNo: "m2"},
			{OrderNo: "o2", MerchantNo: "m1"}, {Event: "paid"}, {Event: "paid", Queue: "q0", State: &pending},
			{MerchantNo: "m1", State: &pending}, {MerchantNo: "m1", State: &pending, Event: "paid", Queue: "q0", URLHost: "merchant.example"},
			{URLHost: "merchant.example", State: &pending}, {OrderNo: "o2", MerchantNo: "m2", State: &pending}, {Key: keyed(0), State: &pending},
			{URLHost: "merchant.example"}, {URLHost: "merchant.example:8443"}, {URLHost: "merchant"}, {URLHost: "Merchant.Example"}, {URLHost: "MERCHANT.EXAMPLE:8443", State: &pending},
			{CreatedFrom: t0.Add(10 * time.Second)}, {CreatedTo: t0.Add(10 * time.Second)},
			{CreatedFrom: t0.Add(5 * time.Second), CreatedTo: t0.Add(8 * time.Second), MerchantNo: "m0"},
			{CreatedFrom: t0.Add(8 * time.Second), CreatedTo: t0.Add(8 * time.Second)},
			{CreatedFrom: t0.Add(9 * time.Second), CreatedTo: t0.Add(8 * time.Second), State: &failed},
			{CreatedFrom: t0.Add(5 * time.Second), CreatedTo: t0.Add(8 * time.Second), State: &pending},
		}
		for _, f := range filters {
			var want []bellman.ID
			for _, task := range all {
				if chosen(f, task) {
					want = append(want, task.ID)
				}
			}
			for _, limit := range []int{1, 4, 1000} {
				if got := ids(t.list(f, limit)); !slices.Equal(got, want) {
					t.Errorf("List(%+v) in pages of %d = %v, want %v", f, limit, got, want)
				}
			}
		}
	}},
	{"a brief list has the same tasks, each with its queue and its status", func(t *suite) {
		t.mixed()
		pending, failed := bellman.Pending, bellman.Failed
		for _, f := range []store.Filter{
			{}, {Queue: "q1"}, {Key: keyed(3)}, {State: &pending}, {State: &failed}, {State: &failed, Queue: "q1"}, {OrderNo: "o2"},
			{MerchantNo: "m1"}, {MerchantNo: "m1", Queue: "q0"}, {MerchantNo: "m1", State: &failed}, {MerchantNo: "m1", State: &pending},
			{MerchantNo: "m1", State: &pending, Queue: "q0"}, {MerchantNo: "m1", State: &pending, Event: "paid"}, {URLHost: "merchant.example", State: &pending},
			{OrderNo: "o2", MerchantNo: "m1"}, {OrderNo: "o2", MerchantNo: "m2", State: &pending},
			{CreatedFrom: t0.Add(5 * time.Second), CreatedTo: t0.Add(8 * time.Second), MerchantNo: "m0"},
		} {
			want := t.list(f, 1000)
			f.Brief = true
			for _, limit := range []int{1, 4, 1000} {
				got := t.list(f, limit)
				if !slices.Equal(ids(got), ids(want)) {
					t.Fatalf("List(%+v) in pages of %d = %v, want %v", f, limit, ids(got), ids(want))
				}
				for i, task := range got {
					task.Data, want[i].Data = nil, nil
					if task.Queue != want[i].Queue || !reflect.DeepEqual(task.Status, want[i].Status) {
						t.Errorf("List(%+v) has a task of queue %s with the status %+v, want %s and %+v", f, task.Queue, task.Status, want[i].Queue, want[i].Status)
					}
				}
			}
		}
	}},
	{"few matching tasks are found behind many that do not match", func(t *suite) {
		var tasks []*bellman.Task
		var want []bellman.ID
		for i := range 400 {
			task := t.task(t0.Add(time.Duration(i) * time.Second))
			task.Queue, task.MerchantNo = "many", "m"
			if i == 0 || i == 1 || i == 150 {
				task.Queue, task.Event, task.URL = "few", "rare", "https://merchant.example:8443/a"
				want = append([]bellman.ID{task.ID}, want...)
			} else {
				task.URL = "https://merchant.example/a"
			}
			tasks = append(tasks, task)
		}
		t.add(tasks...)
		for _, id := range want {
			t.must(t.change(id, 1, ended(bellman.Failed, t0)))
		}
		failed := bellman.Failed
		for _, f := range []store.Filter{{Queue: "few"}, {Event: "rare"}, {URLHost: "merchant.example:8443"}, {MerchantNo: "m", State: &failed}, {Queue: "few", State: &failed}} {
			for _, limit := range []int{1, 2, 1000} {
				if got := ids(t.list(f, limit)); !slices.Equal(got, want) {
					t.Errorf("List(%+v) in pages of %d = %v, want %v", f, limit, got, want)
				}
			}
		}
	}},
	{"tasks are listed with their status and newest attempt", func(t *suite) {
		task := t.task(t0)
		task.MerchantNo = "m"
		t.add(task)
		b := &store.Batch{Changes: []store.Change{{ID: task.ID, Version: 1, To: ended(bellman.Failed, t0),
			Attempt: &bellman.Attempt{Number: 1, Response: "no"}}}}
		t.commit(b)
		failed := bellman.Failed
		for _, f := range []store.Filter{{}, {MerchantNo: "m"}, {State: &failed}} {
			got := t.list(f, 10)
			if len(got) != 1 || got[0].State != bellman.Failed || got[0].Last == nil || got[0].Last.Response != "no" {
				t.Errorf("List(%+v) = %+v, want the failed task with its attempt", f, got)
			}
		}
	}},
	{"a merchant number finds only that merchant", func(t *suite) {
		numbers := []string{"M1", "M10", "m1", "M1 ", "M1\x00", "M1\x00\x01", "M1\x00\xff", "M\x00", "商户", "商", "\xff", "\xff\xff"}
		var tasks []*bellman.Task
		for _, number := range numbers {
			task := t.task(t0)
			task.MerchantNo, task.OrderNo = number, number
			tasks = append(tasks, task)
		}
		t.add(tasks...)
		for i, number := range numbers {
			for _, f := range []store.Filter{{MerchantNo: number}, {OrderNo: number}} {
				if got := t.list(f, 10); len(got) != 1 || got[0].ID != tasks[i].ID {
					t.Errorf("List(%+q) = %v, want %v only", number, ids(got), tasks[i].ID)
				}
			}
		}
	}},
}

// mixed adds tasks of all kinds and returns them newest first.
func (t *suite) mixed() []*bellman.Task {
	t.Helper()
	var all []*bellman.Task
	for i := range 24 {
		task := t.task(t0.Add(time.Duration(i/2) * time.Second))
		task.Queue = []string{"q0", "q1"}[i%2]
		task.MerchantNo = []string{"m0", "m1", "m2"}[i%3]
		task.OrderNo = []string{"o0", "o1", "o2", ""}[i%4]
		task.URL = []string{"https://merchant.example/a", "https://merchant.example:8443/b", "://", ""}[i%4]
		if i%8 == 4 {
			task.URL = "https://MERCHANT.example/C"
		}
		if i%5 == 0 {
			task.Event = "paid"
		}
		if i < 12 {
			task.Key = keyed(i / 2) // the same key in both queues
		}
		t.add(task)
		if state := bellman.State(i % 4); state.Ended() {
			t.end(task, state, t0)
			task.State = state
		}
		all = append(all, task)
	}
	slices.Reverse(all)
	return all
}

// list reads all tasks that match f in pages, and checks the rules of paging.
func (t *suite) list(f store.Filter, limit int) (all []*bellman.Task) {
	t.Helper()
	var before bellman.ID
	for range 1000 {
		page, next, err := t.s.List(t.Context(), f, before, limit)
		t.must(err)
		if len(page) > limit {
			t.Fatalf("List() returned %d tasks; want at most the limit of %d", len(page), limit)
		}
		all = append(all, page...)
		if next.IsZero() {
			return all
		}
		if !before.IsZero() && slices.Compare(next[:], before[:]) >= 0 {
			t.Fatalf("the next cursor is %v; want it below %v", next, before)
		}
		before = next
	}
	t.Fatalf("List(%+v) does not come to an end", f)
	return nil
}

func chosen(f store.Filter, task *bellman.Task) bool {
	hosts := map[string]string{
		"https://merchant.example/a":      "merchant.example",
		"https://merchant.example:8443/b": "merchant.example:8443",
		"https://MERCHANT.example/C":      "merchant.example",
	}
	wanted := strings.ToLower(f.URLHost)
	host := hosts[task.URL]
	name := host[:min(len(host), len("merchant.example"))]
	return (f.Queue == "" || f.Queue == task.Queue) &&
		(f.Key == "" || f.Key == task.Key) &&
		(f.State == nil || *f.State == task.State) &&
		(f.MerchantNo == "" || f.MerchantNo == task.MerchantNo) &&
		(f.OrderNo == "" || f.OrderNo == task.OrderNo) &&
		(f.Event == "" || f.Event == task.Event) &&
		(wanted == "" || wanted == host || wanted == name) &&
		(f.CreatedFrom.IsZero() || !task.Created().Before(f.CreatedFrom)) &&
		(f.CreatedTo.IsZero() || task.Created().Before(f.CreatedTo))
}

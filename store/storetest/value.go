package storetest

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

var values = []promise{
	{"a large body comes back", func(t *suite) {
		task := t.task(t0)
		task.Body = bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
		t.add(task)
		t.same(t.get(task.ID), task)
		got, err := t.s.Load(t.Context(), t.due(t0.Add(time.Second)))
		t.must(err)
		t.same(got[0], task)
	}},
	{"many large bodies in one batch come back", func(t *suite) {
		b := &store.Batch{}
		for i := range 64 {
			task := t.task(t0)
			task.Body = bytes.Repeat([]byte{byte(i)}, 256<<10)
			b.Adds = append(b.Adds, store.Add{Task: task})
		}
		t.commit(b)
		for _, a := range b.Adds {
			t.same(t.get(a.Task.ID), a.Task)
		}
	}},
	{"keys are bytes: case, blanks and unusual characters matter", func(t *suite) {
		keys := []string{"k", "K", "k ", " k", "k\t", "k\x00", "k\x00k", "\x00", "k'--", `k"\`, "ｋ", "é", "e\u0301", "\xff\xfe", strings.Repeat("👛", 64)}
		for _, key := range keys {
			task := t.task(t0)
			task.Key = key
			t.add(task)
			if id, err := store.Lookup(t.Context(), t.s, "q", key); err != nil || id != task.ID {
				t.Errorf("Lookup(%q) = %v, %v; want %v", key, id, err, task.ID)
			}
			if got := t.get(task.ID); got.Key != key {
				t.Errorf("key came back as %q, want %q", got.Key, key)
			}
		}
	}},
	{"fields for searching may be text of any script", func(t *suite) {
		for _, text := range []string{strings.Repeat("👛", 64), "商户-１", "m\x00n", "m ", "%_[]*?'\"\\", strings.Repeat("x", 255)} {
			task := t.task(t0)
			task.MerchantNo, task.OrderNo, task.Event = text, text, text
			t.add(task)
			t.same(t.get(task.ID), task)
			for _, f := range []store.Filter{{MerchantNo: text}, {OrderNo: text}, {Event: text}} {
				if got := t.list(f, 10); len(got) != 1 || got[0].ID != task.ID {
					t.Errorf("List(%q) = %v, want %v", text, ids(got), task.ID)
				}
			}
		}
	}},
	{"extreme numbers and times come back", func(t *suite) {
		far := time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
		task := t.task(t0)
		task.Timeout, task.MaxAge, task.Delay = math.MaxInt64, math.MaxInt64, math.MaxInt64
		task.StartAt, task.Due, task.VisibleAt, task.Began = far, far, far, time.UnixMilli(1)
		task.Attempts, task.Step = math.MaxInt32, math.MaxInt32
		t.add(task)
		t.same(t.get(task.ID), task)
		if got := t.due(far.Add(time.Second)); len(got) != 1 || got[0].VisibleAt != far.UnixMilli() {
			t.Errorf("Due() = %+v, want it at %v", got, far)
		}
	}},
	{"tasks may be visible at the largest possible time", func(t *suite) {
		for i := range int64(4) { // in pairs, as the engine defers tasks
			task := t.task(t0)
			task.VisibleAt = time.UnixMilli(store.MaxTime - i/2).UTC()
			t.add(task)
			t.same(t.get(task.ID), task)
		}
		first := store.Position{VisibleAt: store.MaxTime - 1}
		page := t.entries(t.shards(), first, store.MaxTime, 10)
		if len(page) != 2 || page[0].VisibleAt != first.VisibleAt || page[1].VisibleAt != first.VisibleAt {
			t.Fatalf("Due() = %+v, want the two tasks at %d", page, first.VisibleAt)
		}
		page = t.entries(t.shards(), store.Position{VisibleAt: first.VisibleAt, ID: page[0].ID}, math.MaxInt64, 2)
		if len(page) != 2 || page[0].VisibleAt != first.VisibleAt || page[1].VisibleAt != store.MaxTime {
			t.Errorf("Due() = %+v, want one more task at %d and one at the largest time", page, first.VisibleAt)
		}
		if n := len(t.due(t0.AddDate(1000, 0, 0))); n != 0 {
			t.Errorf("Due() in a thousand years returns %d tasks; want none", n)
		}
	}},
	{"many headers come back", func(t *suite) {
		task := t.task(t0)
		task.Header = map[string]string{"": "", "x-lower": "a\nb", "X-商户": "值"}
		for i := range 100 {
			task.Header[keyed(i)] = strings.Repeat("v", i)
		}
		t.add(task)
		t.same(t.get(task.ID), task)
	}},
}

var closings = []promise{
	{"calls after Close return ErrClosed", func(t *suite) {
		t.must(t.s.Close())
		ctx := t.Context()
		calls := map[string]func() error{
			"Commit":   func() error { return t.s.Commit(ctx, &store.Batch{}) },
			"Prune":    func() error { _, err := t.s.Prune(ctx, bellman.Failed, t0, 1); return err },
			"Due":      func() error { _, err := t.s.Due(ctx, nil, store.Position{}, 0, 1, nil); return err },
			"Load":     func() error { _, err := t.s.Load(ctx, nil); return err },
			"Task":     func() error { _, err := t.s.Task(ctx, bellman.ID{}); return err },
			"Find":     func() error { _, err := t.s.Find(ctx, []store.Key{{Queue: "q", Key: "k"}}); return err },
			"Attempts": func() error { _, err := t.s.Attempts(ctx, bellman.ID{}, 0, 1); return err },
			"List":     func() error { _, _, err := t.s.List(ctx, store.Filter{}, bellman.ID{}, 1); return err },
			"Chain":    func() error { _, err := t.s.Chain(ctx, "q", "o", t.id(t0), 1); return err },
			"Depths":   func() error { _, err := t.s.Depths(ctx); return err },
			"Docs":     func() error { _, err := t.s.Docs(ctx, store.DocFilter{Kind: "k"}, 1); return err },
			"Doc":      func() error { _, err := store.ReadDoc(ctx, t.s, "k", "a"); return err },
			"Audits":   func() error { _, err := t.s.Audits(ctx, time.Time{}, 1); return err },
			"State":    func() error { _, err := t.s.State(ctx, "k"); return err },
			"Join":     func() error { return t.s.Join(ctx, store.Node{Name: "a"}, time.Hour) },
			"Beat":     func() error { return t.s.Beat(ctx, "a") },
			"Leave":    func() error { return t.s.Leave(ctx, "a") },
			"Release":  func() error { return t.s.Release(ctx, "a", store.Lease{}) },
			"Claim":    func() error { _, err := t.s.Claim(ctx, "a", 0, 0); return err },
		}
		for name, call := range calls {
			t.wantErr(name+"()", call(), bellman.ErrClosed)
		}
	}},
	{"closing twice does nothing", func(t *suite) {
		t.must(t.s.Close())
		t.must(t.s.Close())
	}},
	{"closing during other calls is safe", func(t *suite) {
		var group sync.WaitGroup
		for range 4 {
			task := t.task(t0)
			group.Go(func() {
				for {
					_, err := t.s.Due(t.Context(), []uint16{0}, store.Position{}, t0.UnixMilli()+1, 10, nil)
					if err == nil {
						err = t.s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}})
					}
					if err != nil {
						t.wantErr("call", err, bellman.ErrClosed)
						return
					}
				}
			})
		}
		t.must(t.s.Close())
		group.Wait()
	}},
}

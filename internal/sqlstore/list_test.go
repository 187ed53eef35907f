package sqlstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
)

// TestPendingOfMerchant lists the few pending tasks of a merchant and a host with many ended ones.
// The list does not read the ended tasks, unless many tasks of others are pending too.
func TestPendingOfMerchant(t *testing.T) { each(t, testPendingOfMerchant) }

func testPendingOfMerchant(t *testing.T, kind database) {
	const counting = "count pending tasks"
	ctx := context.Background()
	r := sqltest.Record(kind.driver(t))
	s, err := sqlstore.New(ctx, r)
	must(t, err)
	of := func(b *store.Batch, merchant string) *store.Batch {
		for i := range b.Adds {
			b.Adds[i].Task.MerchantNo, b.Adds[i].Task.URL = merchant, "https://"+merchant+".example/notify"
		}
		return b
	}
	b := of(sqltest.Adds(0, 500, time.Now()), "a")
	must(t, s.Commit(ctx, b))
	must(t, s.Commit(ctx, &store.Batch{Changes: sqltest.Succeed(b, time.Now())[3:]}))
	want := []bellman.ID{b.Adds[2].Task.ID, b.Adds[1].Task.ID, b.Adds[0].Task.ID} // newest first
	must(t, s.Commit(ctx, of(sqltest.Adds(0, 20, time.Now()), "b")))
	pending := bellman.Pending
	list := func() {
		t.Helper()
		for _, f := range []store.Filter{{MerchantNo: "a", State: &pending}, {URLHost: "a.example", State: &pending}} {
			var ids []bellman.ID
			for before := (bellman.ID{}); ; {
				tasks, next, err := s.List(ctx, f, before, 10)
				must(t, err)
				for _, task := range tasks {
					ids = append(ids, task.ID)
				}
				if before = next; next.IsZero() {
					break
				}
			}
			if !slices.Equal(ids, want) {
				t.Errorf("List(%+v) = %v, want %v", f, ids, want)
			}
		}
	}
	scans := func(of string) (n int) {
		for _, statement := range r.Statements() {
			if statement.Name == "list tasks" && strings.Contains(statement.Text, of) {
				n++
			}
		}
		return n
	}
	list()
	if n := scans("bellman_task"); n != 0 {
		t.Errorf("%d statements scan all tasks of a merchant or a host, want none", n)
	}
	must(t, s.Commit(ctx, of(sqltest.Adds(0, sqlstore.FewPending, time.Now()), "b")))
	before, began := r.SentAs(counting), time.Now()
	list()
	took := time.Since(began) // a list that takes long ends early, and the next page counts again
	if n := r.SentAs(counting) - before; n == 0 || n > 1 && took < 25*time.Millisecond {
		t.Errorf("two lists count the pending tasks %d times in %v, want once: then it is known that there are many", n, took)
	}
	if n := scans("bellman_task"); n != 2 {
		t.Errorf("with many pending tasks, %d statements scan the tasks of a merchant or a host, want 2", n)
	}
}

// TestBriefList counts what a brief list of a merchant's pending tasks reads: the tasks of the
// merchant, and the statuses of those that are pending. It reads no content and no attempt, and
// does not look for the tasks among the ended ones.
func TestBriefList(t *testing.T) { each(t, testBriefList) }

func testBriefList(t *testing.T, kind database) {
	ctx := context.Background()
	r := sqltest.Record(kind.driver(t))
	s, err := sqlstore.New(ctx, r)
	must(t, err)
	b := sqltest.Adds(0, sqlstore.FewPending+200, time.Now()) // above the number for which a list reads all pending tasks
	for i := range b.Adds {
		b.Adds[i].Task.MerchantNo = []string{"a", "b", "b", "b"}[i%4]
	}
	must(t, s.Commit(ctx, b))
	pending := bellman.Pending
	sent := r.Sent()
	tasks, next, err := s.List(ctx, store.Filter{MerchantNo: "a", State: &pending, Brief: true}, bellman.ID{}, 100)
	must(t, err)
	if len(tasks) != 100 || next != tasks[99].ID || tasks[0].Queue != b.Adds[0].Task.Queue {
		t.Errorf("%d tasks, the first of queue %q, next %v; want 100 of queue %q, and more", len(tasks), tasks[0].Queue, next, b.Adds[0].Task.Queue)
	}
	if n := r.Sent() - sent; n != 3 {
		t.Errorf("a brief list sends %d statements; want 3: the number of pending tasks, the tasks of the merchant, and their statuses", n)
	}
	for _, statement := range r.Statements() {
		if statement.Name == "read statuses" && strings.Contains(statement.Text, "bellman_ended") {
			t.Errorf("a list of pending tasks reads ended ones: %s", statement.Text)
		}
	}
}

package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// TestStorm has many writers that use the same few keys and change the same few tasks. Afterwards
// the answers of all calls must agree with the database.
func TestStorm(t *testing.T) { each(t, testStorm) }

func testStorm(t *testing.T, kind database) {
	const writers, batches = 8, 40
	// A task whose key another writer holds for longer than Stopped is rejected with ErrLocked, and a
	// busy machine may take seconds for the commits of the writers before it.
	d := kind.with(t, kind.empty(t), mysql.Options{Connections: writers + 1, Stopped: stopped, Answer: patience}).Driver()
	ctx := context.Background()
	s, err := sqlstore.New(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var known []bellman.ID
	versions := map[bellman.ID]uint32{}
	holders, aliases := map[string]bellman.ID{}, map[string]bellman.ID{}
	added, attempts, refused := 0, 0, 0

	pick := func(n int) (changes []store.Change) {
		mu.Lock()
		defer mu.Unlock()
		for range min(n, len(known)) {
			id := known[len(known)-1-rand.IntN(min(len(known), 30))]
			to := bellman.Status{State: bellman.State(rand.IntN(4)), Due: time.Now(), VisibleAt: time.Now(), Finished: time.Now()}
			version := versions[id]
			changes = append(changes, store.Change{ID: id, Version: version, To: to, Attempt: &bellman.Attempt{Number: int(version)}})
			if rand.IntN(3) == 0 {
				changes[len(changes)-1].Follow = []store.Add{{Task: keyed()}}
			}
		}
		return changes
	}
	told := func(a *store.Add) {
		key := a.Task.Key
		switch {
		case errors.Is(a.Err, bellman.ErrAliasTaken):
			if other, there := aliases[a.Task.Alias()]; there && other != a.Existing {
				t.Errorf("alias %s was reported as taken by %v and by %v", a.Task.Alias(), a.Existing, other)
			}
			aliases[a.Task.Alias()] = a.Existing
			refused++
		case a.Err != nil:
			t.Errorf("add %s: %v", key, a.Err)
		case a.Existing.IsZero():
			if other, twice := holders[key]; twice && other != a.Task.ID {
				t.Errorf("key %s was added as %v and as %v", key, other, a.Task.ID)
			}
			holders[key] = a.Task.ID
			if alias := a.Task.Alias(); alias != "" {
				if other, twice := aliases[alias]; twice && other != a.Task.ID {
					t.Errorf("alias %s was added as %v and as %v", alias, other, a.Task.ID)
				}
				aliases[alias] = a.Task.ID
			}
			added++
			known = append(known, a.Task.ID)
			versions[a.Task.ID] = max(versions[a.Task.ID], 1)
		default:
			if other, there := holders[key]; there && other != a.Existing {
				t.Errorf("key %s was reported as existing at %v and at %v", key, a.Existing, other)
			}
			holders[key] = a.Existing
		}
	}
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range batches {
				b := &store.Batch{Changes: pick(1 + rand.IntN(6))}
				for range rand.IntN(6) {
					b.Adds = append(b.Adds, store.Add{Task: keyed()})
				}
				if err := s.Commit(ctx, b); err != nil {
					t.Errorf("Commit() = %v", err)
					return
				}
				mu.Lock()
				for i := range b.Adds {
					told(&b.Adds[i])
				}
				for _, c := range b.Changes {
					if c.Err != nil {
						continue
					}
					attempts++
					versions[c.ID] = max(versions[c.ID], c.To.Version)
					for j := range c.Follow {
						told(&c.Follow[j])
					}
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()

	number := func(text string) (n int) {
		t.Helper()
		var value int64
		if err := d.Read(ctx, &sqlstore.Statement{Name: "count", Text: text, Each: func(r sqlstore.Row) error { return r.Scan(&value) }}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return int(value)
	}
	checks := []struct {
		text string
		want int
	}{
		{`SELECT COUNT(*) FROM bellman_task`, added},
		{`SELECT (SELECT COUNT(*) FROM bellman_attempt) + (SELECT COUNT(*) FROM bellman_ended WHERE attempt IS NOT NULL)`, attempts},
		{`SELECT (SELECT COUNT(*) FROM bellman_live) + (SELECT COUNT(*) FROM bellman_ended)`, added},
		{`SELECT COUNT(*) FROM bellman_live l JOIN bellman_ended e ON e.id = l.id`, 0},
		{`SELECT COUNT(*) FROM bellman_live WHERE id NOT IN (SELECT id FROM bellman_task)`, 0},
		{`SELECT COUNT(*) FROM bellman_ended WHERE id NOT IN (SELECT id FROM bellman_task)`, 0},
		{`SELECT COUNT(*) FROM bellman_alias`, len(aliases)},
		{`SELECT COUNT(*) FROM bellman_alias WHERE id NOT IN (SELECT id FROM bellman_task)`, 0},
		{`SELECT CAST(COALESCE(SUM(tasks), 0) AS {number}) FROM bellman_depth WHERE state = 0`, number(`SELECT COUNT(*) FROM bellman_live`)},
		{`SELECT CAST(COALESCE(SUM(tasks), 0) AS {number}) FROM bellman_depth WHERE state = 2`, number(`SELECT COUNT(*) FROM bellman_ended WHERE state = 2`)},
	}
	for _, c := range checks {
		if got := number(c.text); got != c.want {
			t.Errorf("%s = %d, want %d", c.text, got, c.want)
		}
	}
	for id, version := range versions {
		task, err := s.Task(ctx, id)
		if err != nil || task.Version != version {
			t.Errorf("Task(%v) = %+v, %v; want version %d", id, task, err, version)
		}
	}
	for alias, id := range aliases {
		if task, err := s.Task(ctx, id); err != nil || task.Alias() != alias {
			t.Errorf("Task(%v) = %+v, %v; want alias %s", id, task, err, alias)
		}
	}
	if added == 0 || attempts == 0 || refused == 0 {
		t.Errorf("%d tasks, %d attempts, %d rejected adds; want some of each", added, attempts, refused)
	}
	t.Logf("%d tasks, %d attempts, %d rejected adds", added, attempts, refused)
}

// keyed returns a task with one of a few keys, most of which soon exist. Half of the tasks have one
// of a few aliases.
func keyed() *bellman.Task {
	now := time.Now()
	t := &bellman.Task{ID: bellman.NewID(), Queue: "q", Key: fmt.Sprint("key-", rand.IntN(400)),
		Status: bellman.Status{Version: 1, Due: now, VisibleAt: now, Began: now}}
	if rand.IntN(2) == 0 {
		t.SetAlias(fmt.Sprint("alias-", rand.IntN(100)))
	}
	return t
}

package pebble

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// TestCheck damages a store in every way that Check detects.
func TestCheck(t *testing.T) {
	none := bellman.ID{1}
	damages := map[string]func(s *Store, pending, ended *bellman.Task) error{
		"no cold row":         func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(coldKey(nil, p.ID), lsm.Sync) },
		"unreadable cold row": func(s *Store, p, _ *bellman.Task) error { return s.db.Set(coldKey(nil, p.ID), []byte{9}, lsm.Sync) },
		"no hot row":          func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(hotKey(nil, p.ID), lsm.Sync) },
		"unreadable hot row":  func(s *Store, p, _ *bellman.Task) error { return s.db.Set(hotKey(nil, p.ID), []byte{1}, lsm.Sync) },
		"no ended row": func(s *Store, _, e *bellman.Task) error {
			return s.db.Delete(endedKey(nil, bellman.Succeeded, e.ID), lsm.Sync)
		},
		"two statuses": func(s *Store, _, e *bellman.Task) error {
			return copyRow(s, endedKey(nil, bellman.Succeeded, e.ID), hotKey(nil, e.ID))
		},
		"wrong state": func(s *Store, _, e *bellman.Task) error {
			return copyRow(s, endedKey(nil, bellman.Succeeded, e.ID), endedKey(nil, bellman.Failed, e.ID))
		},
		"no due entry": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Delete(dueKey(nil, milli(p.VisibleAt), p.ID), lsm.Sync)
		},
		"other due entry": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Set(dueKey(nil, milli(p.VisibleAt), p.ID), appendEntry(nil, &status{}), lsm.Sync)
		},
		"due entry too many": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Set(dueKey(nil, milli(p.VisibleAt)+1, p.ID), nil, lsm.Sync)
		},
		"due entry of an ended": func(s *Store, _, e *bellman.Task) error { return s.db.Set(dueKey(nil, 5, e.ID), nil, lsm.Sync) },
		"due entry of none":     func(s *Store, _, _ *bellman.Task) error { return s.db.Set(dueKey(nil, 5, none), nil, lsm.Sync) },
		"no key":                func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(keyKey(nil, 0, p.Key), lsm.Sync) },
		"key of another": func(s *Store, p, e *bellman.Task) error {
			return copyRow(s, keyKey(nil, 0, e.Key), keyKey(nil, 0, p.Key))
		},
		"key too many": func(s *Store, p, _ *bellman.Task) error {
			return copyRow(s, keyKey(nil, 0, p.Key), keyKey(nil, 0, "x"))
		},
		"no alias": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Delete(keyKey(nil, aliases, p.Alias()), lsm.Sync)
		},
		"alias of another": func(s *Store, p, e *bellman.Task) error {
			return copyRow(s, keyKey(nil, aliases, e.Alias()), keyKey(nil, aliases, p.Alias()))
		},
		"alias too many": func(s *Store, p, _ *bellman.Task) error {
			return copyRow(s, keyKey(nil, aliases, p.Alias()), keyKey(nil, aliases, "x"))
		},
		"alias for a key": func(s *Store, p, _ *bellman.Task) error {
			return copyRow(s, keyKey(nil, 0, p.Key), keyKey(nil, aliases, p.Key))
		},
		"no merchant":       func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(merchantKey(nil, "m", p.ID), lsm.Sync) },
		"merchant too many": func(s *Store, p, _ *bellman.Task) error { return s.db.Set(merchantKey(nil, "n", p.ID), nil, lsm.Sync) },
		"merchant of none":  func(s *Store, _, _ *bellman.Task) error { return s.db.Set(merchantKey(nil, "m", none), nil, lsm.Sync) },
		"no order":          func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(orderKey(nil, p.OrderNo, p.ID), lsm.Sync) },
		"order too many":    func(s *Store, p, _ *bellman.Task) error { return s.db.Set(orderKey(nil, "n", p.ID), nil, lsm.Sync) },
		"attempt of none": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(attemptKey(nil, none, 1), pack.Attempt(nil, none, &bellman.Attempt{}), lsm.Sync)
		},
		"attempt too many": func(s *Store, _, e *bellman.Task) error {
			return copyRow(s, attemptKey(nil, e.ID, 1), attemptKey(nil, e.ID, 2))
		},
		"unreadable attempt": func(s *Store, _, e *bellman.Task) error {
			return s.db.Set(attemptKey(nil, e.ID, 1), []byte{1, 1}, lsm.Sync)
		},
		"wrong counter": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(queueKey(nil, tableDepth, 0), appendCounts(nil, counts{1}), lsm.Sync)
		},
		"no queue": func(s *Store, _, _ *bellman.Task) error { return s.db.Delete(queueKey(nil, tableQueue, 0), lsm.Sync) },
		"other queue": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(queueKey(nil, tableQueue, 0), []byte("r"), lsm.Sync)
		},
		"no shard":       func(s *Store, _, _ *bellman.Task) error { return s.db.Delete(shardKey(nil, 3), lsm.Sync) },
		"no last shard":  func(s *Store, _, _ *bellman.Task) error { return s.db.Delete(shardKey(nil, 63), lsm.Sync) },
		"shard too many": func(s *Store, _, _ *bellman.Task) error { return copyRow(s, shardKey(nil, 3), shardKey(nil, 64)) },
		"unreadable shard": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(shardKey(nil, 3), []byte{9}, lsm.Sync)
		},
		"unreadable audit record": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(auditKey(nil, 5, 0), []byte{format, 200}, lsm.Sync)
		},
		"audit record with a wrong key": func(s *Store, _, _ *bellman.Task) error {
			return copyRow(s, auditKey(nil, 5, 0), auditKey(nil, 5, 0)[:9])
		},
		"document without a kind": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set([]byte{tableDoc, 'k'}, []byte("{}"), lsm.Sync)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, vfs.NewMem())
			b := accompanied(aliased(newTasks(10)))
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			pending, ended := b.Adds[4].Task, b.Adds[6].Task
			end := &store.Batch{Changes: []store.Change{{ID: ended.ID, Version: 1, Attempt: &bellman.Attempt{Number: 1},
				To: bellman.Status{State: bellman.Succeeded, Attempts: 1, Finished: time.Now()}}}}
			if err := s.Commit(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			want := store.CheckReport{Tasks: 10, Pending: 9, Ended: 1, Attempts: 1}
			if r, err := s.Check(t.Context()); err != nil || len(r.Problems) != 0 || r.Tasks != want.Tasks ||
				r.Pending != want.Pending || r.Ended != want.Ended || r.Attempts != want.Attempts {
				t.Fatalf("Check() = %+v, %v; want %+v", r, err, want)
			}
			if err := damage(s, pending, ended); err != nil {
				t.Fatal(err)
			}
			r, err := s.Check(t.Context())
			if err != nil || r.Wrong == 0 {
				t.Errorf("Check() = %+v, %v; want the damage found", r, err)
			}
			if r.Wrong > 7 { // a missing row leaves six entries behind
				t.Errorf("Check() found %d problems; want only those of one damage: %q", r.Wrong, r.Problems)
			}
		})
	}
}

// accompanied adds a document and an audit record to a batch.
func accompanied(b *store.Batch) *store.Batch {
	b.Docs = append(b.Docs, store.Doc{Kind: "k", Name: "n", Value: []byte("{}")})
	b.Audits = append(b.Audits, store.Audit{At: time.UnixMilli(5), Who: "w", Action: "a"})
	return b
}

// aliased gives each task of a batch an alias.
func aliased(b *store.Batch) *store.Batch {
	for _, a := range b.Adds {
		a.Task.SetAlias("account/" + a.Task.Key)
	}
	return b
}

func copyRow(s *Store, from, to []byte) error {
	row, closer, err := s.db.Get(from)
	if err != nil {
		return err
	}
	defer closer.Close()
	return s.db.Set(to, row, lsm.Sync)
}

// TestCheckNames deletes and alters every row that Check reads, one at a time. Check must name the
// row or its task.
func TestCheckNames(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	b := accompanied(aliased(newTasks(4)))
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	end := &store.Batch{}
	for i, state := range []bellman.State{bellman.Succeeded, bellman.Failed, bellman.Cancelled} {
		end.Changes = append(end.Changes, store.Change{ID: b.Adds[i].Task.ID, Version: 1, Attempt: &bellman.Attempt{Number: 1},
			To: bellman.Status{State: state, Attempts: 1, Finished: time.Now()}})
	}
	if err := s.Commit(t.Context(), end); err != nil {
		t.Fatal(err)
	}

	type pair struct{ key, row []byte }
	var pairs []pair
	iter, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		if strings.IndexByte("acdehkmnoqsu", iter.Key()[0]) >= 0 {
			pairs = append(pairs, pair{slices.Clone(iter.Key()), slices.Clone(iter.Value())})
		}
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	if want := 4*6 + 1 + 3 + 1 + 1 + 64 + 1; len(pairs) != want {
		t.Fatalf("%d rows, want %d", len(pairs), want)
	}
	check := func(p pair, what string) {
		t.Helper()
		r, err := s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		named := slices.ContainsFunc(r.Problems, func(text string) bool {
			switch {
			case strings.Contains(text, fmt.Sprintf("%x", p.key)), p.key[0] == tableDepth && strings.Contains(text, "counters"):
				return true
			case p.key[0] == tableQueue && strings.Contains(text, "queue number 0"),
				p.key[0] == tableShard && strings.Contains(text, fmt.Sprintf("shard %d:", p.key[2])):
				return true
			}
			return slices.ContainsFunc(b.Adds, func(a store.Add) bool {
				id := a.Task.ID
				about := strings.Contains(string(p.key)+string(p.row), string(id[:])) || strings.Contains(string(p.key), id.String())
				return about && strings.Contains(text, id.String())
			})
		})
		if r.Wrong == 0 || !named {
			t.Errorf("row %q %s: Check() = %d wrong, %q; want the row or its task named", p.key, what, r.Wrong, r.Problems)
		}
	}
	for _, p := range pairs {
		if p.key[0] != tableAttempt && p.key[0] != tableAudit { // an attempt may leave no record, and nothing refers to an audit record
			if err := s.db.Delete(p.key, lsm.Sync); err != nil {
				t.Fatal(err)
			}
			check(p, "deleted")
		}
		if err := s.db.Set(p.key, append(slices.Clone(p.row), 1), lsm.Sync); err != nil {
			t.Fatal(err)
		}
		check(p, "altered")
		if err := s.db.Set(p.key, p.row, lsm.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.Check(t.Context()); err != nil || r.Wrong != 0 {
		t.Errorf("Check() of the restored store = %+v, %v; want nothing wrong", r, err)
	}
}

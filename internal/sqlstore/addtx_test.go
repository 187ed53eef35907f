package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/internal/sqlstore/sqltest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/mysql"
)

// A caller is a transaction of a program that uses the database beside the store.
type caller struct {
	Add              func(ctx context.Context, adds ...store.Add) ([]bellman.Added, error)
	Exec             func(text string) error
	Commit, Rollback func() error
}

// A callerTest is what the tests of AddTx need from a database.
type callerTest struct {
	Store  *sqlstore.Store
	Driver sqlstore.Driver
	Begin  begin
}

// callersRules are the rules of an order service.
func callersRules(tb testing.TB) *engine.Rules {
	tb.Helper()
	none := bellman.HandlerFunc(func(context.Context, *bellman.Task, int) bellman.Verdict { return bellman.Verdict{} })
	r, err := engine.NewRules(engine.Queue{Name: "tell", Handler: none, Schedule: "0s, 15s"})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestAddTx(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for name, callers := range d.callers {
			t.Run(name, func(t *testing.T) {
				url := d.empty(t)
				s := d.with(t, url, mysql.Options{})
				c := callerTest{s, s.Driver(), callers(t, url)}
				must(t, c.Driver.Define(context.Background(), "CREATE TABLE orders (no INTEGER NOT NULL PRIMARY KEY)"))
				t.Run("commit and rollback", c.testEnds)
				t.Run("keys that exist", c.testKeys)
				t.Run("aliases that exist", c.testAliases)
				t.Run("wrong tasks", c.testWrong)
				t.Run("isolation", c.testIsolation)
				t.Run("two at once", c.testTwo)
				t.Run("a failure inside", c.testUndone)
				t.Run("many", c.testMany)
				t.Run("many that exist", c.testManyExist)
				t.Run("others do not wait", c.testNobodyWaits)
				t.Run("a key of an open transaction", c.testOpenKey)
				t.Run("counts", c.testCounts)
			})
		}
	})
}

func (c callerTest) has(t *testing.T, text string, want int64) {
	t.Helper()
	var n int64
	err := c.Driver.Read(context.Background(), &sqlstore.Statement{Name: "count", Text: text, Each: func(r sqlstore.Row) error { return r.Scan(&n) }})
	if err != nil || n != want {
		t.Errorf("%s: %d, %v; want %d", text, n, err, want)
	}
}

func (c callerTest) testEnds(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	for i, commit := range []bool{true, false} {
		tx := c.Begin(t, sql.LevelDefault)
		task := &bellman.Task{Queue: "tell", Key: fmt.Sprint("ends/", commit), MerchantNo: "M1", OrderNo: "A1", Body: []byte{0, 0xff}, Header: map[string]string{"A": "b"}}
		must(t, tx.Exec(fmt.Sprint("INSERT INTO orders (no) VALUES (", 100+i, ")")))
		added, err := tx.Add(ctx, rules.Prepare(task)...)
		if err != nil || len(added) != 1 || added[0].Err != nil || added[0].Existing || added[0].ID != task.ID {
			t.Fatalf("AddTx() = %+v, %v", added, err)
		}
		if _, err := c.Store.Task(ctx, task.ID); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("Task() before the transaction ended = %v; want ErrNotFound", err)
		}
		if !commit {
			must(t, tx.Rollback())
			if _, err := store.Lookup(ctx, c.Store, "tell", task.Key); !errors.Is(err, bellman.ErrNotFound) {
				t.Errorf("Lookup() after the rollback = %v; want ErrNotFound", err)
			}
			c.has(t, "SELECT COUNT(*) FROM orders WHERE no = 101", 0)
			continue
		}
		must(t, tx.Commit())
		have, err := c.Store.Task(ctx, task.ID)
		if err != nil || have.State != bellman.Pending || have.Version != 1 || have.Schedule != "0s, 15s" || have.Timeout != 5*time.Second || have.OrderNo != "A1" ||
			string(have.Body) != "\x00\xff" || have.Header["A"] != "b" || !have.Due.Equal(task.Due) || int(have.Shard) >= 64 {
			t.Errorf("Task() = %+v, %v; want %+v", have, err, task)
		}
		entries, err := c.Store.Due(ctx, []uint16{have.Shard}, store.Position{}, have.VisibleAt.UnixMilli()+1, 10, nil)
		if err != nil || len(entries) != 1 || entries[0].ID != task.ID {
			t.Errorf("Due() = %+v, %v; want the task", entries, err)
		}
		c.has(t, "SELECT COUNT(*) FROM orders WHERE no = 100", 1)
	}
}

func (c callerTest) testKeys(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	first := &bellman.Task{Queue: "tell", Key: "keys", Body: []byte("a")}
	must(t, c.Store.Commit(ctx, &store.Batch{Adds: rules.Prepare(first)}))
	tx := c.Begin(t, sql.LevelDefault)
	added, err := tx.Add(ctx, rules.Prepare(
		&bellman.Task{Queue: "tell", Key: "keys", Body: []byte("a")},
		&bellman.Task{Queue: "tell", Key: "keys", Body: []byte("b")},
		&bellman.Task{Queue: "tell", Key: "keys/new", Body: []byte("a")},
		&bellman.Task{Queue: "tell", Key: "keys/new", Body: []byte("a")},
		&bellman.Task{Queue: "tell", Key: "keys/new", Body: []byte("b")},
	)...)
	if !errors.Is(err, bellman.ErrKeyTaken) || len(added) != 5 {
		t.Fatalf("AddTx() = %+v, %v; want ErrKeyTaken", added, err)
	}
	fresh := added[2].ID
	want := []bellman.Added{{ID: first.ID, Existing: true}, {ID: first.ID, Err: bellman.ErrKeyTaken}, {ID: fresh}, {ID: fresh, Existing: true}, {ID: fresh, Err: bellman.ErrKeyTaken}}
	for i := range want {
		if added[i] != want[i] {
			t.Errorf("task %d: %+v, want %+v", i, added[i], want[i])
		}
	}
	// The transaction goes on as if the rejected call had not been made.
	must(t, tx.Exec("INSERT INTO orders (no) VALUES (200)"))
	must(t, tx.Commit())
	c.has(t, "SELECT COUNT(*) FROM orders WHERE no = 200", 1)
	if _, err := c.Store.Task(ctx, fresh); err != nil {
		t.Errorf("Task() = %v", err)
	}
}

func (c callerTest) testAliases(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	first := &bellman.Task{Queue: "tell", Key: "aliases", Origin: &bellman.Origin{Alias: "a"}}
	must(t, c.Store.Commit(ctx, &store.Batch{Adds: rules.Prepare(first)}))
	tx := c.Begin(t, sql.LevelDefault)
	added, err := tx.Add(ctx, rules.Prepare(
		&bellman.Task{Queue: "tell", Key: "aliases", Origin: &bellman.Origin{Alias: "a"}},
		&bellman.Task{Queue: "tell", Origin: &bellman.Origin{Alias: "a"}},
		&bellman.Task{Queue: "tell", Key: "aliases/new", Origin: &bellman.Origin{Alias: "b"}},
		&bellman.Task{Queue: "tell", Origin: &bellman.Origin{Alias: "b"}},
		&bellman.Task{Queue: "tell", Origin: &bellman.Origin{Alias: "c"}},
	)...)
	if !errors.Is(err, bellman.ErrAliasTaken) || len(added) != 5 {
		t.Fatalf("AddTx() = %+v, %v; want ErrAliasTaken", added, err)
	}
	fresh := added[2].ID
	want := []bellman.Added{{ID: first.ID, Existing: true}, {ID: first.ID, Err: bellman.ErrAliasTaken}, {ID: fresh}, {ID: fresh, Err: bellman.ErrAliasTaken}, {ID: added[4].ID}}
	for i := range want {
		if added[i] != want[i] {
			t.Errorf("task %d: %+v, want %+v", i, added[i], want[i])
		}
	}
	must(t, tx.Commit())
	found, err := c.Store.Find(ctx, []store.Key{{Key: "a"}, {Key: "b"}, {Key: "c"}})
	must(t, err)
	for i, id := range []bellman.ID{first.ID, fresh, added[4].ID} {
		if task, err := c.Store.Task(ctx, id); found[i].ID != id || err != nil || task.Alias() == "" {
			t.Errorf("Find() = %v, Task() = %+v, %v; want %v with its alias", found[i].ID, task, err, id)
		}
	}
	c.whole(t)
}

func (c callerTest) testWrong(t *testing.T) {
	tx := c.Begin(t, sql.LevelDefault)
	added, err := tx.Add(context.Background(), callersRules(t).Prepare(
		&bellman.Task{Queue: "nobody's"}, &bellman.Task{Queue: "tell"}, &bellman.Task{Queue: "tell", Schedule: "soon"})...)
	if invalid, is := errors.AsType[*bellman.Invalid](err); !is || invalid.Fields[0].Field != "queue" || len(added) != 3 || added[1].Err != nil {
		t.Fatalf("AddTx() = %+v, %v; want an invalid queue, and the second task added", added, err)
	}
	must(t, tx.Commit())
	if _, err := c.Store.Task(context.Background(), added[1].ID); err != nil {
		t.Errorf("Task() = %v", err)
	}
}

// testIsolation adds a key and an alias that another transaction added after this one took its
// snapshot.
func (c callerTest) testIsolation(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		key := "isolation/" + level.String()
		tx := c.Begin(t, level)
		must(t, tx.Exec("INSERT INTO orders SELECT no + 1000 FROM orders WHERE no = -1")) // takes the snapshot
		first := &bellman.Task{Queue: "tell", Key: key, Origin: &bellman.Origin{Alias: key}}
		must(t, c.Store.Commit(ctx, &store.Batch{Adds: rules.Prepare(first)}))
		tasks := []*bellman.Task{{Queue: "tell", Key: key}, {Queue: "tell", Key: key + "/b"}, {Queue: "tell", Origin: &bellman.Origin{Alias: key}}}
		added, err := tx.Add(ctx, rules.Prepare(tasks...)...)
		if server, is := errors.AsType[*pgconn.PgError](err); is && server.Code == "40001" && level > sql.LevelReadCommitted {
			must(t, tx.Rollback())
			tx = c.Begin(t, level) // the caller retries in a new transaction
			added, err = tx.Add(ctx, rules.Prepare(tasks...)...)
		}
		if !errors.Is(err, bellman.ErrAliasTaken) || added[0] != (bellman.Added{ID: first.ID, Existing: true}) || added[1].Existing || added[1].Err != nil ||
			added[2] != (bellman.Added{ID: first.ID, Err: bellman.ErrAliasTaken}) {
			t.Fatalf("%s: AddTx() = %+v, %v; want the existing tasks", level, added, err)
		}
		must(t, tx.Commit())
		if _, err := store.Lookup(ctx, c.Store, "tell", key+"/b"); err != nil {
			t.Errorf("%s: Lookup() = %v; want the existing task", level, err)
		}
	}
}

// testTwo adds the same key, or the same alias, in two transactions at once. The second one waits
// for the first.
func (c callerTest) testTwo(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	for i := range 4 {
		commit, alias := i%2 == 0, i/2 == 0
		key := fmt.Sprint("two/", i)
		task := func() *bellman.Task {
			if alias {
				return &bellman.Task{Queue: "tell", Origin: &bellman.Origin{Alias: key}}
			}
			return &bellman.Task{Queue: "tell", Key: key}
		}
		one, two := c.Begin(t, sql.LevelReadCommitted), c.Begin(t, sql.LevelReadCommitted)
		a, err := one.Add(ctx, rules.Prepare(task())...)
		must(t, err)
		type outcome struct {
			added []bellman.Added
			err   error
		}
		done := make(chan outcome, 1)
		go func() {
			added, err := two.Add(ctx, rules.Prepare(task())...)
			done <- outcome{added, err}
		}()
		select {
		case o := <-done:
			t.Fatalf("the second transaction did not wait for the first: %+v", o)
		case <-time.After(50 * time.Millisecond):
		}
		if commit {
			must(t, one.Commit())
		} else {
			must(t, one.Rollback())
		}
		o := <-done
		want := bellman.Added{ID: a[0].ID, Existing: true}
		if alias {
			want = bellman.Added{ID: a[0].ID, Err: bellman.ErrAliasTaken}
		}
		if len(o.added) != 1 || commit && (o.added[0] != want || !errors.Is(o.err, want.Err)) || !commit && (o.err != nil || o.added[0].Existing) {
			t.Errorf("the first committed: %t; AddTx() = %+v, %v", commit, o.added, o.err)
		}
		must(t, two.Commit())
	}
}

// testUndone makes the database fail in the middle of AddTx. Writes of the call are undone, earlier
// ones of the transaction are kept, and the transaction can go on.
func (c callerTest) testUndone(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	must(t, c.Driver.Define(ctx, "ALTER TABLE bellman_count RENAME TO bellman_away"))
	tx := c.Begin(t, sql.LevelDefault)
	must(t, tx.Exec("INSERT INTO orders (no) VALUES (300)"))
	added, err := tx.Add(ctx, rules.Prepare(&bellman.Task{Queue: "tell", Key: "undone", Origin: &bellman.Origin{Alias: "undone"}})...)
	if err == nil || added != nil {
		t.Errorf("AddTx() = %+v, %v; want only an error", added, err)
	}
	if err := tx.Exec("INSERT INTO orders (no) VALUES (301)"); err != nil {
		t.Errorf("a statement after the failed AddTx: %v; want the transaction to go on", err)
	}
	must(t, tx.Commit())
	must(t, c.Driver.Define(ctx, "ALTER TABLE bellman_away RENAME TO bellman_count"))
	c.has(t, "SELECT COUNT(*) FROM orders WHERE no IN (300, 301)", 2)
	if _, err := store.Lookup(ctx, c.Store, "tell", "undone"); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("Lookup() = %v, want ErrNotFound", err)
	}
	c.whole(t)
}

// whole returns an error if a part of a task is missing.
func (c callerTest) whole(t *testing.T) {
	t.Helper()
	c.has(t, `SELECT COUNT(*) FROM bellman_task t WHERE NOT EXISTS (SELECT 1 FROM bellman_live l WHERE l.id = t.id)
		AND NOT EXISTS (SELECT 1 FROM bellman_ended e WHERE e.id = t.id)`, 0)
	c.has(t, `SELECT COUNT(*) FROM bellman_alias a WHERE NOT EXISTS (SELECT 1 FROM bellman_task t WHERE t.id = a.id)`, 0)
	c.has(t, `SELECT COUNT(*) FROM bellman_live l WHERE NOT EXISTS (SELECT 1 FROM bellman_task t WHERE t.id = l.id)`, 0)
	c.has(t, `SELECT (SELECT COUNT(*) FROM bellman_live) - CAST(COALESCE(SUM(tasks), 0) AS {number})
		FROM (SELECT state, tasks FROM bellman_depth UNION ALL SELECT state, tasks FROM bellman_count) d WHERE state = 0`, 0)
}

func (c callerTest) testMany(t *testing.T) {
	ctx := context.Background()
	var tasks []*bellman.Task
	for i := range 1200 {
		tasks = append(tasks, &bellman.Task{Queue: "tell", Key: fmt.Sprint("many/", i%1100), Body: make([]byte, 2000)})
	}
	tx := c.Begin(t, sql.LevelDefault)
	added, err := tx.Add(ctx, callersRules(t).Prepare(tasks...)...)
	must(t, err)
	must(t, tx.Commit())
	existing := 0
	for i, a := range added {
		if a.Existing {
			existing++
		}
		if a.ID != added[i%1100].ID {
			t.Fatalf("task %d has id %v, want that of %d", i, a.ID, i%1100)
		}
	}
	if existing != 100 {
		t.Errorf("%d tasks existed already; want 100", existing)
	}
	c.whole(t)
}

// testManyExist keeps a transaction open that added many tasks that exist. Others add tasks behind
// them meanwhile.
func (c callerTest) testManyExist(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rules := callersRules(t)
	var tasks []*bellman.Task
	for i := range 1000 {
		tasks = append(tasks, &bellman.Task{Queue: "tell", Key: fmt.Sprintf("exist/%04d", i)})
	}
	must(t, c.Store.Commit(ctx, &store.Batch{Adds: rules.Prepare(tasks...)}))
	must(t, c.Store.Commit(ctx, &store.Batch{Adds: rules.Prepare(&bellman.Task{Queue: "tell", Key: "further/1"}, &bellman.Task{Queue: "tell", Key: "further/9"})}))
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		open := c.Begin(t, level)
		again := make([]*bellman.Task, len(tasks))
		for i, task := range tasks {
			again[i] = &bellman.Task{Queue: task.Queue, Key: task.Key}
		}
		added, err := open.Add(ctx, rules.Prepare(again...)...)
		must(t, err)
		for i := range added {
			if added[i] != (bellman.Added{ID: tasks[i].ID, Existing: true}) {
				t.Fatalf("task %d: %+v; want %v, which exists", i, added[i], tasks[i].ID)
			}
		}
		if err := c.Store.Commit(ctx, &store.Batch{Adds: rules.Prepare(&bellman.Task{Queue: "tell", Key: "further/" + level.String()[:6]}, &bellman.Task{Queue: "tell"})}); err != nil {
			t.Fatalf("%s: while a caller's transaction is open: Commit() = %v", level, err)
		}
		must(t, open.Rollback())
	}
}

// testNobodyWaits keeps transactions open that added tasks. Others commit tasks with adjacent keys
// and aliases in the same queue meanwhile, and none waits.
func (c callerTest) testNobodyWaits(t *testing.T) {
	rules := callersRules(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience) // a lock of an open transaction would be held forever
	defer cancel()
	leases := sqltest.LeaseAll(t, c.Store)
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		key := func(n string) string { return "wait/" + level.String() + "/" + n }
		open := c.Begin(t, level)
		_, err := open.Add(ctx, rules.Prepare(&bellman.Task{Queue: "tell", Key: key("b"), Origin: &bellman.Origin{Alias: key("b")}}, &bellman.Task{Queue: "tell"})...)
		must(t, err)
		other := c.Begin(t, level)
		_, err = other.Add(ctx, rules.Prepare(&bellman.Task{Queue: "tell", Key: key("a"), Origin: &bellman.Origin{Alias: key("a")}}, &bellman.Task{Queue: "tell", Key: key("c"), Origin: &bellman.Origin{Alias: key("c")}})...)
		must(t, err)
		for range 20 {
			b := &store.Batch{Leases: leases, Adds: rules.Prepare(&bellman.Task{Queue: "tell"}, &bellman.Task{Queue: "tell", Key: key(bellman.NewID().String()), Origin: &bellman.Origin{Alias: key(bellman.NewID().String())}})}
			if err := c.Store.Commit(ctx, b); err != nil {
				t.Fatalf("%s: while callers' transactions are open: Commit() = %v", level, err)
			}
			b.Changes, b.Adds = sqltest.Succeed(b, time.Now()), nil
			if err := c.Store.Commit(ctx, b); err != nil || b.Changes[0].Err != nil {
				t.Fatalf("%s: while callers' transactions are open: Commit() = %v, %v", level, err, b.Changes[0].Err)
			}
		}
		must(t, open.Commit())
		must(t, other.Commit())
	}
}

// testOpenKey keeps a transaction open that added a key and an alias, and commits others of the
// same. Each commit waits for its locks once, not twelve times: the rows beside it wait too.
func (c callerTest) testOpenKey(t *testing.T) {
	rules := callersRules(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := sqltest.Record(c.Driver)
	s, err := sqlstore.New(ctx, r)
	must(t, err)
	open := c.Begin(t, sql.LevelDefault)
	_, err = open.Add(ctx, rules.Prepare(&bellman.Task{Queue: "tell", Key: "open", Origin: &bellman.Origin{Alias: "open"}})...)
	must(t, err)
	for name, task := range map[string]bellman.Task{"key": {Queue: "tell", Key: "open"}, "alias": {Queue: "tell", Origin: &bellman.Origin{Alias: "open"}}} {
		before := r.SentAs("insert tasks")
		if err := s.Commit(ctx, &store.Batch{Adds: rules.Prepare(&task, &bellman.Task{Queue: "tell"})}); !errors.Is(err, bellman.ErrLocked) {
			t.Errorf("%s: while a caller's transaction has it: Commit() = %v; want ErrLocked", name, err)
		}
		if n := r.SentAs("insert tasks") - before; n > 1 {
			t.Errorf("%s: while a caller's transaction has it: the tasks were inserted %d times; want once", name, n)
		}
	}
	must(t, open.Commit())
	must(t, s.Commit(ctx, &store.Batch{Adds: rules.Prepare(&bellman.Task{Queue: "tell"})}))
	c.whole(t)
}

// testCounts adds tasks one by one. Their counters are merged, and the sums stay right.
func (c callerTest) testCounts(t *testing.T) {
	ctx := context.Background()
	rules := callersRules(t)
	for range 50 {
		tx := c.Begin(t, sql.LevelDefault)
		_, err := tx.Add(ctx, rules.Prepare(&bellman.Task{Queue: "tell"})...)
		must(t, err)
		must(t, tx.Commit())
	}
	rows := func() (n int64) {
		must(t, c.Driver.Read(ctx, &sqlstore.Statement{Name: "count", Text: "SELECT COUNT(*) FROM bellman_count", Each: func(r sqlstore.Row) error { return r.Scan(&n) }}))
		return n
	}
	if n := rows(); n < 50 {
		t.Fatalf("%d counters of callers before they are merged; want 50 or more", n)
	}
	for began := time.Now(); rows() > 0 && time.Since(began) < patience; {
		b := &store.Batch{Adds: rules.Prepare(&bellman.Task{Queue: "tell"})}
		must(t, c.Store.Commit(ctx, b))
		must(t, c.Store.Commit(ctx, &store.Batch{Changes: sqltest.Succeed(b, time.Now())}))
	}
	if n := rows(); n > 0 {
		t.Errorf("%d counters of callers are left; want none", n)
	}
	c.whole(t)
}

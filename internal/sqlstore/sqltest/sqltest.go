// Package sqltest is shared by the tests of package sqlstore and those of the databases, which
// check the plans of all statements. It has tasks, large tables, and a recorder of statements.
package sqltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
	"github.com/bellmanhq/bellman/store"
)

// A Recorder is a Driver that remembers the statements sent through it.
type Recorder struct {
	sqlstore.Driver
	mu   sync.Mutex
	seen map[string]*sqlstore.Statement // by name and text
	sent int
	as   map[string]int // how many were sent, by name
}

// Record returns a Recorder over a driver.
func Record(d sqlstore.Driver) *Recorder {
	return &Recorder{Driver: d, seen: map[string]*sqlstore.Statement{}, as: map[string]int{}}
}

// Statements returns the statements that were sent, one of each text, by name.
func (r *Recorder) Statements() (list []*sqlstore.Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.seen)) {
		list = append(list, r.seen[key])
	}
	return list
}

// Sent returns how many statements were sent, including commits.
func (r *Recorder) Sent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// SentAs returns how many statements of a name were sent.
func (r *Recorder) SentAs(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.as[name]
}

func (r *Recorder) note(statements []*sqlstore.Statement, more int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent += len(statements) + more
	for _, s := range statements {
		c := *s
		r.seen[s.Name+"\x00"+s.Text] = &c
		r.as[s.Name]++
	}
}

// Read passes the statements on and remembers them.
func (r *Recorder) Read(ctx context.Context, statements ...*sqlstore.Statement) error {
	r.note(statements, 0)
	return r.Driver.Read(ctx, statements...)
}

// Begin returns a transaction that remembers its statements.
func (r *Recorder) Begin(ctx context.Context) (sqlstore.Tx, error) {
	tx, err := r.Driver.Begin(ctx)
	return &recorderTx{tx, r}, err
}

type recorderTx struct {
	sqlstore.Tx
	r *Recorder
}

func (t *recorderTx) Send(ctx context.Context, statements ...*sqlstore.Statement) error {
	t.r.note(statements, 0)
	return t.Tx.Send(ctx, statements...)
}

func (t *recorderTx) Commit(ctx context.Context, statements ...*sqlstore.Statement) error {
	t.r.note(statements, 2) // COMMIT and BEGIN
	return t.Tx.Commit(ctx, statements...)
}

// longChain is the ordering key of all pending tasks of Big. It equals the event of the other
// tasks.
const longChain = "payment.succeeded"

// Everything calls every method of a store, so that each statement is sent. Its tasks are new,
// ended, attempted again, existing and missing.
func Everything(tb testing.TB, s store.Store) {
	tb.Helper()
	ctx := context.Background()
	leases := LeaseAll(tb, s)
	now := time.Now()
	batch := Adds(0, 300, now)
	batch.Leases = leases
	must(tb, s.Commit(ctx, batch))
	again := &store.Batch{Adds: slices.Clone(batch.Adds[:10])} // the same ids as before
	for i := range 10 {
		other := *batch.Adds[i+20].Task // the same keys as before
		other.ID = bellman.NewID()
		again.Adds = append(again.Adds, store.Add{Task: &other})
	}
	must(tb, s.Commit(ctx, again))
	readDue(tb, s, leases, now)
	ended := &store.Batch{Leases: leases, Changes: Succeed(batch, now)[:200],
		Docs:   []store.Doc{{Kind: "pause", Name: "q", Value: []byte("{}")}, {Kind: "pause", Name: "r"}},
		Audits: []store.Audit{{At: now, Who: "ann"}}}
	must(tb, s.Commit(ctx, ended))
	revived := &store.Batch{}
	for _, c := range ended.Changes[:5] {
		revived.Changes = append(revived.Changes, store.Change{ID: c.ID, Version: 2, To: bellman.Status{Attempts: 9, Due: now, VisibleAt: now}})
	}
	must(tb, s.Commit(ctx, revived))
	commitChains(tb, s, leases, now)
	commitAliases(tb, s, now)
	readAll(tb, s, batch.Adds[0].Task, now)
}

// read fails a test if a read failed.
func read(tb testing.TB) func(_ any, err error) {
	return func(_ any, err error) {
		tb.Helper()
		must(tb, err)
	}
}

func readDue(tb testing.TB, s store.Store, leases []store.Lease, now time.Time) {
	tb.Helper()
	ctx, until := context.Background(), now.Add(time.Hour).UnixMilli()
	shards := make([]uint16, len(leases))
	for i := range leases {
		shards[i] = leases[i].Shard
	}
	entries, err := s.Due(ctx, shards, store.Position{}, until, 200, nil)
	must(tb, err)
	read(tb)(s.Load(ctx, entries))
	if c, ok := s.(*sqlstore.Store); ok {
		read(tb)(c.CountDue(ctx, shards, store.Position{}, until, 200))
	}
}

// commitChains commits waiting tasks with ordering keys, and ends some.
func commitChains(tb testing.TB, s store.Store, leases []store.Lease, now time.Time) {
	tb.Helper()
	ctx, waiting := context.Background(), Adds(1000, 50, now)
	for i := range waiting.Adds {
		waiting.Adds[i].Task.OrderingKey, waiting.Adds[i].Task.Supersedes = fmt.Sprint("o", i%5), i%3 == 0
		if i%5 == 0 {
			waiting.Adds[i].Task.OrderingKey = longChain
		}
	}
	must(tb, s.Commit(ctx, waiting))
	first := waiting.Adds[0].Task
	read(tb)(s.Chain(ctx, first.Queue, first.OrderingKey, first.ID, 1))
	read(tb)(s.Chain(ctx, first.Queue, first.OrderingKey, bellman.ID{}, 100))
	over := Succeed(waiting, now)[:10]
	for i := range over {
		over[i].Ordering = waiting.Adds[i].Task.Ordering()
	}
	must(tb, s.Commit(ctx, &store.Batch{Leases: leases, Changes: over}))
}

// commitAliases commits tasks with aliases. Half of the aliases are taken.
func commitAliases(tb testing.TB, s store.Store, now time.Time) {
	tb.Helper()
	ctx, named, taken := context.Background(), Adds(2000, 20, now), Adds(3000, 20, now)
	for i := range named.Adds {
		named.Adds[i].Task.SetAlias(fmt.Sprint("alias/", i))
		taken.Adds[i].Task.SetAlias(fmt.Sprint("alias/", i+10))
	}
	must(tb, s.Commit(ctx, named))
	must(tb, s.Commit(ctx, taken))
	must(tb, s.Commit(ctx, &store.Batch{Changes: Succeed(named, now.Add(-time.Hour))})) // the first tasks that Prune finds
	read(tb)(store.Lookup(ctx, s, "", "alias/5"))
}

// readAll reads everything that can be read, with each filter by the fields of a task. It prunes,
// too.
func readAll(tb testing.TB, s store.Store, t *bellman.Task, now time.Time) {
	tb.Helper()
	ctx := context.Background()
	pending, succeeded := bellman.Pending, bellman.Succeeded
	for _, f := range []store.Filter{{}, {Queue: t.Queue}, {Key: t.Key}, {MerchantNo: t.MerchantNo}, {OrderNo: t.OrderNo}, {URLHost: "m0.example"},
		{URLHost: "m0.example:8443", State: &pending}, {State: &pending}, {State: &succeeded}, {Event: "none"},
		{MerchantNo: t.MerchantNo, State: &pending, CreatedFrom: now}} { // few are pending since now
		_, _, err := s.List(ctx, f, bellman.ID{}, 50)
		must(tb, err)
	}
	read(tb)(s.Task(ctx, t.ID))
	read(tb)(store.Lookup(ctx, s, t.Queue, t.Key))
	read(tb)(s.Attempts(ctx, t.ID, 0, 10))
	read(tb)(s.Depths(ctx))
	read(tb)(s.Docs(ctx, store.DocFilter{Kind: "pause"}, 10))
	read(tb)(s.Audits(ctx, now.Add(time.Hour), 1))
	read(tb)(s.Prune(ctx, bellman.Succeeded, now.Add(time.Hour), 100))
	read(tb)(s.State(ctx, "pause"))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

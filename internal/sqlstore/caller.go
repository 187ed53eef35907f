package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Caller is a transaction of an application that shares the database with the store. Its
// isolation and its end are unknown. The store must not make the transaction fail.
type Caller struct {
	Tx Sender

	CountsInserts bool // as Driver.CountsInserts
	Locks         bool // rows of other commits are reliably visible only to a locking read
}

// AddTx adds tasks in a caller's transaction. Each task is prepared as for Commit, except its
// shard, which AddTx takes modulo the number of shards. AddTx skips an add that has an Err. It
// returns the outcome of each add, and the first error.
//
// If the database fails, AddTx undoes its own writes. The transaction stays usable unless the
// database ended it.
func AddTx(ctx context.Context, c Caller, adds []store.Add) ([]bellman.Added, error) {
	adds = slices.Clone(adds) // the caller may pass the same adds again after a rollback
	valid := make([]*store.Add, 0, len(adds))
	for i := range adds {
		if adds[i].Err == nil {
			valid = append(valid, &adds[i])
		}
	}
	if err := c.add(ctx, valid); err != nil {
		return nil, fmt.Errorf("add tasks: %w", err)
	}
	results := make([]bellman.Added, len(adds))
	var first error
	for i, a := range adds {
		results[i] = bellman.Added{ID: a.Task.ID, Err: a.Err}
		if !a.Existing.IsZero() {
			results[i].ID, results[i].Existing = a.Existing, a.Err == nil
		}
		if a.Err != nil && first == nil {
			first = a.Err
			if len(adds) > 1 {
				first = fmt.Errorf("task %d of %d: %w", i+1, len(adds), a.Err)
			}
		}
	}
	return results, first
}

// callerPart is the number of tasks in one statement of AddTx. A list of pairs then has fewer than
// 1,000 values. From that number on MariaDB reads, and locks, the whole table to compare it with
// the list.
const callerPart = 400

// raceTries is the number of lookups when the holder of a key disappears before it is read.
const raceTries = 3

// add adds all tasks or none.
func (c Caller) add(ctx context.Context, adds []*store.Add) (err error) {
	if len(adds) == 0 {
		return nil
	}
	defer func() {
		if err == nil {
			return
		}
		// The caller's context may be what failed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if undone := c.Tx.Send(ctx, &Statement{Name: "undo", Text: `ROLLBACK TO SAVEPOINT bellman_add`}); undone != nil {
			err = fmt.Errorf("%w (the transaction cannot go on: %v)", err, undone)
		}
	}()
	var l layout
	before := []*Statement{{Name: "begin", Text: `SAVEPOINT bellman_add`}, l.read()}
	for part := range slices.Chunk(adds, callerPart) {
		writes, err := c.part(ctx, part, before, &l)
		if err != nil {
			return err
		}
		before = writes
	}
	return c.Tx.Send(ctx, append(before, &Statement{Name: "end", Text: `RELEASE SAVEPOINT bellman_add`})...)
}

// part runs the statements before, inserts the cold rows of tasks, and returns the remaining
// writes.
func (c Caller) part(ctx context.Context, adds []*store.Add, before []*Statement, l *layout) ([]*Statement, error) {
	g := newStage(nil, c.Tx, 0, how{counts: c.CountsInserts, locks: c.Locks})
	in := newInserter(g, adds)
	before = append(before, g.places.of(slices.Values(adds))...)
	for try := 1; ; try++ {
		if err := c.Tx.Send(ctx, append(before, in.statements()...)...); err != nil {
			return nil, err
		}
		before = nil
		if err := l.check(); err != nil {
			return nil, err
		}
		err := in.finish(ctx)
		if err == nil {
			break
		}
		if try == raceTries || !errors.Is(err, ErrRaced) {
			return nil, err
		}
	}
	added := false
	for _, a := range adds {
		if c := g.current[a.Task.ID]; c != nil && a.Existing.IsZero() && a.Err == nil {
			a.Task.Shard = l.shardOf(a.Task.Shard)
			c.status.Shard = a.Task.Shard
			added = true
		}
	}
	if !added {
		return nil, nil
	}
	return append(append(g.statusWrites(), g.placeWrites()...), g.ownCounts()), nil
}

// A layout is the part of the store's schema that a caller's transaction needs.
type layout struct {
	version, shards int64
}

func (l *layout) read() *Statement {
	return &Statement{Name: "read schema version", Text: `SELECT s.version, s.shards FROM bellman_schema s ORDER BY s.version DESC LIMIT 1`,
		Each: func(r Row) error { return r.Scan(&l.version, &l.shards) }}
}

func (l *layout) check() error {
	switch n := int64(len(migrations)); {
	case l.version > n:
		return newer(int(l.version))
	case l.version < n || l.shards <= 0:
		return older(int(l.version))
	}
	return nil
}

// shardOf returns the shard of a prepared task, modulo the number of shards. The preparing process
// may not know this number.
func (l *layout) shardOf(place uint16) uint16 { return uint16(int64(place) % l.shards) }

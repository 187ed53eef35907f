package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// probe rejects a database on which the store would break its promises. It leaves no rows behind.
func (s *Store) probe(ctx context.Context) error {
	if err := s.d.Check(ctx); err != nil {
		return err
	}
	if err := s.probeClock(ctx); err != nil {
		return err
	}
	if err := s.probeFence(ctx); err != nil {
		return err
	}
	if err := s.probeWrites(ctx); err != nil {
		return fmt.Errorf("a commit was tried, and would fail: %w: %s", err, s.wants(err))
	}
	return nil
}

// wants says what a commit lacks that failed with err.
func (s *Store) wants(err error) string {
	switch {
	case s.waited(err):
		return "another session holds a lock on these tables, or the database stands still: look at its sessions, and end the transaction that blocks them"
	case s.d.Kind(err) == Full:
		return "the database has no room: make room on its disk"
	case s.d.Kind(err) == Lost:
		return "the database accepts no writes, as a standby does, or breaks its connections: look at its log, and whether the address leads to the primary"
	}
	return "the user needs SELECT, INSERT, UPDATE and DELETE on all tables that begin with bellman_"
}

// waited reports whether err is the end of a wait for a lock, or perhaps for a lock.
func (s *Store) waited(err error) bool {
	return s.d.Kind(err) == Blocked || errors.Is(err, context.DeadlineExceeded)
}

// probeClock rejects clocks that differ too much.
func (s *Store) probeClock(ctx context.Context) error {
	skew, err := s.skew(ctx)
	if err == nil && skew > store.MaxSkew {
		err = fmt.Errorf("%s: want at most %v; set both by NTP", apart(skew), store.MaxSkew)
	}
	return err
}

func apart(skew time.Duration) string {
	return fmt.Sprintf("the clocks of this machine and of the database are %v apart", skew.Round(time.Millisecond))
}

// skew compares the clocks. The round-trip time does not count as skew.
func (s *Store) skew(ctx context.Context) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	for range 3 {
		var ms int64
		sent := time.Now()
		err := s.read(ctx, func() []*Statement {
			sent = time.Now()
			return []*Statement{{Name: "read clock", Text: `SELECT {now}`, Each: func(r Row) error { return r.Scan(&ms) }}}
		})
		if err != nil {
			return 0, err
		}
		at := time.UnixMilli(ms)
		best = min(best, max(sent.Sub(at)-time.Millisecond, time.Until(at), 0))
		if best == 0 {
			break
		}
	}
	return best, nil
}

// probeFence tries the fence with the newest lease of a shard, and with stale leases.
func (s *Store) probeFence(ctx context.Context) error {
	for _, change := range []int64{0, -1, 1 << 32} {
		err := s.undone(ctx, func(tx Tx) error {
			var epoch int64
			var owner []byte
			err := tx.Send(ctx, &Statement{Name: "read epoch", Text: `SELECT epoch, owner FROM bellman_shard WHERE shard = 0`, Each: func(r Row) error { return r.Scan(&epoch, &owner) }})
			if err != nil {
				return err
			}
			fence, err := fence([]store.Lease{{Shard: 0, Epoch: epoch + change, Mark: string(owner)}}, s.d.LockFences())
			if err != nil {
				return err
			}
			err = tx.Send(ctx, fence)
			kind := s.d.Kind(err)
			switch {
			case change == 0 && s.refused(err):
				return fmt.Errorf("it refuses the newest lease: %w", ErrRaced) // or a node took the shard at this moment
			case change == 0, kind == Lost, kind == Retry, kind == Blocked:
				return err
			case !s.refused(err):
				return fmt.Errorf("it answers a lease that is not the newest with: %v", err)
			}
			return nil
		})
		switch kind := s.d.Kind(err); {
		case err == nil:
		case s.waited(err):
			return fmt.Errorf("the fence, which keeps nodes apart, could not be tried: another session may hold the row of shard 0: %w", err)
		case kind == Lost, kind == Retry:
			return fmt.Errorf("the fence, which keeps nodes apart, could not be tried: %w", err)
		default:
			return fmt.Errorf("the fence, which keeps nodes apart, does not hold in this database: %w", err)
		}
	}
	return nil
}

// probeWrites runs all writes of a commit and rolls them back.
func (s *Store) probeWrites(ctx context.Context) error {
	return s.undone(ctx, func(tx Tx) error {
		now := time.Now()
		t := &bellman.Task{ID: bellman.NewID(), Queue: "bellman-probe", Key: "probe", Body: []byte{0xff, 0}, Status: bellman.Status{Due: now, VisibleAt: now}}
		again := &bellman.Task{ID: bellman.NewID(), Queue: t.Queue, Key: t.Key}
		done := bellman.Status{State: bellman.Cancelled, Finished: now}
		added := &store.Batch{Adds: []store.Add{{Task: t}}, Docs: []store.Doc{{Kind: "probe", Name: "probe", Value: []byte{}}}}
		changed := &store.Batch{Adds: []store.Add{{Task: again}}, Audits: []store.Audit{{At: now}},
			Changes: []store.Change{{ID: t.ID, Version: 1, To: done, Attempt: &bellman.Attempt{Number: 1, Response: "\x00"}}}}
		for _, b := range []*store.Batch{added, changed} {
			last, err := s.newStage(tx, -1).run(ctx, b)
			if err != nil {
				return err
			}
			if err := tx.Send(ctx, last...); err != nil {
				return err
			}
		}
		if a := changed.Adds[0]; a.Existing != t.ID || changed.Changes[0].Err != nil {
			return fmt.Errorf("a task added twice was seen as %v, its change as %v: want task %v", a.Existing, changed.Changes[0].Err, t.ID)
		}
		return tx.Send(ctx,
			&Statement{Name: "delete task", Text: `DELETE FROM bellman_task WHERE id IN (??)`, Args: []any{[]bellman.ID{t.ID}}},
			&Statement{Name: "delete status", Text: `DELETE FROM bellman_live WHERE id IN (??)`, Args: []any{[]bellman.ID{t.ID}}},
			&Statement{Name: "delete status of an ended task", Text: `DELETE FROM bellman_ended WHERE state = ? AND id IN (??)`, Args: []any{int64(done.State), []bellman.ID{t.ID}}},
			&Statement{Name: "delete attempts", Text: `DELETE FROM bellman_attempt WHERE task_id IN (??)`, Args: []any{[]bellman.ID{t.ID}}},
			&Statement{Name: "delete documents", Text: `DELETE FROM bellman_doc WHERE kind = ?`, Args: []any{[]byte("probe")}},
			&Statement{Name: "update nodes", Text: `UPDATE bellman_node SET beats = beats + 1 WHERE name = ?`, Args: []any{[]byte{}}})
	})
}

// undone calls f in a transaction that is rolled back.
func (s *Store) undone(ctx context.Context, f func(tx Tx) error) error {
	for try := 1; ; try++ {
		tx, err := s.d.Begin(ctx)
		if err == nil {
			err = f(tx)
			tx.Rollback()
		}
		if kind := s.d.Kind(err); try == tries || ctx.Err() != nil || kind != Retry && kind != Blocked && kind != Lost && !errors.Is(err, ErrRaced) {
			return err
		}
	}
}

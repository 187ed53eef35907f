package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// recordable leaves out the outcomes of attempts whose shard is no longer this
// node's: its owner makes those attempts again, and records them. Those of parked
// tasks are recorded.
func (e *Engine) recordable(ops []*op) []*op {
	kept := ops[:0]
	lost := 0
	for _, o := range ops {
		switch {
		case o.flight != nil && !o.flight.item.parked && !e.leases.holds(o.flight.task.Shard):
			if o.flight.aside {
				e.asides.Add(-1)
			} else {
				lost++
			}
			e.hand.drop(true, o.flight.item)
		case o.own && !e.leases.holds(o.change.To.Shard):
			o.Done(bellman.ErrFenced)
		default:
			kept = append(kept, o)
		}
	}
	if lost > 0 {
		e.log.Warn("outcomes of attempts are not recorded: their shards were lost while they were in flight", "attempts", lost)
	}
	clear(ops[len(kept):])
	return kept
}

// fenced finds out which of the leases of a batch that was fenced off are no longer
// the newest, and lets their shards go. It is false if that cannot be found out.
func (e *Engine) fenced(ctx context.Context, leases []store.Lease) bool {
	l := e.leases
	l.turn.Lock()
	defer l.turn.Unlock()
	state, err := e.store.State(ctx, "")
	if err != nil {
		return false
	}
	found := false
	var lost []uint16
	for _, lease := range leases {
		switch s := state.Shards[lease.Shard]; {
		case s.Lease == lease:
			continue
		case s.Owner == l.name(): // a claim of this node's, of which it was not told
			l.renew(s.Lease)
		default:
			if now, held := l.lease(lease.Shard); held && now == lease {
				lost = append(lost, lease.Shard)
			}
		}
		found = true
	}
	e.drop(lost)
	if len(lost) > 0 {
		e.lookSoon()
	}
	return found
}

// reclaim claims the shards of leases anew, those that have no newer lease already.
// Those that have become another node's are let go.
func (e *Engine) reclaim(ctx context.Context, leases []store.Lease) error {
	l := e.leases
	l.turn.Lock()
	defer l.turn.Unlock()
	for _, lease := range leases {
		if now, held := l.lease(lease.Shard); !held || now != lease {
			continue
		}
		newer, err := e.store.Claim(ctx, l.name(), lease.Shard, lease.Epoch)
		switch {
		case err == nil:
			l.renew(newer)
		case errors.Is(err, bellman.ErrFenced):
			if err := e.refused(ctx, lease); err != nil {
				return fmt.Errorf("claim shard %d: %w", lease.Shard, err)
			}
		default:
			return fmt.Errorf("claim shard %d: %w", lease.Shard, err)
		}
	}
	return nil
}

// refused finds out why a held shard could not be claimed anew. An error says that
// it is to be tried again. Call it with the turn.
func (e *Engine) refused(ctx context.Context, lease store.Lease) error {
	l := e.leases
	state, err := e.store.State(ctx, "")
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	switch s := state.Shards[lease.Shard]; {
	case s.Owner == l.name() && s.Epoch > lease.Epoch: // by a claim of this node's, of which it was not told
		l.renew(s.Lease)
	case l.holding(s).mine: // it has expired, and nobody took it yet
		return fmt.Errorf("%w: this node has expired", bellman.ErrFenced)
	default:
		e.drop([]uint16{lease.Shard})
		e.lookSoon()
	}
	return nil
}

// A stretch is from the earliest look of some tasks to the latest, in Unix ms; none if
// since is noTime. changed are those of them, and of tasks that ended, that their
// owner may know as they were.
type stretch struct {
	since, until int64
	changed      []bellman.ID
}

// note remembers that a task changed which is of another node's shard. Call it with
// the hand's mutex held.
func (e *Engine) note(others map[uint16]stretch, st *bellman.Status) {
	if st.State.Ended() || e.hand.owns(st.Shard) {
		return
	}
	look := st.VisibleAt.UnixMilli()
	s, ok := others[st.Shard]
	if !ok {
		s = stretch{since: noTime}
	}
	s.since, s.until = min(s.since, look), max(s.until, look)
	others[st.Shard] = s
}

// noteOld remembers that the owner of a task, which is another node, may have it in
// hand as it was. Call it with the hand's mutex held.
func (e *Engine) noteOld(others map[uint16]stretch, id bellman.ID, shard uint16) {
	if e.hand.owns(shard) {
		return
	}
	s, ok := others[shard]
	if !ok {
		s = stretch{since: noTime}
	}
	s.changed = append(s.changed, id)
	others[shard] = s
}

// tellOwners tells the owners of shards which tasks of theirs have changed.
func (e *Engine) tellOwners(others map[uint16]stretch) {
	for shard, s := range others {
		h := Hint{Changed: s.changed[:min(len(s.changed), e.limits.Changed)]}
		if s.since != noTime {
			h.Added, h.Since, h.Until = []uint16{shard}, s.since, s.until
		}
		e.hint(e.leases.elsewhere(shard), h)
	}
}

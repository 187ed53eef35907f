package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// How often a node reads the state of the others, and how long it waits for another node to claim a
// shard that is assigned to that node.
const (
	lookEvery   = leaseBeat
	aloneEvery  = 2 * leaseBeat
	expirySlack = 20 * time.Millisecond // after the expiry of a node
	deadGrace   = 500 * time.Millisecond
	freeGrace   = 2 * leaseBeat

	// lookWithin bounds a look. Rejected commits wait for it.
	lookWithin = 4 * time.Second
)

// A cluster is what this node knows of the others. It is guarded by leases.claiming.
type cluster struct {
	nodes   []store.Node // as last read
	live    []string     // names of nodes that have not expired and are not leaving
	expires time.Time    // when the next other node expires without a heartbeat, on the monotonic clock

	since map[uint16]time.Time // when a shard was first seen without a live owner

	division division
}

// keepShards is the goroutine that claims shards assigned to this node, and finds shards that
// others should own.
func (l *leases) keepShards(ctx context.Context) error {
	for {
		nap(ctx, l.untilLook(), l.looks)
		if ctx.Err() != nil {
			return nil
		}
		err := l.look(ctx, false)
		if errors.Is(err, bellman.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			l.log.Error("nodes and shards cannot be looked at", "err", err)
			nap(ctx, time.Second, nil)
			l.lookSoon() // with an exclusive store the next look would be an hour later
		}
		l.runner.mayFire()
	}
}

// lookSoon triggers a look now.
func (l *leases) lookSoon() {
	select {
	case l.looks <- struct{}{}:
	default:
	}
}

// untilLook returns the time until the next look: at most until another node expires.
func (l *leases) untilLook() time.Duration {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	c := &l.cluster
	wait := lookEvery
	switch {
	case l.sole:
		return time.Hour
	case len(c.since) > 0:
		wait = deadGrace
	case len(c.nodes) <= 1:
		return aloneEvery
	}
	if !c.expires.IsZero() {
		wait = min(wait, time.Until(c.expires))
	}
	return max(wait, 50*time.Millisecond)
}

// look reads nodes, shards and pauses, claims free shards that are assigned to this node, and drops
// shards that it lost. first: nothing is known yet.
func (l *leases) look(ctx context.Context, first bool) error {
	within := lookWithin
	if first {
		within = 2 * leaseTTL
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l.claiming.Lock()
	defer l.claiming.Unlock()
	offered := l.hints.takeOffered()
	obey := l.pauses.reading()
	state, err := l.store.State(ctx, pauseKind)
	if err != nil {
		err = fmt.Errorf("read nodes, shards and pauses: %w", err)
	}
	if err := obey(state.Docs, err); err != nil {
		l.hints.offer(offered)
		return err
	}
	l.survey(state.Nodes, state.Shards)
	won, err := l.claimAll(ctx, state.Shards, offered)
	l.gain(won)
	if err != nil {
		return err
	}
	l.sure()
	if first {
		l.tellAll(Hint{}) // they look at once and release the shards assigned to this node
	}
	return nil
}

// survey records which nodes are alive, and until when.
func (l *leases) survey(nodes []store.Node, shards []store.Shard) {
	c := &l.cluster
	l.mu.Lock()
	self, beat, former := l.node.Name, l.beat, l.former
	l.total = len(shards)
	l.mu.Unlock()
	owners := make(map[string]bool)
	for _, s := range shards {
		owners[s.Owner] = s.Alive
	}
	var peers []store.Node
	now := time.Now()
	moment := clockOf(nodes, self, beat)
	c.nodes, c.live, c.expires = nodes, c.live[:0], time.Time{}
	for _, n := range nodes {
		if n.Name == self {
			c.live = append(c.live, n.Name)
			continue
		}
		expires := moment(n.Beat).Add(leaseTTL)
		alive, owns := owners[n.Name]
		if !owns {
			alive = now.Before(expires)
		}
		if !alive || slices.Contains(former, n.Name) {
			continue
		}
		peers = append(peers, n)
		if at := expires.Add(expirySlack); c.expires.IsZero() || at.Before(c.expires) {
			c.expires = at
		}
		if !l.hints.left(n.Name) {
			c.live = append(c.live, n.Name)
		}
	}
	l.hints.know(peers)
}

// clockOf returns a function that converts times of the store's clock to this node's monotonic
// clock. It is based on this node's own last heartbeat, and early by at most the duration of that
// heartbeat.
func clockOf(nodes []store.Node, self string, beat time.Time) func(time.Time) time.Time {
	for _, n := range nodes {
		if n.Name == self {
			return func(at time.Time) time.Time { return beat.Add(at.Sub(n.Beat)) }
		}
	}
	newest, now := time.Time{}, time.Now()
	for _, n := range nodes {
		newest = later(newest, n.Beat)
	}
	return func(at time.Time) time.Time { return now.Add(at.Sub(newest)) }
}

// claimAll claims every shard that this node should take, and drops those that it lost. It returns
// the claimed shards.
func (l *leases) claimAll(ctx context.Context, shards []store.Shard, offered map[uint16]bool) (won []gain, err error) {
	c := &l.cluster
	now := time.Now()
	self := l.name()
	var lost, surplus []uint16
	since := make(map[uint16]time.Time)
	owners := c.division.among(c.live, len(shards))
	for _, s := range shards {
		should := owners[s.Shard]
		h := l.holding(s)
		if h.held && !h.mine {
			lost = append(lost, s.Shard)
		}
		switch {
		case h.newest && (h.active || h.releasing):
			if h.active && should != self {
				surplus = append(surplus, s.Shard)
			}
			continue
		case h.mine, should == self && !s.Alive, offered[s.Shard] && !s.Alive:
		case s.Alive:
			l.toward(s.Shard, c.addr(s.Owner))
			continue
		default: // another node should take it; wait a moment for that
			grace := freeGrace
			if s.Owner != "" {
				grace = deadGrace
			}
			seen, ok := c.since[s.Shard]
			if !ok {
				seen = now
			}
			if now.Sub(seen) < grace {
				since[s.Shard] = seen
				l.toward(s.Shard, c.addr(should))
				continue
			}
		}
		if err != nil {
			continue
		}
		lease, claimed := l.store.Claim(ctx, self, s.Shard, s.Epoch)
		switch {
		case claimed == nil:
			g := gain{lease: lease, kept: h.mine && h.active}
			if s.Owner != "" && !h.ours {
				g.death = l.clock.now().UnixMilli()
			}
			won = append(won, g)
		case !errors.Is(claimed, bellman.ErrFenced):
			err = fmt.Errorf("claim shard %d: %w", s.Shard, claimed)
		case h.held && h.mine: // another node was quicker
			lost = append(lost, s.Shard)
		}
	}
	c.since = since
	l.drop(lost)
	l.rebalanceSoon(surplus)
	return won, err
}

// A holding is the relation of a shard to this node.
type holding struct {
	ours      bool // its owner is this node, under its present or a former name
	mine      bool // no other node had it since this node claimed it
	held      bool // it is in leases.held
	newest    bool // … under its newest lease and the node's present name
	active    bool // … and its tasks are attempted
	releasing bool // … and it is being released
}

func (l *leases) holding(s store.Shard) (h holding) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	lease, held := l.held[s.Shard]
	now := s.Owner == l.node.Name
	h.held = held
	h.ours = now || slices.Contains(l.former, s.Owner)
	h.mine = now || h.ours && held && lease == s.Lease
	h.newest = now && held && lease == s.Lease
	_, h.active = slices.BinarySearch(l.owned, s.Shard)
	h.releasing = l.releasing[s.Shard]
	return h
}

// addr returns the address of a node; empty if unknown.
func (c *cluster) addr(name string) string {
	for _, n := range c.nodes {
		if n.Name == name {
			return n.Addr
		}
	}
	return ""
}

// A gain is a shard that was claimed.
type gain struct {
	lease store.Lease
	death int64 // when its last owner was found dead, Unix ms; 0: the owner released it
	kept  bool  // no other node had it since this node's last claim
}

// moves counts claimed and released shards for one log line about all that moved together.
type moves struct {
	mu            locks.Mutex
	claimed, gave int
	last          time.Time
}

const movesOver = 2 * time.Second // after the last shard that moved

func (m *moves) note(claimed, gave int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claimed += claimed
	m.gave += gave
	m.last = time.Now()
}

// over returns and resets the counts when no shard has moved for movesOver.
func (m *moves) over() (claimed, gave int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.last) < movesOver {
		return 0, 0
	}
	claimed, gave = m.claimed, m.gave
	m.claimed, m.gave = 0, 0
	return claimed, gave
}

// gain starts the attempts of claimed shards.
func (l *leases) gain(gains []gain) {
	if len(gains) == 0 {
		return
	}
	var anew []uint16
	for _, g := range gains {
		if g.kept {
			l.renew(g.lease)
			continue
		}
		l.won(g.lease, g.death)
		anew = append(anew, g.lease.Shard)
	}
	l.host.gained(anew)
	l.moves.note(len(anew), 0)
}

// drop gives up shards that other nodes own. Attempts in flight go on and are not recorded.
func (l *leases) drop(shards []uint16) {
	if len(shards) == 0 {
		return
	}
	for _, s := range shards {
		l.lose(s, l.clock.now())
	}
	l.host.left(shards...)
	l.host.reshare()
	l.log.Warn("shards lost to other nodes", "lost", len(shards), "shards", len(l.shards()))
}

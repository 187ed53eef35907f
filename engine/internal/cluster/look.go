package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// How often a node reads the state of the others, and how long it waits for another node to claim a
// shard that is assigned to that node.
const (
	lookEvery   = 2 * time.Second
	aloneEvery  = 2 * lookEvery
	expirySlack = 20 * time.Millisecond // after the expiry of a node
	deadGrace   = 500 * time.Millisecond
	freeGrace   = 2 * lookEvery

	// lookWithin bounds a look. Rejected commits wait for it. firstLookWithin bounds each call of
	// the first look: a node that starts may claim all shards of a slow store one after the other.
	lookWithin      = 4 * time.Second
	firstLookWithin = 12 * time.Second
)

// A roster is what this node knows of the others. It is guarded by Member.claiming.
type roster struct {
	nodes   []store.Node  // as last read
	live    []string      // names of nodes that have not expired and are not leaving
	expires time.Time     // when the next other node expires without a heartbeat, on the monotonic clock
	ahead   time.Duration // how far the store's clock is ahead of this node's, or a little more

	since map[uint16]time.Time // when a shard was first seen without a live owner

	division division
}

// KeepShards is the goroutine that claims shards assigned to this node, and finds shards that
// others should own.
func (m *Member) KeepShards(ctx context.Context) error {
	for {
		sleep.UntilWoken(ctx, m.untilLook(), m.looks)
		if ctx.Err() != nil {
			return nil
		}
		err := m.Look(ctx, false)
		if errors.Is(err, bellman.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			m.log.Error("nodes and shards cannot be read", "err", err)
			sleep.For(ctx, time.Second)
			m.lookSoon() // with an exclusive store the next look would be an hour later
		}
		m.host.Changed()
	}
}

// lookSoon triggers a look now.
func (m *Member) lookSoon() { m.looks.Wake() }

// untilLook returns the time until the next look: at most until another node expires.
func (m *Member) untilLook() time.Duration {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	r := &m.roster
	wait := lookEvery
	switch {
	case m.sole:
		return time.Hour
	case len(r.since) > 0:
		wait = deadGrace
	case len(r.nodes) <= 1:
		return aloneEvery
	}
	if !r.expires.IsZero() {
		wait = min(wait, time.Until(r.expires))
	}
	return max(wait, 50*time.Millisecond)
}

// Look reads nodes, shards and pauses, claims free shards that are assigned to this node, and drops
// shards that it lost. first: nothing is known yet.
func (m *Member) Look(ctx context.Context, first bool) error {
	within := firstLookWithin
	if !first {
		within = lookWithin
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	m.claiming.Lock()
	defer m.claiming.Unlock()
	offered := m.hints.takeOffered()
	read := m.host.ReadDocs()
	state, err := m.state(ctx, within)
	if err != nil {
		err = fmt.Errorf("read nodes, shards and pauses: %w", err)
	}
	if err := read(state.Docs, err); err != nil {
		m.hints.offer(offered)
		return err
	}
	m.survey(state.Nodes, state.Shards)
	won, err := m.claimAll(ctx, within, state.Shards, offered)
	m.gain(won)
	if err != nil {
		return err
	}
	m.sure()
	if first {
		m.TellAll(Hint{}) // they look at once and release the shards assigned to this node
	}
	return nil
}

// state reads the state of the store within a time.
func (m *Member) state(ctx context.Context, within time.Duration) (store.State, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return m.store.State(ctx, m.docs)
}

// claim claims a shard within a time.
func (m *Member) claim(ctx context.Context, within time.Duration, self string, s store.Shard) (store.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return m.store.Claim(ctx, self, s.Shard, s.Epoch)
}

// survey records which nodes are alive, and until when.
func (m *Member) survey(nodes []store.Node, shards []store.Shard) {
	r := &m.roster
	m.mu.Lock()
	self, beat, former := m.node.Name, m.beat, m.former
	m.total = len(shards)
	m.mu.Unlock()
	owners := make(map[string]bool)
	for _, s := range shards {
		owners[s.Owner] = s.Alive
	}
	var peers []store.Node
	now := time.Now()
	moment := clockOf(nodes, self, beat)
	r.nodes, r.live, r.expires = nodes, r.live[:0], time.Time{}
	for _, n := range nodes {
		if n.Name == self {
			r.live = append(r.live, n.Name)
			r.ahead = n.Beat.Add(now.Sub(beat)).Sub(m.clock.Now())
			if !m.sole {
				m.measured.Store(&measured{r.ahead, now})
			}
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
		if at := expires.Add(expirySlack); r.expires.IsZero() || at.Before(r.expires) {
			r.expires = at
		}
		if !m.hints.left(n.Name) {
			r.live = append(r.live, n.Name)
		}
	}
	m.hints.know(peers)
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
		if n.Beat.After(newest) {
			newest = n.Beat
		}
	}
	return func(at time.Time) time.Time { return now.Add(at.Sub(newest)) }
}

// claimAll claims every shard that this node should take, each within a time, and drops those that
// it lost. It returns the claimed shards.
func (m *Member) claimAll(ctx context.Context, within time.Duration, shards []store.Shard, offered map[uint16]bool) (won []gain, err error) {
	self := m.Name()
	holdings := m.holdings(shards)
	var lost []uint16
	for i, h := range holdings {
		if h.held && !h.mine {
			lost = append(lost, shards[i].Shard)
		}
	}
	m.drop(lost) // before any of them is claimed again
	lost = nil
	kept := sync.OnceValues(func() (map[uint16]Death, error) { return m.keptDeaths(ctx, within) })
	for _, i := range m.choose(self, shards, holdings, offered) {
		s, h := shards[i], holdings[i]
		if err = m.learn(s, h, kept); err != nil {
			break
		}
		lease, claimed := m.claim(ctx, within, self, s)
		switch {
		case claimed == nil:
			won = append(won, gain{lease: lease, kept: h.mine && h.active})
		case !errors.Is(claimed, bellman.ErrFenced):
			err = fmt.Errorf("claim shard %d: %w", s.Shard, claimed)
		case h.held && h.mine: // another node was quicker
			lost = append(lost, s.Shard)
		}
		if err != nil {
			break
		}
	}
	m.drop(lost)
	return won, err
}

// learn records the death of the last owner of a shard that this node is about to claim. kept
// returns the deaths that owners wrote before they released their shards.
func (m *Member) learn(s store.Shard, h holding, kept func() (map[uint16]Death, error)) error {
	switch {
	case h.ours: // already recorded
		return nil
	case s.Owner != "":
		m.know(s.Shard, m.death(s.Owner))
		return nil
	}
	deaths, err := kept()
	if err == nil {
		m.know(s.Shard, deaths[s.Shard])
	}
	return err
}

// choose returns the indexes of the shards that this node should claim now. It also records what it
// leaves to others: the shards that this node should release, and the addresses of the nodes that
// own the other shards or should claim them.
func (m *Member) choose(self string, shards []store.Shard, holdings []holding, offered map[uint16]bool) (claims []int) {
	r := &m.roster
	now := time.Now()
	steady, regained := m.steady()
	var surplus []uint16
	since := make(map[uint16]time.Time)
	addrs := make(map[uint16]string) // of the shards left to others
	owners := r.division.among(r.live, len(shards))
	for i, s := range shards {
		should, h := owners[s.Shard], holdings[i]
		free := !s.Alive && (s.Owner == "" || h.ours || steady)
		switch {
		case h.newest && (h.active || h.releasing):
			if h.active && should != self {
				surplus = append(surplus, s.Shard)
			}
			continue
		case h.mine, should == self && free, offered[s.Shard] && free:
		case s.Alive:
			if !h.ours {
				m.know(s.Shard, Death{})
			}
			addrs[s.Shard] = r.addr(s.Owner)
			continue
		default: // another node should take it, or its owner may join again
			if seen, over := r.waited(s, free, now, regained); !over {
				since[s.Shard] = seen
				addrs[s.Shard] = r.addr(should)
				continue
			}
		}
		claims = append(claims, i)
	}
	r.since = since
	m.toward(addrs)
	m.surplusShards.set(surplus)
	return claims
}

// waited returns since when a shard has had no live owner, and whether other nodes have had enough
// time to claim it.
func (r *roster) waited(s store.Shard, free bool, now, regained time.Time) (seen time.Time, over bool) {
	grace := freeGrace
	if s.Owner != "" && free {
		grace = deadGrace
	}
	seen, ok := r.since[s.Shard]
	switch {
	case !ok:
		seen = now
	case !free && seen.Before(regained):
		seen = regained
	}
	return seen, now.Sub(seen) >= grace
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

// holdings returns the relations of shards to this node, at one moment.
func (m *Member) holdings(shards []store.Shard) []holding {
	m.mu.RLock()
	defer m.mu.RUnlock()
	holdings := make([]holding, len(shards))
	for i, s := range shards {
		h := &holdings[i]
		lease, held := m.held[s.Shard]
		now := s.Owner == m.node.Name
		h.held = held
		h.ours = now || slices.Contains(m.former, s.Owner)
		h.mine = now || h.ours && held && lease == s.Lease
		h.newest = now && held && lease == s.Lease
		_, h.active = slices.BinarySearch(m.owned, s.Shard)
		h.releasing = m.releasing[s.Shard]
	}
	return holdings
}

// addr returns the address of a node; empty if unknown.
func (r *roster) addr(name string) string {
	for _, n := range r.nodes {
		if n.Name == name {
			return n.Addr
		}
	}
	return ""
}

// A gain is a shard that was claimed.
type gain struct {
	lease store.Lease
	kept  bool // no other node had it since this node's last claim
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

// Moved returns how many shards this node claimed and released, once no shard has moved for two
// seconds, and resets both numbers.
func (m *Member) Moved() (claimed, released int) { return m.moves.over() }

// gain starts the attempts of claimed shards.
func (m *Member) gain(gains []gain) {
	if len(gains) == 0 {
		return
	}
	var claimed []uint16
	for _, g := range gains {
		if g.kept {
			m.renew(g.lease)
			continue
		}
		m.won(g.lease)
		claimed = append(claimed, g.lease.Shard)
	}
	m.host.Gained(claimed)
	m.moves.note(len(claimed), 0)
}

// drop gives up shards that other nodes own. Attempts in flight go on, but their outcomes are not
// recorded: the new owner makes those attempts again. If this node claims a shard again before
// another node does, it treats its former self as an owner that died.
func (m *Member) drop(shards []uint16) {
	if len(shards) == 0 {
		return
	}
	for _, s := range shards {
		m.lose(s)
		m.know(s, m.death(m.Name()))
	}
	m.host.Left(shards...)
	m.log.Warn("shards lost to other nodes", "lost", len(shards), "shards", len(m.Shards()))
}

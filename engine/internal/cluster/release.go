package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/internal/sleep"
)

// How shards move to the nodes that should own them.
const (
	rebalanceEvery  = 200 * time.Millisecond
	rebalanceAtOnce = 4
	freeWithin      = 6 * time.Second // bounds a release, which waits for the commits in flight
	keepWithin      = time.Second     // at a stop: for more tries to keep deaths, and for a release that is under way
	drainFor        = 2 * time.Second // for attempts that cannot be handed over; then the shard stays until they have ended
)

// surplusShards are shards of this node that other nodes should own.
type surplusShards struct {
	mu     locks.Mutex
	shards []uint16
	wake   sleep.Waker
}

// set replaces the shards, and wakes Rebalance.
func (g *surplusShards) set(shards []uint16) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shards = shards
	g.wake.Wake()
}

func (g *surplusShards) next() (shard uint16, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.shards) == 0 {
		return 0, false
	}
	shard = g.shards[0]
	g.shards = g.shards[1:]
	return shard, true
}

// Rebalance is the goroutine that releases surplus shards.
func (m *Member) Rebalance(ctx context.Context) error {
	var giving sync.WaitGroup
	defer giving.Wait()
	room := make(chan struct{}, rebalanceAtOnce)
	for ctx.Err() == nil {
		shard, ok := m.surplusShards.next()
		if !ok {
			select {
			case <-m.surplusShards.wake:
			case <-ctx.Done():
			}
			continue
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		giving.Go(func() {
			defer func() { <-room }()
			m.handOff(ctx, shard)
		})
		sleep.For(ctx, rebalanceEvery)
	}
	return nil
}

// handOff passes a shard to the node that should own it: no new attempt starts, attempts in flight
// are recorded or handed over, and then the shard is released. If an attempt can be neither, the
// shard stays and continues until that attempt has ended.
func (m *Member) handOff(ctx context.Context, shard uint16) {
	m.claiming.Lock()
	should := ownerOf(shard, m.roster.live)
	m.claiming.Unlock()
	if should == m.Name() || m.host.Stuck(shard) || !m.beginRelease(shard) {
		return
	}
	m.host.Left(shard)
	patience, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	drained := m.host.Drain(patience, shard)
	switch {
	case ctx.Err() != nil: // the node stops, and Depart releases the shard
	case drained:
		// A stop lets a release go on for keepWithin. If the release were interrupted, its outcome
		// would be unknown, and Depart would keep the shard.
		release, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(keepWithin, cancel) })()
		m.free(release, shard, Hint{})
	default:
		m.takeBack(shard)
	}
}

// takeBack resumes a shard that was left and cannot be released yet.
func (m *Member) takeBack(shard uint16) {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	if lease, ok := m.lease(shard); ok && m.isReleasing(shard) {
		m.host.Stick(shard)
		m.gain([]gain{{lease: lease}})
	}
}

// free releases a shard that has nothing in flight, and tells the node that should own it.
func (m *Member) free(ctx context.Context, shard uint16, h Hint) {
	ctx, cancel := context.WithTimeout(ctx, freeWithin)
	defer cancel()
	m.claiming.Lock()
	defer m.claiming.Unlock()
	lease, ok := m.lease(shard)
	if !ok || !m.isReleasing(shard) {
		return // lost, or claimed again meanwhile
	}
	err := m.keepDeaths(ctx, shard)
	if err == nil {
		err = m.store.Release(ctx, m.Name(), lease)
	}
	switch {
	case errors.Is(err, bellman.ErrFenced):
		m.drop([]uint16{shard})
		return
	case err != nil:
		m.log.Error("a shard cannot be released", "shard", shard, "err", err)
		m.keep(shard)
		return
	}
	m.lose(shard)
	m.moves.note(0, 1)
	addr := m.roster.addr(ownerOf(shard, m.others()))
	m.toward(map[uint16]string{shard: addr})
	h.Released = []uint16{shard}
	m.Tell(addr, h)
}

// others returns the names of the other live nodes. The caller holds claiming.
func (m *Member) others() []string {
	self := m.Name()
	return slices.DeleteFunc(slices.Clone(m.roster.live), func(name string) bool { return name == self })
}

// alone reports whether this is the only live node.
func (m *Member) alone() bool {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	return len(m.others()) == 0
}

// Leave ends the registration of this node, and releases the shards that are still its own. After
// an error the shards become free when the node expires, and the next owner takes it for dead.
func (m *Member) Leave(ctx context.Context) error {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	patience, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	var err error
	sleep.Retry(patience, func() bool {
		err = m.keepDeaths(ctx, m.died()...)
		if errors.Is(err, bellman.ErrFenced) {
			err = m.keepOwnDeaths(patience)
		}
		return err == nil || errors.Is(err, bellman.ErrFenced) || errors.Is(err, bellman.ErrClosed)
	})
	if err != nil {
		return err
	}
	return m.store.Leave(ctx, m.Name())
}

// keepOwnDeaths is keepDeaths without the shards that another living node owns. Its claim raised
// the epoch, so no claim of this node that is still under way can succeed.
func (m *Member) keepOwnDeaths(ctx context.Context) error {
	state, err := m.store.State(ctx, m.docs)
	if err != nil {
		return err
	}
	kept := m.died()
	for _, s := range state.Shards {
		if i := slices.Index(kept, s.Shard); i >= 0 && s.Alive && s.Owner != m.Name() {
			kept = slices.Delete(kept, i, i+1)
		}
	}
	return m.keepDeaths(ctx, kept...)
}

// Depart releases all shards, each as soon as none of its attempts is in flight. It returns when
// all are released, or patience ends.
func (m *Member) Depart(patience context.Context) {
	if m.alone() {
		return
	}
	m.TellAll(Hint{Leaving: true})
	owned := m.Shards()
	for _, s := range owned {
		m.beginRelease(s)
	}
	m.host.Left(owned...)
	var giving sync.WaitGroup
	for _, s := range m.all() {
		giving.Go(func() {
			if m.host.Drain(patience, s) && patience.Err() == nil {
				m.free(patience, s, Hint{Leaving: true})
			}
		})
	}
	giving.Wait()
}

package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// How shards move to the nodes that should own them.
const (
	rebalanceEvery  = 200 * time.Millisecond
	rebalanceAtOnce = 4
	drainFor        = 2 * time.Second // for attempts that cannot be handed over; then the shard stays until they have ended
)

// surplusShards are shards of this node that other nodes should own.
type surplusShards struct {
	mu     locks.Mutex
	shards []uint16
	wake   chan struct{}
}

// rebalanceSoon sets the shards that are to be released, one after the other.
func (l *leases) rebalanceSoon(shards []uint16) {
	g := &l.surplusShards
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shards = shards
	select {
	case g.wake <- struct{}{}:
	default:
	}
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

// rebalance is the goroutine that releases surplus shards.
func (l *leases) rebalance(ctx context.Context) error {
	var giving sync.WaitGroup
	defer giving.Wait()
	room := make(chan struct{}, rebalanceAtOnce)
	for ctx.Err() == nil {
		shard, ok := l.surplusShards.next()
		if !ok {
			select {
			case <-l.surplusShards.wake:
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
			l.handOff(ctx, shard)
		})
		nap(ctx, rebalanceEvery, nil)
	}
	return nil
}

// handOff passes a shard to the node that should own it: no new attempt starts, attempts in flight
// are recorded or handed over, and then the shard is released. If an attempt can be neither, the
// shard stays and continues until that attempt has ended.
func (l *leases) handOff(ctx context.Context, shard uint16) {
	l.claiming.Lock()
	should := ownerOf(shard, l.cluster.live)
	l.claiming.Unlock()
	if should == l.name() || l.agenda.stuck(shard) || !l.leave(shard) {
		return
	}
	l.host.left(shard)
	l.host.yieldShare()
	patience, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	switch drained := l.drain(patience, shard); {
	case drained && l.announcer.withdraw(patience, shard) && ctx.Err() == nil:
		l.free(ctx, shard, Hint{})
	case ctx.Err() == nil:
		l.takeBack(shard)
	}
}

// drain waits until all attempts of a shard that was left have ended or were handed over. It
// returns false if ctx ends first.
func (l *leases) drain(ctx context.Context, shard uint16) bool {
	empty := l.agenda.empty(shard)
	quick := time.NewTicker(drainQuick)
	defer quick.Stop()
	for {
		select {
		case <-empty:
			return true
		case <-ctx.Done():
			select {
			case <-empty:
				return true
			default:
				return false
			}
		case <-quick.C:
			l.host.handOver(shard)
		}
	}
}

// takeBack resumes a shard that was left and cannot be released yet.
func (l *leases) takeBack(shard uint16) {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	if lease, ok := l.lease(shard); ok && l.isReleasing(shard) {
		l.agenda.stick(shard)
		l.gain([]gain{{lease: lease, death: l.death(shard)}})
	}
}

// free releases a shard of which nothing is in flight, and tells the node that
// should own it.
func (l *leases) free(ctx context.Context, shard uint16, h Hint) {
	ctx, cancel := context.WithTimeout(ctx, leaseTTL)
	defer cancel()
	l.claiming.Lock()
	defer l.claiming.Unlock()
	lease, ok := l.lease(shard)
	if !ok || !l.isReleasing(shard) {
		return // lost, or claimed again meanwhile
	}
	err := l.store.Release(ctx, l.name(), lease)
	if err != nil && !errors.Is(err, bellman.ErrFenced) {
		l.log.Error("a shard cannot be given back", "shard", shard, "err", err)
		l.keep(shard)
		return
	}
	l.lose(shard, l.clock.now())
	l.moves.note(0, 1)
	addr := l.cluster.addr(ownerOf(shard, l.others()))
	l.toward(shard, addr)
	h.Released = []uint16{shard}
	l.tell(addr, h)
}

// others returns the names of the other live nodes. The caller holds claiming.
func (l *leases) others() []string {
	self := l.name()
	return slices.DeleteFunc(slices.Clone(l.cluster.live), func(name string) bool { return name == self })
}

// alone reports whether this is the only live node.
func (l *leases) alone() bool {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	return len(l.others()) == 0
}

// depart releases all shards, each as soon as none of its attempts is in flight. It returns when
// all are released, or patience ends.
func (l *leases) depart(patience context.Context) {
	if l.alone() {
		return
	}
	l.tellAll(Hint{Leaving: true})
	owned := l.shards()
	for _, s := range owned {
		l.leave(s)
	}
	l.host.left(owned...)
	var giving sync.WaitGroup
	for _, s := range l.all() {
		giving.Go(func() {
			if !l.drain(patience, s) {
				return
			}
			for pause := firstPause; !l.announcer.withdraw(patience, s); pause = min(2*pause, lastPause) {
				nap(patience, pause, nil)
				if patience.Err() != nil {
					return
				}
			}
			if patience.Err() == nil {
				l.free(patience, s, Hint{Leaving: true})
			}
		})
	}
	giving.Wait()
}

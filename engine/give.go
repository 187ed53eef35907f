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

// How shards move to nodes that should own them.
const (
	giveEvery  = 200 * time.Millisecond
	giveAtOnce = 4
	drainFor   = 2 * time.Second // for attempts in flight that cannot be parked; then the shard stays until they have ended
)

// gifts are the shards that other nodes should own.
type gifts struct {
	mu     locks.Mutex
	shards []uint16
	wake   chan struct{}
}

// giving says which shards are to be given back, one after the other.
func (e *Engine) giving(shards []uint16) {
	g := &e.gifts
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shards = shards
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *gifts) next() (shard uint16, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.shards) == 0 {
		return 0, false
	}
	shard = g.shards[0]
	g.shards = g.shards[1:]
	return shard, true
}

// giveBack is the goroutine that gives shards to those who should own them.
func (e *Engine) giveBack(ctx context.Context) error {
	var giving sync.WaitGroup
	defer giving.Wait()
	room := make(chan struct{}, giveAtOnce)
	for ctx.Err() == nil {
		shard, ok := e.gifts.next()
		if !ok {
			select {
			case <-e.gifts.wake:
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
			e.handOff(ctx, shard)
		})
		e.nap(ctx, giveEvery, nil)
	}
	return nil
}

// handOff gives a shard to the node that should own it, in order: nothing more of
// it is started, what is in flight is recorded or parked, and then it is released.
// Where an attempt can be neither, its shard stays, and goes on, until it has ended.
func (e *Engine) handOff(ctx context.Context, shard uint16) {
	l := e.leases
	l.turn.Lock()
	should := ownerOf(shard, e.cluster.live)
	l.turn.Unlock()
	if should == l.name() || e.hand.stuck(shard) || !l.leave(shard) {
		return
	}
	e.forget(e.hand.leave(shard))
	e.yieldShare()
	patience, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	switch drained := e.drain(patience, shard); {
	case drained && e.withdraw(patience, shard) && ctx.Err() == nil:
		e.free(ctx, shard, Hint{})
	case ctx.Err() == nil:
		e.takeBack(shard)
	}
}

// drain waits until nothing of a shard that was left is in flight, but for what is
// parked. It is false if ctx ends before.
func (e *Engine) drain(ctx context.Context, shard uint16) bool {
	empty := e.hand.empty(shard)
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
			e.park(shard)
		}
	}
}

// takeBack attempts the tasks of a shard again that was left and cannot be given back yet.
func (e *Engine) takeBack(shard uint16) {
	l := e.leases
	l.turn.Lock()
	defer l.turn.Unlock()
	if lease, ok := l.lease(shard); ok && l.gives(shard) {
		e.hand.stick(shard)
		e.gain([]gain{{lease: lease, death: l.death(shard)}})
	}
}

// free releases a shard of which nothing is in flight, and tells the node that
// should own it.
func (e *Engine) free(ctx context.Context, shard uint16, h Hint) {
	l := e.leases
	ctx, cancel := context.WithTimeout(ctx, leaseTTL)
	defer cancel()
	l.turn.Lock()
	defer l.turn.Unlock()
	lease, ok := l.lease(shard)
	if !ok || !l.gives(shard) {
		return // lost, or claimed again meanwhile
	}
	err := e.store.Release(ctx, l.name(), lease)
	if err != nil && !errors.Is(err, bellman.ErrFenced) {
		e.log.Error("a shard cannot be given back", "shard", shard, "err", err)
		l.keep(shard)
		return
	}
	l.lose(shard, e.clock.now())
	e.moves.note(0, 1)
	addr := e.cluster.addr(ownerOf(shard, e.others()))
	l.toward(shard, addr)
	h.Released = []uint16{shard}
	e.hint(addr, h)
}

// others are the names of the other live nodes. Call it with the turn.
func (e *Engine) others() []string {
	self := e.leases.name()
	return slices.DeleteFunc(slices.Clone(e.cluster.live), func(name string) bool { return name == self })
}

// alone reports whether no other node is alive.
func (e *Engine) alone() bool {
	e.leases.turn.Lock()
	defer e.leases.turn.Unlock()
	return len(e.others()) == 0
}

// depart gives all shards to the other nodes, each as soon as nothing of it is in
// flight. It returns when all are given back, or a stop has no patience left.
func (e *Engine) depart() {
	l := e.leases
	if e.alone() {
		return
	}
	e.hintAll(Hint{Leaving: true})
	owned := l.shards()
	for _, s := range owned {
		l.leave(s)
	}
	e.forget(e.hand.leave(owned...))
	var giving sync.WaitGroup
	for _, s := range l.all() {
		giving.Go(func() {
			if !e.drain(e.patience, s) {
				return
			}
			for pause := firstPause; !e.withdraw(e.patience, s); pause = min(2*pause, lastPause) {
				e.nap(e.patience, pause, nil)
				if e.patience.Err() != nil {
					return
				}
			}
			if e.patience.Err() == nil {
				e.free(e.patience, s, Hint{Leaving: true})
			}
		})
	}
	giving.Wait()
}

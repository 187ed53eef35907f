package engine

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/store"
)

// How nodes hold their shards. A node stops trusting itself a margin before it is dead to
// the others.
const (
	leaseTTL    = store.LeaseTTL
	leaseBeat   = store.LeaseBeat
	leaseMargin = time.Second
)

// noEpoch is none that a shard ever has.
const noEpoch = -1

// leases are the shards that this node owns, each with its newest epoch. It keeps the node
// registered (beat.go), looks for shards to claim (look.go), and gives back those that should
// be others' (give.go).
type leases struct {
	store  store.Store
	log    *slog.Logger
	clock  *clock
	sole   bool // nobody else writes to the store
	agenda *agenda
	hints  *hints
	host   host
	runner *runner

	pauses    *pauses    // are read with the shards
	announcer *announcer // takes back what was announced and not sent

	base string // the node's name without what sets this incarnation apart

	claiming      chanMutex // held by whoever claims shards or gives them back
	cluster       cluster
	surplusShards surplusShards
	moves         moves
	looks         chan struct{} // wakes keepShards

	mu        locks.RWMutex
	node      store.Node // as it joined last: each time under a new name
	former    []string   // the names before
	total     int        // shards that there are; 0: not known yet
	held      map[uint16]store.Lease
	since     map[uint16]time.Time                   // when they were won, on the monotonic clock
	owned     []uint16                               // of held, those whose tasks are attempted, in order
	releasing map[uint16]bool                        // of held, those that are being given back
	deaths    map[uint16]int64                       // shards whose last owner died: what was due before, Unix ms, may have killed it
	unsent    map[uint16]map[bellman.ID]announcement // see announced
	addrs     map[uint16]string                      // where the owners of other shards are reached, as far as is known
	beat      time.Time                              // when the last beat that was answered was sent, on the monotonic clock
	unsure    bool                                   // the node joined anew, and has not looked at its shards since
	trusted   time.Time                              // on the monotonic clock: until then the shards are ours for sure

	// The monotonic clock stands still while a machine is paused, and the wall clock is set
	// after that: what it gained over the monotonic one since the last beat may be such a pause.
	wall     func() time.Time // nil: nobody else can own a shard, and there is nothing to find out
	beatWall time.Time        // what it said when the last beat was sent that was answered
	resumed  time.Time        // when such a pause was found last, on the monotonic clock
}

// A host attempts the tasks of the shards.
type host interface {
	// gained takes the tasks of shards in hand.
	gained(shards []uint16)

	// left takes what is of these shards out of the hand, but for what is in flight.
	left(shards ...uint16)

	// park parks what is in flight of a shard that was left.
	handOver(shard uint16)

	// reshare makes the part of the limits hold that this node has by its shards. After yieldShare
	// it does so soon, where nothing hurries.
	reshare()
	yieldShare()
}

func newLeases(e *Engine) *leases {
	l := &leases{
		store:         e.store,
		log:           e.log,
		clock:         e.clock,
		sole:          e.sole,
		agenda:        e.agenda,
		hints:         e.hints,
		host:          e,
		runner:        e.runner,
		base:          fmt.Sprintf("%s/%s", e.options.Node, e.options.Process),
		node:          store.Node{Addr: e.options.Addr, Version: e.options.Version, Joined: e.clock.now()},
		claiming:      newChanMutex("leases.claiming"),
		surplusShards: surplusShards{wake: make(chan struct{}, 1)},
		looks:         make(chan struct{}, 1),
		held:          make(map[uint16]store.Lease),
		since:         make(map[uint16]time.Time),
		releasing:     make(map[uint16]bool),
		deaths:        make(map[uint16]int64),
		unsent:        make(map[uint16]map[bellman.ID]announcement),
		addrs:         make(map[uint16]string),
	}
	if !l.sole {
		l.wall = e.options.Wall
	}
	locks.Name(&l.mu, "leases")
	locks.Name(&l.surplusShards.mu, "surplus")
	locks.Name(&l.moves.mu, "moves")
	return l
}

// name returns the name under which this node joined last.
func (l *leases) name() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.node.Name
}

// joined notes that the node is registered under a new name, since a moment
// of the monotonic clock. It trusts nothing until sure.
func (l *leases) joined(node store.Node, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.node.Name != "" {
		l.former = append(l.former, l.node.Name)
	}
	l.note(sent)
	l.node, l.beat, l.unsure = node, sent, true
	l.trusted = time.Time{}
}

// sure notes that what is held was compared with the store.
func (l *leases) sure() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsure = false
	l.trusted = l.beat.Add(leaseTTL - leaseMargin)
}

// trust extends the leases after a beat of this name that was sent at a moment
// of the monotonic clock.
func (l *leases) trust(name string, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if name != l.node.Name || sent.Before(l.beat) {
		return
	}
	l.note(sent)
	l.beat = sent
	if !l.unsure {
		l.trusted = sent.Add(leaseTTL - leaseMargin)
	}
}

// trusting reports whether the shards are this node's for sure.
func (l *leases) trusting() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	now := time.Now()
	return now.Before(l.trusted) && l.gained(now) < l.trusted.Sub(now)
}

// gained is by how much the wall clock was set forward since the last beat. Call it with mu
// held.
func (l *leases) gained(now time.Time) time.Duration {
	if l.wall == nil || l.beatWall.IsZero() {
		return 0
	}
	return l.wall().Round(0).Sub(l.beatWall) - now.Sub(l.beat)
}

// note remembers what the wall clock said when a beat was sent, and whether the machine may
// have been paused since the one before. Call it with mu held, before beat is set.
func (l *leases) note(sent time.Time) {
	if l.wall == nil {
		return
	}
	now := time.Now()
	if l.gained(now) >= leaseMargin {
		l.resumed = now
	}
	l.beatWall = l.wall().Round(0).Add(-now.Sub(sent))
}

// resumedAt is when it was found last that the machine may have been paused.
func (l *leases) resumedAt() time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.resumed
}

// pick returns the shard of a new task, by a random number: one of this node's, or
// where it has none any. While it is not known how many there are, it is a place,
// which says the shard modulo their number.
func (l *leases) pick(random uint16) uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case len(l.owned) > 0:
		return l.owned[int(random)%len(l.owned)]
	case l.total > 0:
		return uint16(int(random) % l.total)
	}
	return random
}

// count returns how many shards there are; 0: it is not known yet.
func (l *leases) count() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.total
}

// shards returns the shards whose tasks this node attempts, in order. They must
// not be changed.
func (l *leases) shards() []uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.owned
}

// lease returns the lease of a shard that is held, also while it is given back.
func (l *leases) lease(shard uint16) (store.Lease, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	lease, ok := l.held[shard]
	return lease, ok
}

// holds reports whether a shard is held, also while it is given back.
func (l *leases) holds(shard uint16) bool {
	_, ok := l.lease(shard)
	return ok
}

// all returns the shards that are held.
func (l *leases) all() []uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Sorted(maps.Keys(l.held))
}

// part is how much of all tasks is this node's, above 0 and up to 1; a node
// without shards counts as if it had one.
func (l *leases) part() float64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.total == 0 {
		return 1
	}
	return float64(max(len(l.owned), 1)) / float64(l.total)
}

// death returns the time, in Unix ms, before which due tasks of a shard may have
// been in flight when its last owner died; 0 if it did not.
func (l *leases) death(shard uint16) int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.deaths[shard]
}

// won notes that a shard is ours under a lease. death is when its last owner was
// found dead, Unix ms; 0 if it gave the shard back.
func (l *leases) won(lease store.Lease, death int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[lease.Shard], l.since[lease.Shard] = lease, time.Now()
	delete(l.releasing, lease.Shard)
	delete(l.addrs, lease.Shard)
	if death == 0 {
		delete(l.deaths, lease.Shard)
	} else {
		l.deaths[lease.Shard] = death
	}
	if i, ok := slices.BinarySearch(l.owned, lease.Shard); !ok {
		l.owned = slices.Insert(slices.Clone(l.owned), i, lease.Shard)
	}
}

// renew notes the newer lease of a shard that is held.
func (l *leases) renew(lease store.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.held[lease.Shard]; ok {
		l.held[lease.Shard] = lease
	}
}

// leave notes that a shard is about to be given back: what is in flight is still
// recorded under its lease. It is false if it is not this node's.
func (l *leases) leave(shard uint16) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := slices.BinarySearch(l.owned, shard)
	if ok {
		l.owned = slices.Delete(slices.Clone(l.owned), i, i+1)
		l.releasing[shard] = true
	}
	return ok
}

// gives reports whether a shard is being given back.
func (l *leases) isReleasing(shard uint16) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.releasing[shard]
}

// keep notes that a shard is not given back after all.
func (l *leases) keep(shard uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.releasing, shard)
}

// lose notes that a shard is no longer held. What was announced in the last hour and not sent stays known:
// the shard may come back before another node has taken the task up.
func (l *leases) lose(shard uint16, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, shard)
	delete(l.since, shard)
	delete(l.releasing, shard)
	delete(l.deaths, shard)
	for id, a := range l.unsent[shard] {
		if a.lost = true; now.Sub(a.at) > time.Hour {
			delete(l.unsent[shard], id)
		} else {
			l.unsent[shard][id] = a
		}
	}
	if i, ok := slices.BinarySearch(l.owned, shard); ok {
		l.owned = slices.Delete(slices.Clone(l.owned), i, i+1)
	}
}

// heldSince is when this node won a shard, on the monotonic clock; zero: it does not hold it.
func (l *leases) heldSince(shard uint16) time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.since[shard]
}

// addr returns where the owner of another node's shard is reached; empty if
// that is not known, or it is this node's.
func (l *leases) addr(shard uint16) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.addrs[shard]
}

// toward notes where the owner of another node's shard is reached.
func (l *leases) toward(shard uint16, addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addrs[shard] = addr
}

// of appends to buf the leases under which the outcomes in ops are written: those of
// the shards that the tasks are of, which may be about to move to others. A shard that
// was lost since they were found recordable is named with an epoch that it never has:
// the store refuses them, and they are sorted again.
func (l *leases) of(ops []*op, buf []store.Lease) []store.Lease {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var seen [1 << 16 / 64]uint64
	name := func(s uint16, must bool) {
		if seen[s/64]&(1<<(s%64)) != 0 {
			return
		}
		if lease, ok := l.held[s]; ok {
			buf = append(buf, lease)
		} else if must {
			buf = append(buf, store.Lease{Shard: s, Epoch: noEpoch})
		} else {
			return
		}
		seen[s/64] |= 1 << (s % 64)
	}
	for _, o := range ops {
		if f := o.flight; f != nil {
			name(f.task.Shard, !f.item.handedOver)
			name(f.change.To.Shard, false)
		}
		if o.change != nil {
			name(o.change.To.Shard, o.own)
		}
	}
	return buf
}

// What the engine does when shards come and go (host).

func (e *Engine) gained(shards []uint16) {
	e.agenda.own(shards)
	e.loader.rescans.all(shards)
	e.loader.wake()
	e.reshare()
}

func (e *Engine) left(shards ...uint16) {
	items := e.agenda.leave(shards...)
	gone := make(map[*item]struct{}, len(items))
	lines := make(map[store.Line]struct{})
	for _, it := range items {
		gone[it] = struct{}{}
		lines[it.Line] = struct{}{}
	}
	for line := range lines {
		e.dispatch.Remove(uint64(line), func(it *item) bool {
			_, ok := gone[it]
			if ok {
				e.runner.contents.release(it)
			}
			return ok
		})
	}
}

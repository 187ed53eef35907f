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

// Times of leases. A node stops trusting its leases a margin before it is dead for the others.
const (
	leaseTTL    = store.LeaseTTL
	leaseBeat   = store.LeaseBeat
	leaseMargin = time.Second
)

// noEpoch is an epoch that no shard ever has.
const noEpoch = -1

// leases holds the shards of this node with their newest epochs. It keeps the node registered
// (beat.go), claims shards (look.go), and releases shards that others should own (release.go).
type leases struct {
	store  store.Store
	log    *slog.Logger
	clock  *clock
	sole   bool // no other process writes to the store
	agenda *agenda
	hints  *hints
	host   host
	runner *runner

	pauses    *pauses    // read together with the shards
	announcer *announcer // withdraws announcements before a release

	base string // the node's name without its unique suffix

	claiming      chanMutex // held by code that claims or releases shards
	cluster       cluster
	surplusShards surplusShards
	moves         moves
	looks         chan struct{} // wakes keepShards

	mu        locks.RWMutex
	node      store.Node // as it last joined, each time under a new name
	former    []string   // earlier names
	total     int        // number of shards; 0: unknown
	held      map[uint16]store.Lease
	since     map[uint16]time.Time                   // when each was claimed, on the monotonic clock
	owned     []uint16                               // of held, those whose tasks are attempted, sorted
	releasing map[uint16]bool                        // of held, those that are being released
	deaths    map[uint16]int64                       // for shards whose last owner died: tasks due before this time, Unix ms, are suspects
	unsent    map[uint16]map[bellman.ID]announcement // see announced
	addrs     map[uint16]string                      // address of the owner of other shards, if known
	beat      time.Time                              // when the last answered heartbeat was sent, on the monotonic clock
	unsure    bool                                   // the node joined again and has not read its shards since
	trusted   time.Time                              // until when the shards are this node's for sure, on the monotonic clock

	// The monotonic clock stands still while a virtual machine is paused, and the wall clock is
	// corrected afterwards. So if the wall clock gains on the monotonic clock between heartbeats,
	// the machine may have been paused.
	wall     func() time.Time // nil: no other process can own a shard
	beatWall time.Time        // wall clock when the last answered heartbeat was sent
	resumed  time.Time        // when such a pause was last found, on the monotonic clock
}

// A host is told which shards come and go.
type host interface {
	// gained starts the attempts of claimed shards.
	gained(shards []uint16)

	// left removes all tasks of these shards from memory, except those in flight.
	left(shards ...uint16)

	// handOver hands over the attempts in flight of a shard that was left.
	handOver(shard uint16)

	// reshare applies the limits for this node's present shards. yieldShare does so soon, if
	// nothing is urgent.
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

// name returns the name under which this node last joined.
func (l *leases) name() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.node.Name
}

// joined records a new name of the node, registered at a moment of the monotonic clock. The leases
// are not trusted until sure.
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

// sure records that the held shards were compared with the store.
func (l *leases) sure() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsure = false
	l.trusted = l.beat.Add(leaseTTL - leaseMargin)
}

// trust extends the leases after an answered heartbeat of this name, sent at a moment of the
// monotonic clock.
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

// gained returns how far the wall clock was set forward since the last heartbeat. The caller holds
// mu.
func (l *leases) gained(now time.Time) time.Duration {
	if l.wall == nil || l.beatWall.IsZero() {
		return 0
	}
	return l.wall().Round(0).Sub(l.beatWall) - now.Sub(l.beat)
}

// note records the wall clock of a heartbeat, and whether the machine may have been paused since
// the one before. The caller holds mu and sets beat afterwards.
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

// resumedAt returns when a pause of the machine was last found, on the monotonic clock.
func (l *leases) resumedAt() time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.resumed
}

// pick returns the shard of a new task for a random number: one of this node's, or any if it has
// none. While the number of shards is unknown, it returns a place, to be taken modulo that number.
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

// count returns the number of shards; 0: unknown.
func (l *leases) count() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.total
}

// shards returns the shards whose tasks this node attempts, sorted. Do not modify the slice.
func (l *leases) shards() []uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.owned
}

// lease returns the lease of a held shard, also while it is being released.
func (l *leases) lease(shard uint16) (store.Lease, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	lease, ok := l.held[shard]
	return lease, ok
}

// holds reports whether a shard is held, also while it is being released.
func (l *leases) holds(shard uint16) bool {
	_, ok := l.lease(shard)
	return ok
}

// all returns the held shards, sorted.
func (l *leases) all() []uint16 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Sorted(maps.Keys(l.held))
}

// part returns this node's fraction of all shards, above 0 and up to 1. A node without shards
// counts as if it had one.
func (l *leases) part() float64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.total == 0 {
		return 1
	}
	return float64(max(len(l.owned), 1)) / float64(l.total)
}

// death returns the time, in Unix ms, before which due tasks of a shard may have been in flight
// when its last owner died; 0 if it did not die.
func (l *leases) death(shard uint16) int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.deaths[shard]
}

// won records a claimed shard. death is when its last owner was found dead, Unix ms; 0 if the owner
// released it.
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

// renew records a newer lease of a held shard.
func (l *leases) renew(lease store.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.held[lease.Shard]; ok {
		l.held[lease.Shard] = lease
	}
}

// leave records that a shard is about to be released: attempts in flight are still recorded under
// its lease. It returns false if the shard is not this node's.
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

// isReleasing reports whether a shard is being released.
func (l *leases) isReleasing(shard uint16) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.releasing[shard]
}

// keep records that a shard is not released after all.
func (l *leases) keep(shard uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.releasing, shard)
}

// lose records that a shard is no longer held. Announcements of the last hour that were not sent
// are remembered: the shard may return before another node has attempted the task.
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

// heldSince returns when this node claimed a shard, on the monotonic clock; zero if it does not
// hold it.
func (l *leases) heldSince(shard uint16) time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.since[shard]
}

// addr returns the address of the owner of another node's shard; empty if unknown.
func (l *leases) addr(shard uint16) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.addrs[shard]
}

// toward records the address of the owner of another node's shard.
func (l *leases) toward(shard uint16, addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addrs[shard] = addr
}

// of appends the leases under which ops are written to buf: those of the shards of their tasks. A
// shard that was lost since recordable is named with noEpoch: the store rejects the batch, and the
// ops are sorted again.
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

// Reactions of the engine to shards that come and go (host).

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

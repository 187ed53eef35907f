// Package cluster makes this process a node among the others that share a store. A [Member] joins
// the cluster, sends heartbeats, claims and releases shards, and knows how long it can trust them.
// It knows nothing of tasks: a [Host] attempts the tasks of the shards, and drains a shard before
// it moves.
//
//	member.go   the shards of this node and their leases, and until when they are trusted
//	beat.go     joining, and heartbeats
//	look.go     reading the other nodes, and claiming the shards that this node should take
//	deaths.go   which owners have died with attempts in flight
//	release.go  releasing the shards that other nodes should own, and all shards at a stop
//	fence.go    what to do when the store rejects a lease
//	share.go    which node should own a shard
//	hints.go    messages between nodes
//	nodes.go    the list of nodes for operators
package cluster

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// Times of leases. A node stops trusting its leases a margin before it is dead for the others. Two
// heartbeats in a row may be lost: the third is sent 300 ms before the registration expires.
const (
	leaseTTL    = store.LeaseTTL
	leaseBeat   = store.LeaseBeat
	leaseMargin = 500 * time.Millisecond

	// beatGap is how long a node is without an answered heartbeat until it no longer believes that
	// another node is dead, because both may miss the same answers. It is less than the least time
	// between the begin of such trouble and the expiry of a node, leaseTTL - leaseBeat.
	beatGap = 2 * leaseBeat
)

// NoEpoch is an epoch that no shard ever has.
const NoEpoch = -1

// A Member is this process as a node of the cluster: its name, and its shards with their newest
// leases. The zero value is a node without shards that was never registered; it answers questions
// only. All methods are safe for concurrent use.
type Member struct {
	store store.Store
	log   *slog.Logger
	clock *clock.Clock
	host  Host
	sole  bool   // no other process writes to the store
	docs  string // the kind of documents that is read together with the shards
	base  string // the node's name without its unique suffix

	hints         *hints
	claiming      locks.Chan // held by code that claims or releases shards
	roster        roster
	surplusShards surplusShards
	moves         moves
	looks         sleep.Waker // wakes KeepShards

	mu        locks.RWMutex
	node      store.Node // as it last joined, each time under a new name
	former    []string   // earlier names
	total     int        // number of shards; 0: unknown
	held      map[uint16]store.Lease
	since     map[uint16]time.Time // when each was claimed, on the monotonic clock
	owned     []uint16             // of held, those whose tasks are attempted, sorted
	releasing map[uint16]bool      // of held, those that are being released
	deaths    map[uint16]Death     // of owners of shards that this node has or is claiming
	addrs     map[uint16]string    // address of the owner of other shards, if known
	beat      time.Time            // when the last answered heartbeat was sent, on the monotonic clock
	unsure    bool                 // the node joined again and has not read its shards since
	regained  time.Time            // when a heartbeat was last answered after a gap, or the node joined again, on the monotonic clock
	trusted   time.Time            // until when the shards are this node's for sure, on the monotonic clock

	// The monotonic clock stands still while a virtual machine is paused, and the wall clock is
	// corrected afterwards. So if the wall clock gains on the monotonic clock between heartbeats,
	// the machine may have been paused.
	wall     func() time.Time // nil: no other process can own a shard
	beatWall time.Time        // wall clock when the last answered heartbeat was sent
	resumed  time.Time        // when such a pause was last found, on the monotonic clock

	measured atomic.Pointer[measured] // nil: not yet, or the store has the clock of this process
}

// A measured says how far the store's clock was ahead of this node's at a look.
type measured struct {
	ahead time.Duration
	at    time.Time // on the monotonic clock
}

// A Host attempts the tasks of a member's shards. The member calls Gained, Left, Lost and Stick
// while it holds its lock for claims.
type Host interface {
	// Gained starts the attempts of claimed shards.
	Gained(shards []uint16)

	// Left removes all tasks of these shards from memory, except those in flight, and starts no
	// more attempts.
	Left(shards ...uint16)

	// Lost reports that a shard is no longer this node's.
	Lost(shard uint16)

	// Drain waits until every attempt of a shard that was left has ended or was handed over, and
	// the store shows no attempt that was announced and not made. It returns false if ctx ends
	// first.
	Drain(ctx context.Context, shard uint16) bool

	// Stuck reports whether the shard was taken back because of an attempt that is still in flight.
	Stuck(shard uint16) bool

	// Stick reports that the shard is taken back because of its attempts in flight.
	Stick(shard uint16)

	// ReadDocs is called before the documents of Options.Docs are read, and its result afterwards.
	ReadDocs() (read func([]store.Doc, error) error)

	// Changed reports that trust or shards may have changed, so that attempts may start or must
	// not.
	Changed()
}

// Options of a member. All but Hint and Addr are required.
type Options struct {
	Store   store.Store
	Log     *slog.Logger
	Clock   *clock.Clock
	Sole    bool   // no other process writes to the store
	Base    string // the node's name; each time it joins it gets another suffix
	Addr    string // where others reach this node; may be empty
	Version string // of the program
	Docs    string // the kind of documents that is read together with the shards

	// Hint sends a hint to the node at addr. Nil: no hints are sent.
	Hint func(ctx context.Context, addr string, h Hint)
}

// New makes a member, which has not joined. Host attempts the tasks of its shards.
func New(o Options, host Host) *Member {
	m := &Member{
		store:         o.Store,
		log:           o.Log,
		clock:         o.Clock,
		host:          host,
		sole:          o.Sole,
		docs:          o.Docs,
		base:          o.Base,
		node:          store.Node{Addr: o.Addr, Version: o.Version, Joined: o.Clock.Now()},
		hints:         newHints(o.Hint),
		claiming:      locks.NewChan("cluster.claiming"),
		surplusShards: surplusShards{wake: sleep.NewWaker()},
		looks:         sleep.NewWaker(),
		held:          make(map[uint16]store.Lease),
		since:         make(map[uint16]time.Time),
		releasing:     make(map[uint16]bool),
		deaths:        make(map[uint16]Death),
		addrs:         make(map[uint16]string),
	}
	if !m.sole {
		m.wall = o.Clock.Wall
	}
	locks.Name(&m.mu, "cluster")
	locks.Name(&m.surplusShards.mu, "surplus")
	locks.Name(&m.moves.mu, "moves")
	locks.Name(&m.hints.mu, "hints")
	return m
}

// Name returns the name under which this node last joined.
func (m *Member) Name() string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.node.Name
}

// joined records a new name of the node, registered at a moment of the monotonic clock. The leases
// are not trusted until sure.
func (m *Member) joined(node store.Node, sent time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node.Name != "" {
		m.former = append(m.former, m.node.Name)
		m.regained = time.Now()
	}
	m.note(sent)
	m.node, m.beat, m.unsure = node, sent, true
	m.trusted = time.Time{}
}

// sure records that the held shards were compared with the store.
func (m *Member) sure() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unsure = false
	m.trusted = m.beat.Add(leaseTTL - leaseMargin)
}

// trust extends the leases after an answered heartbeat of this name, sent at a moment of the
// monotonic clock.
func (m *Member) trust(name string, sent time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if name != m.node.Name || sent.Before(m.beat) {
		return
	}
	m.note(sent)
	if sent.Sub(m.beat) > beatGap {
		m.regained = time.Now()
	}
	m.beat = sent
	if !m.unsure {
		m.trusted = sent.Add(leaseTTL - leaseMargin)
	}
}

// Trusting reports whether the shards are this node's for sure.
func (m *Member) Trusting() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := time.Now()
	return now.Before(m.trusted) && m.gained(now) < m.trusted.Sub(now)
}

// steady reports whether the heartbeats of this node were answered without a gap for a while, and
// when the last gap ended. If they were not, the store may have accepted none of any node: a node
// that expired may be alive, and join again soon.
func (m *Member) steady() (steady bool, regained time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.sole || time.Since(m.beat) < beatGap && time.Since(m.regained) >= freeGrace, m.regained
}

// gained returns how far the wall clock was set forward since the last heartbeat. The caller holds
// mu.
func (m *Member) gained(now time.Time) time.Duration {
	if m.wall == nil || m.beatWall.IsZero() {
		return 0
	}
	return m.wall().Round(0).Sub(m.beatWall) - now.Sub(m.beat)
}

// note records the wall clock of a heartbeat, and whether the machine may have been paused since
// the one before. The caller holds mu and sets beat afterwards.
func (m *Member) note(sent time.Time) {
	if m.wall == nil {
		return
	}
	now := time.Now()
	if m.gained(now) >= leaseMargin {
		m.resumed = now
	}
	m.beatWall = m.wall().Round(0).Add(-now.Sub(sent))
}

// ResumedAt returns when a pause of the machine was last found, on the monotonic clock.
func (m *Member) ResumedAt() time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.resumed
}

// StoreAhead returns how far the store's clock was ahead of this node's when it was last measured,
// give or take the time of a lease. at is that moment, on the monotonic clock; zero: it was never
// measured, or the store has the clock of this process.
func (m *Member) StoreAhead() (ahead time.Duration, at time.Time) {
	if s := m.measured.Load(); s != nil {
		return s.ahead, s.at
	}
	return 0, time.Time{}
}

// Sole reports whether no other process writes to the store.
func (m *Member) Sole() bool { return m.sole }

// Pick returns the shard of a new task for a random number: one of this node's, or any if it has
// none. While the number of shards is unknown, it returns a place, to be taken modulo that number.
func (m *Member) Pick(random uint16) uint16 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case len(m.owned) > 0:
		return m.owned[int(random)%len(m.owned)]
	case m.total > 0:
		return uint16(int(random) % m.total)
	}
	return random
}

// Count returns the number of shards; 0: unknown.
func (m *Member) Count() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.total
}

// Shards returns the shards whose tasks this node attempts, sorted. Do not modify the slice.
func (m *Member) Shards() []uint16 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.owned
}

// lease returns the lease of a held shard, also while it is being released.
func (m *Member) lease(shard uint16) (store.Lease, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	lease, ok := m.held[shard]
	return lease, ok
}

// Holds reports whether a shard is held, also while it is being released.
func (m *Member) Holds(shard uint16) bool {
	_, ok := m.lease(shard)
	return ok
}

// all returns the held shards, sorted.
func (m *Member) all() []uint16 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.held))
}

// Part returns this node's fraction of all shards, above 0 and up to 1. A node without shards
// counts as if it had one.
func (m *Member) Part() float64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.total == 0 {
		return 1
	}
	return float64(max(len(m.owned), 1)) / float64(m.total)
}

// won records a claimed shard.
func (m *Member) won(lease store.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[lease.Shard], m.since[lease.Shard] = lease, time.Now()
	delete(m.releasing, lease.Shard)
	delete(m.addrs, lease.Shard)
	if i, ok := slices.BinarySearch(m.owned, lease.Shard); !ok {
		m.owned = slices.Insert(slices.Clone(m.owned), i, lease.Shard)
	}
}

// renew records a newer lease of a held shard.
func (m *Member) renew(lease store.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[lease.Shard]; ok {
		m.held[lease.Shard] = lease
	}
}

// beginRelease records that a shard is about to be released: attempts in flight are still recorded
// under its lease. It returns false if the shard is not this node's.
func (m *Member) beginRelease(shard uint16) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := slices.BinarySearch(m.owned, shard)
	if ok {
		m.owned = slices.Delete(slices.Clone(m.owned), i, i+1)
		m.releasing[shard] = true
	}
	return ok
}

// isReleasing reports whether a shard is being released.
func (m *Member) isReleasing(shard uint16) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.releasing[shard]
}

// keep records that a shard is not released after all.
func (m *Member) keep(shard uint16) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releasing, shard)
}

// lose records that a shard is no longer held.
func (m *Member) lose(shard uint16) {
	m.host.Lost(shard)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, shard)
	delete(m.since, shard)
	delete(m.releasing, shard)
	delete(m.deaths, shard)
	if i, ok := slices.BinarySearch(m.owned, shard); ok {
		m.owned = slices.Delete(slices.Clone(m.owned), i, i+1)
	}
}

// HeldSince returns when this node claimed a shard, on the monotonic clock; zero if it does not
// hold it.
func (m *Member) HeldSince(shard uint16) time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.since[shard]
}

// Addr returns the address of the owner of another node's shard; empty if unknown.
func (m *Member) Addr(shard uint16) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.addrs[shard]
}

// toward records the addresses of the owners of other nodes' shards.
func (m *Member) toward(addrs map[uint16]string) {
	if len(addrs) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.addrs, addrs)
}

// Leases appends to buf the leases of some shards, each shard once. A shard that is not held is
// left out; if its second value is true, it is named with NoEpoch, so that the store rejects the
// batch.
func (m *Member) Leases(buf []store.Lease, shards iter.Seq2[uint16, bool]) []store.Lease {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var seen [1 << 16 / 64]uint64
	for s, must := range shards {
		if seen[s/64]&(1<<(s%64)) != 0 {
			continue
		}
		if lease, ok := m.held[s]; ok {
			buf = append(buf, lease)
		} else if must {
			buf = append(buf, store.Lease{Shard: s, Epoch: NoEpoch})
		} else {
			continue
		}
		seen[s/64] |= 1 << (s % 64)
	}
	return buf
}

// Share returns the shards whose tasks this node attempts, sorted, and the number of all shards; 0:
// unknown. Do not modify the slice.
func (m *Member) Share() (owned []uint16, total int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.owned, m.total
}

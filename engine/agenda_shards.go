package engine

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// A leaving is a shard that was left while attempts of its tasks were in flight.
type leaving struct {
	flights int
	landed  chan struct{} // closed when flights is 0
}

// owns reports whether tasks of a shard may be in the agenda. The caller holds mu.
func (h *agenda) owns(shard uint16) bool { return h.shards[shard/64]&(1<<(shard%64)) != 0 }

// keeps reports whether a task may be added that was read when the counter takes had the value
// since. If the shard was claimed after that, the loader reads the task again. The caller holds mu.
func (h *agenda) keeps(shard uint16, since uint64, look int64) bool {
	owned := h.owns(shard)
	if owned && h.took[shard] > since {
		h.miss(look)
		return false
	}
	return owned
}

// An asOf is the moment just before a page was read or a commit was sent.
type asOf struct {
	takes uint64                // number of claims of this node before that moment
	at    time.Time             // that moment, on the monotonic clock
	left  map[bellman.ID]uint32 // tasks that left the agenda since, with their versions; nil: not followed
}

// past reports whether this version of a task, or a later one, left the agenda since then.
func (a *asOf) past(id bellman.ID, version uint32) bool {
	left, ok := a.left[id]
	return ok && left >= version
}

// taken returns this moment, for commits whose tasks cannot leave the agenda meanwhile.
func (h *agenda) taken() *asOf {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &asOf{takes: h.takes, at: time.Now()}
}

// follow returns this moment, and records tasks that leave the agenda until unfollow.
func (h *agenda) follow() *asOf {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.followed()
}

func (h *agenda) unfollow(a *asOf) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unfollowed(a)
}

// followed is follow for a caller that holds mu.
func (h *agenda) followed() *asOf {
	a := &asOf{h.takes, time.Now(), make(map[bellman.ID]uint32)}
	h.following = append(h.following, a)
	return a
}

func (h *agenda) unfollowed(a *asOf) {
	if i := slices.Index(h.following, a); i >= 0 {
		h.following = slices.Delete(h.following, i, i+1)
	}
}

// own admits tasks of shards that were claimed.
func (h *agenda) own(shards []uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.takes++
	for _, s := range shards {
		if !h.owns(s) {
			h.took[s] = h.takes
		}
		h.shards[s/64] |= 1 << (s % 64)
		delete(h.leaving, s)
	}
}

// leave removes all tasks of these shards except those in flight, and admits no more. It returns
// items that may be in lines.
func (h *agenda) leave(shards ...uint16) (gone []*item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := make(map[uint16]*leaving, len(shards))
	for _, s := range shards {
		h.shards[s/64] &^= 1 << (s % 64)
		of[s] = &leaving{landed: make(chan struct{})}
		delete(h.leaving, s)
	}
	for _, it := range h.items {
		l := of[it.Shard]
		switch {
		case l == nil, it.place == inFlight && it.handedOver:
		case it.place == inFlight:
			l.flights++
		default:
			h.remove(it)
			if it.place == inLine {
				gone = append(gone, it)
			}
		}
	}
	for s, l := range of {
		if l.flights == 0 {
			close(l.landed)
			continue
		}
		h.leaving[s] = l
	}
	return gone
}

// empty returns a channel that is closed when no attempt of a shard that was left is in flight,
// except attempts that were handed over.
func (h *agenda) empty(shard uint16) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.leaving[shard]; l != nil {
		return l.landed
	}
	done := make(chan struct{})
	close(done)
	return done
}

// landed notes that an item of a shard is no longer in flight. The caller holds mu.
func (h *agenda) landed(shard uint16) {
	l := h.leaving[shard]
	if l == nil {
		return
	}
	if l.flights--; l.flights == 0 {
		close(l.landed)
		delete(h.leaving, shard)
	}
}

package engine

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

// A leaving shard is one that was left while attempts of its tasks were in flight.
type leaving struct {
	flights int
	landed  chan struct{} // closed when there are none
}

// owns reports whether tasks of a shard may be taken in hand. Call it with mu
// held.
func (h *agenda) owns(shard uint16) bool { return h.shards[shard/64]&(1<<(shard%64)) != 0 }

// keeps reports whether a task of a shard, with such a look, may be taken in hand as it
// was when takes was since. Where the shard was taken only after that, the loader goes back
// to it. Call it with mu held.
func (h *agenda) keeps(shard uint16, since uint64, look int64) bool {
	owned := h.owns(shard)
	if owned && h.took[shard] > since {
		h.miss(look)
		return false
	}
	return owned
}

// An asOf is the moment just before something was read, or sent to be committed.
type asOf struct {
	takes uint64                // how often this node had taken shards by then
	at    time.Time             // on the monotonic clock
	left  map[bellman.ID]uint32 // what has left the hand since, and its version then; nil: that is not followed
}

// past reports whether a task of this version left the hand since, or one of a later version.
func (a *asOf) past(id bellman.ID, version uint32) bool {
	left, ok := a.left[id]
	return ok && left >= version
}

// taken is the present moment: for what is committed from now on, and cannot leave the hand meanwhile.
func (h *agenda) taken() *asOf {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &asOf{takes: h.takes, at: time.Now()}
}

// follow is the present moment. What leaves the hand is remembered until unfollow.
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

// followed is follow. Call it with mu held.
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

// own lets tasks of shards be taken in hand.
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

// leave takes what is of these shards out of the hand, but for what is in flight,
// and lets nothing of them in again. It returns the items that may be in lines.
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

// empty returns a channel that is closed when nothing of a shard that was left is
// in flight any more, and recorded if it could be.
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

// landed notes that an item of a shard is no longer in flight. Call it with mu
// held.
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

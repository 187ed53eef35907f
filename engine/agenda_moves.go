package engine

import "slices"

// These methods of the agenda are for shards that come to this node and leave it. An attempt that is
// in flight while its shard moves ends here, is handed over, or keeps the shard here until it ends.

// own admits tasks of shards that were claimed.
func (a *agenda) own(shards []uint16) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shards.add(shards)
}

// owns reports whether tasks of a shard may be in the agenda.
func (a *agenda) owns(shard uint16) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shards.has(shard)
}

// leave removes all tasks of these shards except those in flight, and admits no more. It returns
// items that may be in lines.
func (a *agenda) leave(shards ...uint16) (gone []*item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	flights := make(map[uint16]int, len(shards))
	for _, s := range shards {
		flights[s] = 0
	}
	for _, it := range a.items {
		n, left := flights[it.Shard]
		switch {
		case !left, it.place == inFlight && it.handedOver:
		case it.place == inFlight:
			flights[it.Shard] = n + 1
		default:
			a.remove(it)
			if it.place == inLine {
				gone = append(gone, it)
			}
		}
	}
	for s, n := range flights {
		a.shards.remove(s, n)
	}
	return gone
}

// empty returns a channel that is closed when no attempt of a shard that was left is in flight,
// except attempts that were handed over.
func (a *agenda) empty(shard uint16) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.shards.empty(shard)
}

// inFlightOf returns the items in flight of a shard that were not handed over. The caller holds mu.
func (a *agenda) inFlightOf(shard uint16) (items []*item) {
	for _, it := range a.items {
		if it.Shard == shard && it.place == inFlight && !it.handedOver {
			items = append(items, it)
		}
	}
	return items
}

// flights returns the attempts of a shard that was left and that can be handed over. An attempt
// that has not begun will not start, so its item lands soon.
func (a *agenda) flights(shard uint16) []*item {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shards.leaving[shard] == nil {
		return nil
	}
	return slices.DeleteFunc(a.inFlightOf(shard), func(it *item) bool { return it.deferral || it.stays || !it.begun })
}

// handOver marks an item in flight as handed over: its shard may move.
func (a *agenda) handOver(it *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if it.place == inFlight && !it.gone && !it.handedOver {
		a.shards.landed(it.Shard)
	}
	it.handedOver = true
}

// keepHere notes that an attempt in flight cannot be handed over.
func (a *agenda) keepHere(it *item) {
	a.mu.Lock()
	defer a.mu.Unlock()
	it.stays = true
}

// stick notes that a shard is taken back because of its attempts in flight.
func (a *agenda) stick(shard uint16) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, it := range a.inFlightOf(shard) {
		if !it.deferral {
			it.stays = true
		}
	}
}

// stuck reports whether the shard was taken back because of an attempt that is still in flight.
func (a *agenda) stuck(shard uint16) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.inFlightOf(shard), func(it *item) bool { return it.stays })
}

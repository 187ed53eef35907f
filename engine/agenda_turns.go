package engine

import "github.com/bellmanhq/bellman"

// agendaTurns hold the item in flight of each ordering key. The mutex of the agenda guards them.
type agendaTurns struct {
	inFlight map[chain]*item
	freed    func(chain) // called when an item lands for which another task of its key waited
}

// begin marks the turn of an item's chain as taken. ok is false if another item of the chain has
// it, which is returned.
func (t *agendaTurns) begin(it *item) (other bellman.ID, ok bool) {
	c := chainOf(it.task)
	if by := t.inFlight[c]; by != nil {
		by.awaited = true
		return by.ID, false
	}
	t.inFlight[c], it.chain = it, &c
	return other, true
}

// end ends the turn of an item, if it has it.
func (t *agendaTurns) end(it *item) {
	if it.chain == nil || t.inFlight[*it.chain] != it {
		return
	}
	delete(t.inFlight, *it.chain)
	if it.awaited {
		t.freed(*it.chain)
	}
}

// await reports whether a task of a chain is in flight. If so, freed is called when it lands.
func (t *agendaTurns) await(c chain) bool {
	it := t.inFlight[c]
	if it == nil {
		return false
	}
	it.awaited = true
	return true
}

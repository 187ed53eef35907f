package deliver

import (
	"hash/maphash"
	"sync/atomic"
)

// addresses remembers URLs that were parsed lately: a merchant's is the same for
// many tasks, and is looked at when a task is accepted and at each attempt.
type addresses struct {
	seed  maphash.Seed
	slots [1024]atomic.Pointer[known]
}

// known is what parseAddress made of a text.
type known struct {
	text    string
	address address
}

func newAddresses() *addresses { return &addresses{seed: maphash.MakeSeed()} }

// parse is parseAddress. The URL of what it returns is shared, and must not be
// changed.
func (a *addresses) parse(text string) (address, error) {
	slot := &a.slots[maphash.String(a.seed, text)%uint64(len(a.slots))]
	if k := slot.Load(); k != nil && k.text == text {
		return k.address, nil
	}
	to, err := parseAddress(text)
	if err == nil {
		slot.Store(&known{text, to})
	}
	return to, err
}

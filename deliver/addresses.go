package deliver

import (
	"hash/maphash"
	"sync/atomic"
)

// addresses caches parsed URLs. Many tasks of a merchant have the same URL, and a URL is parsed
// when a task is accepted and at each attempt.
type addresses struct {
	seed  maphash.Seed
	slots [8192]atomic.Pointer[known]
}

// A known is a URL with its parsed form.
type known struct {
	text    string
	address address
}

func newAddresses() *addresses { return &addresses{seed: maphash.MakeSeed()} }

// parse is parseAddress with the cache. The result is shared: do not modify its URL.
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

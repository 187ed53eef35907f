package access

import (
	"net/netip"
	"sync"
	"time"
)

// maxAddresses are remembered by a Limit. Beyond it the one is forgotten whose window ends
// first, of some that are looked at.
const maxAddresses = 10_000

// A Limit counts tries from an address: Most within Window, until that has passed. It is
// safe for concurrent use.
type Limit struct {
	Most   int
	Window time.Duration

	mu   sync.Mutex
	from map[netip.Prefix]*tries
}

type tries struct {
	n     int
	named map[string]int // of them, by the name that was tried; at most Most
	until time.Time
}

// Enter counts a try of a name before it is looked at, so that many at once are not
// looked at all. It says how long to wait if there were too many; zero: go on.
func (l *Limit) Enter(from netip.Prefix, name string) time.Duration {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.from[from]
	if t == nil || !now.Before(t.until) {
		if t == nil {
			l.room(now)
		}
		t = &tries{until: now.Add(l.Window), named: map[string]int{}}
		l.from[from] = t
	}
	if t.n >= l.Most {
		return t.until.Sub(now)
	}
	t.n++
	t.named[name]++
	return 0
}

// Over says how long an address has to wait; zero: not at all. It counts nothing.
func (l *Limit) Over(from netip.Prefix) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.from[from]; t != nil && t.n >= l.Most {
		return max(time.Until(t.until), 0)
	}
	return 0
}

// room makes room for one more address.
func (l *Limit) room(now time.Time) {
	if l.from == nil {
		l.from = map[netip.Prefix]*tries{}
	}
	if len(l.from) < maxAddresses {
		return
	}
	const looks = 16 // a map begins at another place each time
	var first netip.Prefix
	var until time.Time
	looked := 0
	for from, t := range l.from {
		if !now.Before(t.until) {
			delete(l.from, from)
		} else if until.IsZero() || t.until.Before(until) {
			first, until = from, t.until
		}
		if looked++; looked == looks {
			break
		}
	}
	if len(l.from) >= maxAddresses {
		delete(l.from, first)
	}
}

// Forgive takes back an address's tries of a name: whoever has it signed in from there.
// Tries of other names stay counted.
func (l *Limit) Forgive(from netip.Prefix, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.from[from]; t != nil {
		t.n -= t.named[name]
		delete(t.named, name)
	}
}

// Network is whom limits are counted by: an IPv4 address, or a network of IPv6, of
// which one customer has all addresses.
func Network(a netip.Addr) netip.Prefix {
	if !a.IsValid() {
		return netip.Prefix{} // not a network's: all count as one
	}
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

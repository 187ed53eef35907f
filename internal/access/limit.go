package access

import (
	"net/netip"
	"sync"
	"time"
)

// maxAddresses is the largest number of addresses that a Limit remembers. Beyond it, of a few
// random addresses the one whose window ends first is dropped.
const maxAddresses = 10_000

// A Limit counts tries for each address: at most Most within a Window. It is safe for concurrent
// use.
type Limit struct {
	Most   int
	Window time.Duration

	mu   sync.Mutex
	from map[netip.Prefix]*tries
}

type tries struct {
	n     int
	named map[string]int // tries by the name that was tried; at most Most names
	until time.Time
}

// Enter counts a try before it is checked, so that concurrent tries cannot exceed the limit. It
// returns how long to wait if there were too many; zero: go on.
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

// Over returns how long an address must wait; zero: not at all. It counts nothing.
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
	const looks = 16 // iteration over a map starts at a random place
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

// Forgive removes an address's tries of a name, after a successful sign-in. Tries of other names
// stay counted.
func (l *Limit) Forgive(from netip.Prefix, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.from[from]; t != nil {
		t.n -= t.named[name]
		delete(t.named, name)
	}
}

// Network returns what limits count by: one IPv4 address, or an IPv6 network, because one customer
// has all its addresses. All invalid addresses count as one.
func Network(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the zero Prefix for an invalid address
	return p
}

package console

import (
	"net/netip"
	"sync"
	"time"
)

// maxAddresses are remembered by a limit; beyond it all are forgotten.
const maxAddresses = 10_000

// A limit counts what comes from an address: most within window, until that has
// passed.
type limit struct {
	most   int
	window time.Duration

	mu   sync.Mutex
	from map[netip.Prefix]*tries
}

type tries struct {
	n     int
	until time.Time
}

// enter counts something before it is looked at, so that many at once are not
// looked at all. It says how long to wait if there were too many; zero: go on.
func (l *limit) enter(from netip.Prefix) time.Duration {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from == nil || len(l.from) >= maxAddresses {
		l.from = map[netip.Prefix]*tries{}
	}
	t := l.from[from]
	if t == nil || !now.Before(t.until) {
		t = &tries{until: now.Add(l.window)}
		l.from[from] = t
	}
	if t.n >= l.most {
		return t.until.Sub(now)
	}
	t.n++
	return 0
}

// forgive forgets an address: somebody signed in from there.
func (l *limit) forgive(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.from, from)
}

// network is whom limits are counted by: an IPv4 address, or a network of IPv6, of
// which one customer has all addresses.
func network(a netip.Addr) netip.Prefix {
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

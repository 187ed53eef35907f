package access

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// A successful sign-in resets the failed tries of its own name only.
func TestForgiveIsForOneName(t *testing.T) {
	l := Limit{Most: 10, Window: time.Minute}
	from := netip.MustParsePrefix("192.0.2.1/32")
	for round := range 10 {
		wait := l.Enter(from, "admin") // with a wrong key
		if (wait > 0) != (round == 10) {
			t.Fatalf("try %d of admin's key: wait %v; want none", round+1, wait)
		}
		if l.Enter(from, "reader") == 0 { // with the right key
			l.Forgive(from, "reader")
		}
	}
	if l.Enter(from, "admin") == 0 || l.Over(from) == 0 {
		t.Error("an eleventh try of admin's key is checked at once; want a wait")
	}
}

// One customer has all addresses of an IPv6 network of 64 bits, and may try as often as with one
// address.
func TestNetwork(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "2001:db8:1:2::7": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::8": "2001:db8:1:2::/64", "2001:db8:1:3::7": "2001:db8:1:3::/64",
	} {
		if got := Network(netip.MustParseAddr(from)); got.String() != want {
			t.Errorf("Network(%s) = %s; want %s", from, got, want)
		}
	}
	if got := Network(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("Network() of no address = %s; want none", got)
	}
}

// Too many tries wait until the window ends, and no longer.
func TestLimitEndsWithItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limit{Most: 2, Window: time.Minute}
		from := netip.MustParsePrefix("192.0.2.1/32")
		l.Forgive(from, "a") // an address that is not known
		for _, tt := range []struct{ after, enter, over time.Duration }{
			{0, 0, 0}, {20 * time.Second, 0, 40 * time.Second}, {10 * time.Second, 30 * time.Second, 30 * time.Second},
			{30 * time.Second, 0, 0}, // a new window
			{59 * time.Second, 0, time.Second}, {2 * time.Second, 0, 0},
		} {
			time.Sleep(tt.after)
			if enter, over := l.Enter(from, "a"), l.Over(from); enter != tt.enter || over != tt.over {
				t.Errorf("%v later: Enter() = %v, then Over() = %v; want %v and %v", tt.after, enter, over, tt.enter, tt.over)
			}
		}
	})
}

// A full table forgets one address, not all; but every address that it sees on the way whose window
// is over.
func TestFullLimitForgetsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limit{Most: 1, Window: time.Minute}
		at := func(i int) netip.Prefix {
			return Network(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
		}
		for i := range maxAddresses + 500 {
			l.Enter(at(i), "")
		}
		kept := 0
		for i := range maxAddresses + 500 {
			if l.Over(at(i)) > 0 {
				kept++
			}
		}
		if kept != maxAddresses {
			t.Errorf("%d addresses are remembered; want %d", kept, maxAddresses)
		}
		time.Sleep(l.Window)
		if l.Enter(at(1<<20), ""); len(l.from) != maxAddresses-16+1 {
			t.Errorf("%d addresses are remembered after all windows have ended; want %d", len(l.from), maxAddresses-16+1)
		}
	})
}

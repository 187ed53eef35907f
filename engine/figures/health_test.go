package figures

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

var h0 = time.Date(2026, 11, 20, 8, 0, 30, 0, time.UTC)

func attempt(at time.Time, result bellman.Result) *bellman.Attempt {
	return &bellman.Attempt{Started: at, Result: result, Error: "e"}
}

// An endpoint has the attempts of this minute and the 59 before it, and its last failure. It stays
// between two attempts that are hours apart if the last one failed.
func TestHealthHasTheLastHour(t *testing.T) {
	var h Health
	at := func(minutes int) time.Time { return h0.Add(time.Duration(minutes) * time.Minute) }
	for _, a := range []struct {
		minutes int
		result  bellman.Result
	}{{0, bellman.Accepted}, {1, bellman.Refused}, {1, bellman.Accepted}, {59, bellman.TimedOut}, {59, bellman.Unknown}, {60, bellman.Unreachable}} {
		h.Attempted(at(a.minutes), "http://a:80", "M1", bellman.ID{}, attempt(at(a.minutes), a.result))
	}
	all := h.Endpoints(at(60))
	if len(all) != 1 || all[0].Attempts != 4 || all[0].Accepted != 1 || all[0].Failed != 2 || !all[0].Since.Equal(at(59)) || all[0].Failure.Result != bellman.Unreachable || !all[0].LastSuccess.Equal(at(1)) {
		t.Errorf("after an hour: %+v; want 4 attempts without the first minute, 1 accepted, failing since minute 59", all)
	}
	_, merchants := h.Named(at(60), &RecentAsk{Merchants: []string{"M1", "M2"}})
	if len(merchants) != 1 || len(merchants[0].Minutes) != 3 || merchants[0].Minutes[0] != (Minute{At: at(1).Unix() / 60, Attempts: 2, Accepted: 1}) {
		t.Errorf("the merchant: %+v; want three minutes with attempts", merchants)
	}
	if all := h.Endpoints(at(7 * 60)); len(all) != 1 || all[0].Attempts != 0 || !all[0].Fails() {
		t.Errorf("six hours later: %+v; want it to be there still, failing", all)
	}
	if all := h.Endpoints(at(26 * 60)); len(all) != 0 {
		t.Errorf("a day later: %+v; want nothing", all)
	}
}

// The number of entries is bounded. Those that do well are forgotten first.
func TestHealthIsBounded(t *testing.T) {
	var h Health
	h.Attempted(h0, "fails", "", bellman.ID{}, attempt(h0, bellman.Refused))
	for i := range 2 * mostHealth {
		h.Attempted(h0.Add(time.Duration(i)*time.Millisecond), fmt.Sprint(i), "", bellman.ID{}, attempt(h0, bellman.Accepted))
	}
	all := h.Endpoints(h0.Add(time.Minute))
	kept := map[string]bool{}
	for _, r := range all {
		kept[r.Name] = true
	}
	if len(all) != mostHealth || !kept["fails"] || kept["0"] || !kept[fmt.Sprint(2*mostHealth-1)] {
		t.Errorf("%d entries, the failing one kept: %t, the oldest: %t; want %d, the failing one and the newest", len(all), kept["fails"], kept["0"], mostHealth)
	}
}

// An endpoint that fails from one node but was reached since from another does not fail.
func TestSumRecent(t *testing.T) {
	var a, b Health
	a.Attempted(h0, "e", "", bellman.ID{}, attempt(h0, bellman.Refused))
	b.Attempted(h0, "e", "", bellman.ID{}, attempt(h0.Add(time.Second), bellman.Accepted))
	ask := &RecentAsk{Endpoints: []string{"e"}}
	x, _ := a.Named(h0, ask)
	y, _ := b.Named(h0, ask)
	f := Sum([]Report{{RecentEndpoints: x}, {RecentEndpoints: y}}, &Ask{Recent: ask})
	if r := f.RecentEndpoints; len(r) != 1 || r[0].Fails() || r[0].Attempts != 2 || r[0].Accepted != 1 || len(r[0].Minutes) != 1 || r[0].Minutes[0].Attempts != 2 || r[0].Failure == nil {
		t.Errorf("the sum is %+v; want 2 attempts of one minute, 1 accepted, not failing, with the last failure", r)
	}
	b.Attempted(h0, "e", "", bellman.ID{}, attempt(h0.Add(2*time.Second), bellman.TimedOut))
	y, _ = b.Named(h0, ask)
	if r := Sum([]Report{{RecentEndpoints: x}, {RecentEndpoints: y}}, &Ask{}).RecentEndpoints; !r[0].Fails() || !r[0].Since.Equal(h0.Add(2*time.Second)) {
		t.Errorf("failing again: %+v; want it to fail since the failure after the success", r)
	}
}

// The minutes of a day can be asked for in larger steps, which begin at the same times on every
// node.
func TestMinutesInSteps(t *testing.T) {
	h := NewHistory(h0)
	for i := range 40 {
		now := h0.Add(time.Duration(i) * time.Minute)
		h.Attempted(now, "q", attempt(now, bellman.Accepted), bellman.Pending)
	}
	h.Claimed(h0, 3)
	ask := &Ask{Minutes: 60, Every: 15}
	f := Sum([]Report{{Minutes: h.Minutes(h0.Add(39*time.Minute), ask)}, {Minutes: h.Minutes(h0.Add(39*time.Minute), ask)}}, ask)
	want := []int64{30, 30, 20}
	if len(f.Minutes) != len(want) {
		t.Fatalf("%d steps; want %d", len(f.Minutes), len(want))
	}
	for i, s := range f.Minutes {
		if n := s.Counts.Attempts[bellman.Accepted]; n != want[i] || s.Since.Minute() != 15*i {
			t.Errorf("step %d: %d attempts since %s; want %d since minute %d", i, n, s.Since, want[i], 15*i)
		}
	}
	if f.Minutes[0].Claimed != 6 {
		t.Errorf("%d shards claimed in the first step; want 6", f.Minutes[0].Claimed)
	}
}

// What each attempt costs: an endpoint and a merchant of a thousand.
func BenchmarkHealth(b *testing.B) {
	var h Health
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("https://merchant-%d.example:443", i)
	}
	a := attempt(h0, bellman.Accepted)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Attempted(h0, names[i%1000], names[i%1000], bellman.ID{}, a)
	}
}

func BenchmarkHistory(b *testing.B) {
	h := NewHistory(h0)
	a := attempt(h0, bellman.Accepted)
	b.ReportAllocs()
	for b.Loop() {
		h.Attempted(h0, "q", a, bellman.Succeeded)
	}
}

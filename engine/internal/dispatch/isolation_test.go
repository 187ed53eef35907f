package dispatch

import (
	"strings"
	"testing"
	"time"
)

// Endpoints that hang or are slow do not delay others, however many there are. This holds if they
// hang from the start and if they were quick before.
func TestSlowDoNotHoldQuick(t *testing.T) {
	// Items of a new good endpoint may wait up to 21 ms for its first answer.
	tests := []struct {
		name     string
		bad      int
		good     int
		took     int64 // duration of attempts at bad endpoints
		out      Outcome
		from     int64 // time from which the endpoints are bad
		rate     int   // items a second for good endpoints
		p99, max int64
	}{
		{"100 of 1000 hang", 100, 900, 30 * s, Down, 0, 2000, ms, 22 * ms},
		{"100 of 1000 hang after 3s", 100, 900, 30 * s, Down, 3 * s, 2000, ms, 22 * ms},
		{"1000 of 1010 hang", 1000, 10, 30 * s, Down, 0, 500, ms, 22 * ms},
		{"1000 of 1010 hang after 3s", 1000, 10, 30 * s, Down, 3 * s, 500, ms, 40 * ms},
		{"1500 of 1510 hang", 1500, 10, 30 * s, Down, 0, 500, ms, 22 * ms},
		{"200 answer after 20s", 200, 800, 20 * s, Accepted, 0, 2000, ms, 22 * ms},
		{"200 answer after 2s", 200, 800, 2 * s, Accepted, 0, 2000, ms, 22 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.answer = func(w *world, j job) (int64, Outcome) {
				if j.endpoint[0] == 'b' && w.now >= tt.from {
					return tt.took, tt.out
				}
				return ms + w.rand.Int64N(20*ms), Accepted
			}
			bad, good := hosts("bad", tt.bad), hosts("good", tt.good)
			end := 40 * s
			if tt.from > 0 { // they were quick once
				w.arrive(bad, 3000, tt.from)
			}
			w.arrive(good, min(tt.rate, 5000/fewer), end)
			w.run(tt.from)
			clear(w.waits)
			each := min(1000, 60000/tt.bad) / min(fewer, 4)
			for _, e := range bad {
				for range each {
					w.push(Rules{Queue: "q", Endpoint: e}, 0)
				}
			}
			// What is taken from the bad ones' lines comes back: they are never empty.
			w.done = func(w *world, j job, out Outcome) {
				if j.endpoint[0] == 'b' {
					w.push(Rules{Queue: "q", Endpoint: j.endpoint}, 1)
				}
			}
			most := 0
			for w.now < end {
				w.run(w.now + 100*ms)
				most = max(most, w.d.core.pool.inFlight)
			}
			if err := w.d.core.check(); err != nil {
				t.Fatal(err)
			}
			isGood := func(e string) bool { return strings.HasPrefix(e, "good") }
			p99, worst := w.quantile(0.99, isGood), w.quantile(1, isGood)
			t.Logf("waits of good ones: p99 %v, max %v; in flight at most %d; %+v",
				time.Duration(p99), time.Duration(worst), most, w.d.Totals())
			if p99 > tt.p99 || worst > tt.max {
				t.Errorf("waits of good ones: p99 %v, max %v; want at most %v, %v",
					time.Duration(p99), time.Duration(worst), time.Duration(tt.p99), time.Duration(tt.max))
			}
		})
	}
}

package dispatch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A channel allows some attempts a second and some at once, and answers to others that they are too
// many.
type channel struct {
	perSecond, burst float64
	tokens           float64
	at               int64
	allowed, refused int
}

func (c *channel) answer(now int64) Outcome {
	c.tokens = min(c.tokens+float64(now-c.at)*c.perSecond/1e9, c.burst)
	c.at = now
	if c.tokens < 1 {
		c.refused++
		return Throttled
	}
	c.tokens--
	c.allowed++
	return Accepted
}

// load pushes perSecond items a second to a queue that is one endpoint.
func (w *world) load(r Rules, perSecond int, until int64) {
	w.push(r, 0)
	if next := w.now + s/int64(perSecond); next < until {
		w.at(next, func() { w.load(r, perSecond, until) })
	}
}

// A channel gets half again as many requests as it allows, and says so. The pace settles close to
// what the channel allows.
func TestPaceFindsWhatAChannelAllows(t *testing.T) {
	tests := []struct {
		perSecond, burst float64
		took             int64
	}{
		{3, 1, 5 * ms},
		{20, 2, 5 * ms},
		{20, 20, 100 * ms},
		{100, 1, 5 * ms},
		{100, 10, 5 * ms},
		{100, 100, 5 * ms},
		{100, 10, 100 * ms},
		{600, 60, 5 * ms},
		{3000, 300, 5 * ms},
		{3000, 300, 100 * ms},
	}
	for _, tt := range tests {
		if tt.perSecond > 6000/fewer {
			continue
		}
		t.Run(fmt.Sprintf("%v a second, %v at once, each takes %v", tt.perSecond, tt.burst, time.Duration(tt.took)), func(t *testing.T) {
			w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
			c := &channel{perSecond: tt.perSecond, burst: tt.burst, tokens: tt.burst}
			w.answer = func(w *world, j job) (int64, Outcome) { return tt.took, c.answer(w.now) }
			w.at(0, func() { w.load(Rules{Queue: "q", Concurrency: 4096}, int(tt.perSecond*1.5+1), 60*s) })
			w.run(20 * s)
			c.allowed, c.refused = 0, 0
			w.run(60 * s)
			used, refused := float64(c.allowed)/tt.perSecond/40, float64(c.refused)/float64(c.allowed+c.refused)
			t.Logf("used %.2f, throttled %.3f", used, refused)
			least, most := 0.8, 0.1
			if tt.perSecond < 10 { // so few answers that one throttled request changes the share
				least, most = 0.7, 0.17
			}
			if used < least || refused > most {
				t.Errorf("%.2f of the allowed rate was used, and %.3f of the requests were throttled; want at least %v, and at most %v", used, refused, least, most)
			}
			if got := w.d.Endpoints()[0].Rate; got < tt.perSecond/2 || got > tt.perSecond*1.5 {
				t.Errorf("Rate = %v for a channel that allows %v; want between half and one and a half of it", got, tt.perSecond)
			}
		})
	}
}

// Throttling answers reduce the rate within two seconds, also if it was unlimited before.
func TestPaceFallsAtOnce(t *testing.T) {
	w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
	c := &channel{perSecond: 1e9, burst: 1e9, tokens: 1e9}
	w.answer = func(w *world, j job) (int64, Outcome) { return 5 * ms, c.answer(w.now) }
	w.at(0, func() { w.load(Rules{Queue: "q", QueueRate: 1000}, 2000, 200*s) })
	w.run(10 * s)
	if got := w.d.Endpoints()[0].Rate; got != 0 || c.refused > 0 {
		t.Fatalf("Rate = %v of a channel that never throttled; want none of its own", got)
	}
	c.perSecond, c.burst, c.tokens = 100, 10, 0
	w.run(12 * s)
	c.allowed, c.refused = 0, 0
	w.run(20 * s)
	if c.refused*10 > c.allowed || c.allowed < 8*80 {
		t.Errorf("%d allowed and %d throttled in the following eight seconds; want few throttled", c.allowed, c.refused)
	}
	// The channel allows everything again: the pace rises to the configured rate, and then ends.
	c.perSecond, c.burst = 1e9, 1e9
	w.run(60 * s)
	before := w.starts
	w.run(70 * s)
	if got := w.d.Endpoints()[0].Rate; got != 0 || w.starts-before < 9900 || w.starts-before > 10100 {
		t.Errorf("Rate = %v, %d attempts in ten seconds; want no pace, and the configured 10000", got, w.starts-before)
	}
}

// An endpoint throttles everything for ten minutes. Its backlog is done soon after.
func TestPaceRisesAfterAnOutage(t *testing.T) {
	w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
	back := int64(600 * s)
	refused := 0
	w.answer = func(w *world, j job) (int64, Outcome) {
		if w.now < back {
			refused++
			return 5 * ms, Throttled
		}
		return 5 * ms, Accepted
	}
	for range 5000 {
		w.push(Rules{Queue: "q", Endpoint: "e"}, 0)
	}
	w.run(back)
	if refused < 500 || refused > 1000 {
		t.Errorf("%d attempts in ten minutes of throttling; want about one a second", refused)
	}
	w.run(back + 60*s)
	if n := w.d.Totals().Waiting; n != 0 {
		t.Errorf("%d items still waiting a minute after the endpoint was back, pace %v; want none", n, w.state().Rate)
	}
	w.run(back + 400*s)
	w.d.Wake(w.now)
	if got := w.state().Rate; got != 0 {
		t.Errorf("Rate = %v five minutes after the endpoint was back; want no pace", got)
	}
}

// A few throttled tasks keep their schedule.
func TestPaceOfAFewTasks(t *testing.T) {
	w := newWorld(t, Options{})
	w.answer = func(w *world, j job) (int64, Outcome) { return 5 * ms, Throttled }
	for at := range int64(50) { // four tasks each 15 seconds
		for range 4 {
			w.at(at*15*s, func() { w.push(Rules{Queue: "q", Endpoint: "e"}, int(at)) })
		}
	}
	w.run(50 * 15 * s)
	if n := len(w.waits["e"]); n != 200 {
		t.Fatalf("%d attempts, want 200", n)
	}
	if late := w.quantile(1, func(string) bool { return true }); late > 15*ms {
		t.Errorf("an attempt was %v late; want no more than the duration of the attempts before it", time.Duration(late))
	}
}

// An endpoint answers 503 to 4 % of its requests, whatever their rate. It keeps nearly its full
// pace, because so few answers do not mean throttling.
func TestPaceOfAFewPercent(t *testing.T) {
	for _, perSecond := range []int{2, 20, 200, 2000} {
		if perSecond > 6000/fewer {
			continue
		}
		t.Run(fmt.Sprintf("%d a second", perSecond), func(t *testing.T) {
			w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
			chance := rand.New(rand.NewPCG(uint64(perSecond), 4))
			asked := 0
			w.answer = func(w *world, j job) (int64, Outcome) {
				if chance.Float64() < 0.04 {
					asked++
					return 5 * ms, Throttled
				}
				return 5 * ms, Accepted
			}
			w.at(0, func() { w.load(Rules{Queue: "q", Endpoint: "e", Concurrency: 4096}, perSecond, 300*s) })
			held := 0
			for range 300 {
				w.run(w.now + s)
				if w.d.Totals().Waiting > perSecond {
					held++
				}
			}
			t.Logf("%d attempts, %d throttled; more items than a second allows waited in %d of 300 s", w.starts, asked, held)
			if held > 3 || w.starts < perSecond*290 {
				t.Errorf("%d of %d attempts were made, and more items than a second allows waited in %d of 300 s; want nearly all, and at most 3", w.starts, perSecond*300, held)
			}
		})
	}
}

// An endpoint that throttles most requests is slowed down soon, at any rate.
func TestPaceOfMostAnswers(t *testing.T) {
	for _, perSecond := range []int{5, 20, 200, 2000} {
		t.Run(fmt.Sprintf("%d a second", perSecond), func(t *testing.T) {
			w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
			chance := rand.New(rand.NewPCG(uint64(perSecond), 5))
			w.answer = func(w *world, j job) (int64, Outcome) {
				if chance.Float64() < 0.9 {
					return 5 * ms, Throttled
				}
				return 5 * ms, Accepted
			}
			w.at(0, func() { w.load(Rules{Queue: "q", Endpoint: "e", Concurrency: 4096}, perSecond, 60*s) })
			w.run(20 * s)
			before := w.starts
			w.run(30 * s)
			if n := w.starts - before; n > 20 || w.state().Rate == 0 {
				t.Errorf("%d attempts in ten seconds, rate %v; want one or two a second", n, w.state().Rate)
			}
		})
	}
}

// An endpoint that throttles a smaller share of its requests is not slowed down more than one with
// a higher share. A share of 5 % leaves nearly the full rate.
func TestPaceFollowsTheShare(t *testing.T) {
	attempts := func(share float64, seed uint64) int {
		w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
		chance := rand.New(rand.NewPCG(seed, 6))
		w.answer = func(w *world, j job) (int64, Outcome) {
			if chance.Float64() < share {
				return 5 * ms, Throttled
			}
			return 5 * ms, Accepted
		}
		w.at(0, func() { w.load(Rules{Queue: "q", Endpoint: "e", Concurrency: 4096}, 100, 120*s) })
		w.run(120 * s)
		return w.starts
	}
	for seed := range uint64(max(5/fewer, 1)) {
		last := 12000
		for _, share := range []float64{0.01, 0.05, 0.3, 0.6, 1} {
			n := attempts(share, seed)
			if n > last+last/20 || share <= 0.05 && n < 11500 || share >= 0.6 && n > 3000 {
				t.Errorf("seed %d, share %v throttled: %d attempts of 12000, and %d with the share before; want the order to follow the share", seed, share, n, last)
			}
			last = n
		}
	}
}

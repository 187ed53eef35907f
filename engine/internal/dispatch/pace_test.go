package dispatch

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A channel allows so many attempts a second, some of them at once, and says of the
// others that they are too many.
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

// load keeps so many items a second coming for a queue that is one endpoint.
func (w *world) load(r Rules, perSecond int, until int64) {
	w.push(r, 0)
	if next := w.now + s/int64(perSecond); next < until {
		w.at(next, func() { w.load(r, perSecond, until) })
	}
}

// A channel that is offered half as much again as it allows, and says so, gets
// hardly more than it allows, and hardly less.
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
			t.Logf("used %.2f, refused %.3f", used, refused)
			least, most := 0.8, 0.1
			if tt.perSecond < 10 { // so few answers that one refusal says little
				least, most = 0.7, 0.17
			}
			if used < least || refused > most {
				t.Errorf("%.2f of what is allowed was used, and %.3f refused; want %v at least and %v at most", used, refused, least, most)
			}
			if got := w.d.Endpoints()[0].Rate; got != 0 && (got < tt.perSecond/2 || got > tt.perSecond*1.5) {
				t.Errorf("Rate = %v of a channel that allows %v", got, tt.perSecond)
			}
		})
	}
}

// What a channel says when it is asked too often brings the attempts down within
// two seconds, to what is configured at most.
func TestPaceFallsAtOnce(t *testing.T) {
	w := newWorld(t, Options{LineBound: 1 << 20, TotalBound: 1 << 20})
	c := &channel{perSecond: 1e9, burst: 1e9, tokens: 1e9}
	w.answer = func(w *world, j job) (int64, Outcome) { return 5 * ms, c.answer(w.now) }
	w.at(0, func() { w.load(Rules{Queue: "q", QueueRate: 1000}, 2000, 200*s) })
	w.run(10 * s)
	if got := w.d.Endpoints()[0].Rate; got != 0 || c.refused > 0 {
		t.Fatalf("Rate = %v of a channel that never asked for less", got)
	}
	c.perSecond, c.burst, c.tokens = 100, 10, 0
	w.run(12 * s)
	c.allowed, c.refused = 0, 0
	w.run(20 * s)
	if c.refused*10 > c.allowed || c.allowed < 8*80 {
		t.Errorf("%d allowed and %d refused in the eight seconds after", c.allowed, c.refused)
	}
	// It allows everything again: the pace rises to what is configured, and is gone.
	c.perSecond, c.burst = 1e9, 1e9
	w.run(60 * s)
	before := w.starts
	w.run(70 * s)
	if got := w.d.Endpoints()[0].Rate; got != 0 || w.starts-before < 9900 || w.starts-before > 10100 {
		t.Errorf("Rate = %v, %d attempts in ten seconds; want none of its own, and the 10000 configured", got, w.starts-before)
	}
}

// An endpoint that turns everything away for ten minutes has its work done soon
// after.
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
		t.Errorf("%d attempts in ten minutes of refusals; want about one a second", refused)
	}
	w.run(back + 60*s)
	if n := w.d.Totals().Waiting; n != 0 {
		t.Errorf("%d still waiting a minute after it was back, pace %v", n, w.state().Rate)
	}
	w.run(back + 400*s)
	w.d.Wake(w.now)
	if got := w.state().Rate; got != 0 {
		t.Errorf("Rate = %v five minutes after", got)
	}
}

// A few tasks that are turned away keep their schedule.
func TestPaceOfAFewTasks(t *testing.T) {
	w := newWorld(t, Options{})
	w.answer = func(w *world, j job) (int64, Outcome) { return 5 * ms, Throttled }
	for at := range int64(50) { // four tasks, each 15 seconds
		for range 4 {
			w.at(at*15*s, func() { w.push(Rules{Queue: "q", Endpoint: "e"}, int(at)) })
		}
	}
	w.run(50 * 15 * s)
	if n := len(w.waits["e"]); n != 200 {
		t.Fatalf("%d attempts, want 200", n)
	}
	if late := w.quantile(1, func(string) bool { return true }); late > 15*ms {
		t.Errorf("an attempt was %v late; want no more than those before it took", time.Duration(late))
	}
}

// An endpoint that answers 503 to 4 % of its requests, whatever their rate, keeps nearly
// its full pace: that is no wish for less.
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
			t.Logf("%d attempts, %d asked for less; more than a second's waited in %d of 300 s", w.starts, asked, held)
			if held > 3 || w.starts < perSecond*290 {
				t.Errorf("%d of %d attempts were made, and in %d of 300 s more than a second's waited; want nearly all, and 3 at most", w.starts, perSecond*300, held)
			}
		})
	}
}

// An endpoint that asks for less in most of its answers is slowed down soon, at any rate.
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

// Whatever share of its answers asks for less, an endpoint is slowed down to no less than
// what a higher share leaves it, and a share of 5 % leaves it nearly all.
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
				t.Errorf("seed %d, %v asked for less: %d attempts of 12000, and %d with a smaller share", seed, share, n, last)
			}
			last = n
		}
	}
}

package dispatch

import (
	"fmt"
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
			if used < 0.8 || refused > 0.1 {
				t.Errorf("%.2f of what is allowed was used, and %.3f refused; want 0.8 at least and 0.1 at most", used, refused)
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

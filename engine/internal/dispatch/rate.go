package dispatch

import "time"

// A rate spaces attempts evenly and allows a burst of 20 ms: the generic cell rate algorithm, a
// token bucket that is kept as one time.
type rate struct {
	every int64 // ns between attempts; 0: no limit
	slack int64 // ns by which an attempt may be ahead of its turn
	turn  int64 // time of the next attempt if they were spaced evenly; 0: there was none
}

const burst = 20 * int64(time.Millisecond)

// set changes the rate; 0 means no limit. The next attempt goes when it would have gone under the
// new rate after the last attempt.
func (r *rate) set(perSecond float64) {
	if perSecond <= 0 {
		*r = rate{}
		return
	}
	every := max(int64(float64(time.Second)/perSecond), 1)
	if r.every != 0 && r.turn != 0 {
		r.turn += every - r.every
	}
	r.every, r.slack = every, max(burst-every, 0)
}

// at returns when the next attempt may go.
func (r *rate) at() int64 {
	if r.every == 0 {
		return minTime
	}
	return r.turn - r.slack
}

func (r *rate) take(now int64) {
	if r.every != 0 {
		r.turn = max(r.turn, now) + r.every
	}
}

// putBack undoes take for an attempt that was not made.
func (r *rate) putBack() { r.turn -= r.every }

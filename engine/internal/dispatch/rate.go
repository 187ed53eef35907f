package dispatch

import "time"

// A rate spaces attempts evenly, with a burst of what 20 ms would bring: the
// generic cell rate algorithm, a token bucket kept as one time.
type rate struct {
	every int64 // ns between attempts; 0: no limit
	slack int64 // ns an attempt may be ahead of its turn
	turn  int64 // when the next attempt would go if they were spaced evenly; 0: none has gone
}

const burst = 20 * int64(time.Millisecond)

// set changes the rate to so many a second; 0 means no limit. The next attempt goes
// when it would if the rate had been this one at the last.
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

// putBack undoes a take whose attempt was not made.
func (r *rate) putBack() { r.turn -= r.every }

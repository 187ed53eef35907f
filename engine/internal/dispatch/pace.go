package dispatch

import (
	"math"
	"time"
)

// How a pace falls and rises.
const (
	paceLately = int64(time.Second)           // length of a stretch; a sample is this stretch and the one before,
	paceSample = 16                           // with at least this many attempts
	paceLeast  = 10 * int64(time.Millisecond) // shortest time over which a rate is measured
	paceMost   = 30 * int64(time.Second)      // older attempts are not part of a sample

	paceCut    = 100 * int64(time.Millisecond) // shortest time between two falls
	paceRest   = 50 * int64(time.Millisecond)  // nothing is sent for this time after a fall
	paceBottom = 1.0                           // smallest pace, in attempts a second
	paceBurst  = 4                             // attempts at once after a while without any

	paceFast   = 2.0                    // growth a second below soft, as a share of the pace
	paceSlow   = 0.05                   // growth a second from soft on, doubled for each
	paceQuiet  = 5 * int64(time.Second) // of this time without a fall,
	paceStep   = 0.005                  // and most growth an attempt, doubled in the same way
	paceForget = 5 * int64(time.Minute) // after this time without a fall the pace ends
)

// A pace is the rate that an endpoint seems to allow since it asked for less. It falls to half of
// the endpoint's recent rate. It rises while it delays attempts: quickly to just below the rate of
// the fall, then slowly, until it is no stricter than the configured rate.
//
// An endpoint asks for less with status 429 or 503. Some endpoints do so now and then for reasons
// of their own. So the share of a sample counts, if it is larger than chance explains.
type pace struct {
	rate              // every is 0 while there is no pace
	perSecond float64 // of rate
	soft      float64
	fell      int64
	rose      int64

	sample stretch // of at least paceSample attempts, since the last fall
	lately stretch
}

// A stretch counts the attempts since a time, and those of the stretch before it.
type stretch struct {
	from, last  int64 // starts of this stretch and of the one before
	now, before sent
}

// A threshold is a share of a sample, the number of standard deviations above it that chance
// explains, and the least number of answers.
type threshold struct {
	share, sigma float64
	least        int32
}

// The share of answers that ask for less above which something happens.
var (
	paceBegin  = threshold{1.0 / 10, 2, 4} // a pace begins
	paceAgain  = threshold{1.0 / 16, 1, 2} // the pace falls
	limitFalls = threshold{1.0 / 20, 2, 4} // the limit of attempts in flight is halved
)

// sent counts attempts that were started, and answers to them that asked for less.
type sent struct{ starts, asked int32 }

// started counts an attempt. A stretch ends after long if it has at least enough attempts, and in
// any case after paceMost.
func (w *stretch) started(now, long int64, enough int32) {
	if since := now - w.from; since >= long && w.now.starts >= enough || since >= paceMost {
		w.last, w.before = w.from, w.now
		if since >= max(2*long, paceMost) || enough == 0 && since >= 2*long {
			w.last, w.before = now, sent{}
		}
		w.from, w.now = now, sent{}
	}
	w.now.starts++
}

func (w *stretch) sum() sent {
	return sent{w.now.starts + w.before.starts, w.now.asked + w.before.asked}
}

// perSecond returns how many attempts a second there were.
func (w *stretch) perSecond(now int64) float64 {
	return float64(w.sum().starts) * 1e9 / float64(max(now-w.last, paceLeast))
}

// tooMany reports whether the share of answers that asked for less is above a threshold by more
// than chance explains.
func (s sent) tooMany(b threshold) bool {
	n := float64(s.starts)
	return s.asked >= b.least && float64(s.asked) > b.share*n+b.sigma*math.Sqrt(b.share*(1-b.share)*n)
}

// started counts an attempt that starts now. more means that other items wait. configured is the
// gap between attempts by the configured rate.
func (p *pace) started(now int64, more bool, configured int64) {
	p.sample.started(now, paceLately, paceSample)
	p.lately.started(now, paceLately, 0)
	if p.every == 0 {
		return
	}
	p.rise(now, more && p.turn >= now-p.every)
	if p.every <= configured || now-p.fell >= paceForget {
		p.rate, p.perSecond = rate{}, 0
	}
	p.take(now)
}

// asked applies an answer that asks for less, to an attempt that began at started: the pace falls,
// once for all attempts in flight. items is the number of items that wait or are in flight. asked
// reports whether there is a pace.
func (p *pace) asked(now, started int64, items int) bool {
	if started >= p.fell {
		p.sample.now.asked++
	}
	few := items < atHand && p.lately.sum().starts < atHand
	switch {
	case p.every == 0 && (few || !p.sample.sum().tooMany(paceBegin)):
		return false
	case p.every != 0 && (started < p.fell || now-p.fell < paceCut || !p.sample.sum().tooMany(paceAgain)):
		return true
	}
	had := p.lately.perSecond(now)
	if p.every != 0 {
		had = min(had, p.perSecond)
	}
	p.sample = stretch{from: now, last: now}
	p.soft = had * 7 / 8
	p.fell, p.rose = now, now
	p.to(had / 2)
	p.turn = max(p.turn, now+p.slack) + paceRest
	return true
}

// rise grows the pace for the time since the last call, if the pace was used up.
func (p *pace) rise(now int64, used bool) {
	dt := float64(min(now-p.rose, int64(time.Second))) / 1e9
	p.rose = now
	switch {
	case !used:
	case p.perSecond < p.soft:
		p.to(min(p.perSecond*(1+paceFast*dt), p.soft))
	default:
		doubled := float64(int64(1) << min((now-p.fell)/paceQuiet, 5))
		p.to(p.perSecond * (1 + min(min(paceSlow*dt, paceStep)*doubled, dt)))
	}
}

func (p *pace) to(perSecond float64) {
	p.perSecond = max(perSecond, paceBottom)
	p.every = max(int64(1e9/p.perSecond), 1)
	p.slack = max(burst, paceBurst*p.every) - p.every
}

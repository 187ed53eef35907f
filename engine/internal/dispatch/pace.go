package dispatch

import (
	"math"
	"time"
)

// How a pace falls and rises.
const (
	paceLately = int64(time.Second)           // in so long and in the same stretch before it …
	paceSample = 16                           // … at least so many attempts are a sample
	paceLeast  = 10 * int64(time.Millisecond) // no rate is measured over less
	paceMost   = 30 * int64(time.Second)      // what is older is not part of a sample

	paceCut    = 100 * int64(time.Millisecond) // once in so long at most
	paceRest   = 50 * int64(time.Millisecond)  // nothing is sent after a fall
	paceBottom = 1.0                           // attempts a second
	paceBurst  = 4                             // attempts at once, after a while without

	paceFast   = 2.0                    // below soft it grows by so much of itself a second,
	paceSlow   = 0.05                   // from there on by so much, doubled for each …
	paceQuiet  = 5 * int64(time.Second) // … that went without a fall,
	paceStep   = 0.005                  // but by no more an attempt, doubled as well
	paceForget = 5 * int64(time.Minute) // without a fall: there is none any more
)

// A pace is the rate that an endpoint seems to allow, since it asked for less. It
// falls to half of what the endpoint had, and rises while it holds something back:
// fast to just below where it fell, then slowly, until it is no stricter than what
// is configured.
//
// An endpoint asks for less when it answers 429 or 503. Some do so now and then for
// reasons of their own, so the share of a sample counts, beyond what chance explains.
type pace struct {
	rate              // there is none while every is 0
	perSecond float64 // of rate
	soft      float64
	fell      int64
	rose      int64

	sample stretch // of at least paceSample attempts, since the last fall
	lately stretch
}

// A stretch counts what was sent since a time, and in the stretch before it.
type stretch struct {
	from, last  int64 // of this one, of the one before
	now, before sent
}

// A bound is a share of a sample, how many standard deviations above it are not chance, and
// how many answers there must be at least.
type bound struct {
	share, sigma float64
	least        int32
}

// When a sample is too many.
var (
	paceBegin  = bound{1.0 / 10, 2, 4} // there is a pace
	paceAgain  = bound{1.0 / 16, 1, 2} // it falls
	limitFalls = bound{1.0 / 20, 2, 4} // the limit of attempts in flight is halved
)

// sent is how many attempts were started, and how many of them were answered by
// asking for less.
type sent struct{ starts, asked int32 }

// started counts an attempt. A stretch ends after so long, once it has so many attempts, and
// in any case after paceMost.
func (w *stretch) started(now, long int64, few int32) {
	if since := now - w.from; since >= long && w.now.starts >= few || since >= paceMost {
		w.last, w.before = w.from, w.now
		if since >= max(2*long, paceMost) || few == 0 && since >= 2*long {
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

// tooMany reports whether more of the attempts than a share were answered by asking for
// less, by more than chance explains.
func (s sent) tooMany(b bound) bool {
	n := float64(s.starts)
	return s.asked >= b.least && float64(s.asked) > b.share*n+b.sigma*math.Sqrt(b.share*(1-b.share)*n)
}

// started counts an attempt that starts now. More says that others wait, and
// configured is the gap between attempts that holds anyway.
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

// asked learns from an answer that asks for less, to an attempt that started then:
// the pace falls, once for the attempts in flight. hand is how many there are,
// waiting or in flight. It reports whether there is a pace.
func (p *pace) asked(now, started int64, hand int) bool {
	if started >= p.fell {
		p.sample.now.asked++
	}
	few := hand < atHand && p.lately.sum().starts < atHand
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

// rise grows the pace, if it was all used, for the time since it was asked last.
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

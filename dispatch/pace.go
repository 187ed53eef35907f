package dispatch

import "time"

// How a pace falls and rises.
const (
	paceShort = 100 * int64(time.Millisecond) // what was sent lately: in this stretch and the one before
	paceLong  = int64(time.Second)            // … so few that they are left alone: fewer than atHand
	paceLeast = 10 * int64(time.Millisecond)  // no rate is measured over less

	paceBegin  = 1.0 / 10                      // of what was sent lately asked for less: there is a pace
	paceAgain  = 1.0 / 16                      // … it falls
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
type pace struct {
	rate              // there is none while every is 0
	perSecond float64 // of rate
	soft      float64
	fell      int64
	rose      int64

	short, long stretch
}

// A stretch counts what was sent since a time, and in the stretch before it.
type stretch struct {
	from, last  int64 // of this one, of the one before
	now, before sent
}

// sent is how many attempts were started, and how many of them were answered by
// asking for less.
type sent struct{ starts, asked int32 }

func (w *stretch) started(now, long int64) {
	if since := now - w.from; since >= long {
		w.last, w.before = w.from, w.now
		if since >= 2*long {
			w.last, w.before = now, sent{}
		}
		w.from, w.now = now, sent{}
	}
	w.now.starts++
}

func (w *stretch) starts() int { return int(w.now.starts + w.before.starts) }

// perSecond returns how many attempts a second there were.
func (w *stretch) perSecond(now int64) float64 {
	return float64(w.starts()) * 1e9 / float64(max(now-w.last, paceLeast))
}

// share returns how many of the attempts were answered by asking for less.
func (w *stretch) share() float64 {
	return float64(w.now.asked+w.before.asked) / float64(max(w.starts(), 1))
}

// started counts an attempt that starts now. More says that others wait, and
// configured is the gap between attempts that holds anyway.
func (p *pace) started(now int64, more bool, configured int64) {
	p.short.started(now, paceShort)
	p.long.started(now, paceLong)
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
	p.short.now.asked++
	share, had := p.short.share(), p.short.perSecond(now)
	switch {
	case p.every == 0 && (share < paceBegin || hand < atHand && p.long.starts() < atHand):
		return false
	case p.every != 0 && (share < paceAgain || started < p.fell || now-p.fell < paceCut):
		return true
	case p.every != 0:
		had = min(had, p.perSecond)
	}
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

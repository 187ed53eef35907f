package order

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// A dice returns a number from 0 to n-1. It is the only source of chance of a simulation, so that
// rapid can shrink it and a seed can repeat it.
type dice func(n int) int

func (d dice) percent(p int) bool { return d(100) >= 100-p } // low numbers are the quiet life

func (d dice) span(most time.Duration) time.Duration {
	return time.Duration(d(int(most/time.Millisecond)+1)) * time.Millisecond
}

func pick[T any](d dice, from ...T) T { return from[d(len(from))] }

// A world is a hostile channel and what really happened there.
type world struct {
	dice   dice
	errors int // percent of answers that say nothing
	lies   int // percent of answers that say something else than what is

	paysAt   time.Time     // zero: nobody ever pays
	stubborn bool          // the payment goes through although the order is closed
	lag      time.Duration // so long a paid order still reads unpaid
	outage   [2]time.Time  // no answer at all in between

	paid     time.Time // zero: not
	refunded bool      // the money went back
	closed   time.Time
}

// pass lets happen what happens until now.
func (w *world) pass(now time.Time) {
	if w.paid.IsZero() && !w.paysAt.IsZero() && !w.paysAt.After(now) {
		if w.closed.IsZero() || w.closed.After(w.paysAt) || w.stubborn {
			w.paid = w.paysAt
		}
	}
}

// visible reports whether an honest answer shows the payment.
func (w *world) visible(now time.Time) bool {
	w.pass(now)
	return !w.paid.IsZero() && !w.paid.Add(w.lag).After(now)
}

func (w *world) silent(now time.Time) bool {
	return now.After(w.outage[0]) && now.Before(w.outage[1]) || w.dice.percent(w.errors)
}

// query answers at some moment between start and end.
func (w *world) query(start, end time.Time) answer {
	at := start.Add(w.dice.span(end.Sub(start)))
	a := answer{act: askQuery}
	switch w.pass(at); {
	case w.silent(at):
		a.throttled = w.dice.percent(30)
		a.retryAfter = w.dice.span(time.Minute)
	case w.visible(at):
		if a.reading = pick(w.dice, Paid, Paid, PaidRefunded); w.refunded || a.reading == PaidRefunded {
			a.reading, w.refunded = PaidRefunded, true
		}
	case w.dice.percent(w.lies):
		a.reading = pick(w.dice, Pending, NotFound, Closed, Revoked, Failed, QueryError)
	case w.paid.IsZero() && !w.closed.IsZero():
		a.reading = pick(w.dice, Closed, Pending, NotFound) // just closed it can read NOTPAY
	case w.paysAt.After(at) && w.paysAt.Sub(at) < 20*time.Second:
		a.reading, a.wait = Pending, pick(w.dice, 5*time.Second, 0)
	default:
		a.reading = pick(w.dice, Pending, NotFound)
	}
	return a
}

// close answers a close or a reverse; what it does may happen without an answer.
func (w *world) close(act string, start, end time.Time) answer {
	at := start.Add(w.dice.span(end.Sub(start)))
	a := answer{act: act}
	w.pass(at)
	lost := w.silent(at)
	if lost && w.dice.percent(50) {
		a.throttled = w.dice.percent(30)
		return a // and nothing was done
	}
	switch {
	case act == askReverse && w.dice.percent(w.lies):
		a.close = pick(w.dice, ClosePaidHint, CloseInFlight, CloseUnknown)
	case act == askReverse:
		w.refunded = !w.paid.IsZero()
		w.closed = at
		a.close = pick(w.dice, CloseDone, CloseAlready)
	case w.dice.percent(w.lies):
		a.close = pick(w.dice, CloseDone, CloseAlready, ClosePaidHint, CloseInFlight, CloseNotExist, CloseUnknown)
	case !w.paid.IsZero():
		a.close = pick(w.dice, ClosePaidHint, CloseInFlight)
	case w.paysAt.After(at) && w.paysAt.Sub(at) < 20*time.Second:
		a.close = CloseInFlight
	default:
		a.close = pick(w.dice, CloseDone, CloseAlready, CloseNotExist)
		if a.close != CloseNotExist && w.closed.IsZero() {
			w.closed = at
		}
	}
	if lost {
		a.close = CloseUnknown
	}
	return a
}

var (
	created = time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)

	pollSchedules = parsed("3s*20, 1m*2, 2m, 3m, 5m*; max 30m", "5s*5", "@ 5s, 30s, 1m, 3m", "30s*10; max 10m",
		"1s, 2s, 4s, 8s", "5s*6, @10m, 1m*", "1m* until 10m, 10m*", "0s", "10s*3 ~20%", "2s*; max 45s")
	confirms       = parsed("0s, 5s, 25s", "0s", "@ 1s, 3s", "10s*2")
	watchSchedules = parsed("30s, 1m*", "10s*3", "5m*", "20m")
)

func parsed(texts ...string) (out []*schedule.Schedule) {
	for _, text := range texts {
		s, err := schedule.Parse(text)
		if err != nil {
			panic(err)
		}
		out = append(out, s)
	}
	return out
}

// somePlan is a plan as some rules make it.
func somePlan(d dice) *plan {
	p := &plan{
		poll: pick(d, pollSchedules...), confirm: pick(d, confirms...),
		began:          created.Add(pick(d, 0, 0, d.span(time.Hour))),
		onExhausted:    pick(d, OnExhaustedClose, OnExhaustedClose, OnExhaustedAlert, OnExhaustedCallback, OnExhaustedReverse),
		channelExpires: d.percent(50),
		lateWatch:      pick(d, 15*time.Minute, time.Minute, -1),
		codeEnds:       created.Add(pick(d, 2*time.Hour, 20*time.Minute)),
	}
	p.reverses = p.onExhausted == OnExhaustedReverse
	if n, finite := p.poll.Attempts(); finite && n > 0 {
		first, _ := p.poll.Gap(0)
		total, _ := p.poll.Total()
		p.pollLast = p.began.Add(first + total)
	}
	if most := p.poll.MaxAge(); most > 0 {
		p.pollMax = p.began.Add(most)
	}
	p.from = created.Add(pick(d, 0, 5*time.Minute, 15*time.Second))
	p.expired = later(created.Add(pick(d, 30*time.Minute, time.Second, 10*time.Second, 15*time.Minute)+pick(d, 0, time.Minute)), p.from)
	p.giveUp = later(p.expired, p.began).Add(pick(d, 24*time.Hour, time.Hour, 5*time.Minute))
	return p
}

func someWorld(d dice, p *plan) *world {
	w := &world{dice: d, errors: pick(d, 0, 5, 30, 80, 97), lies: pick(d, 0, 0, 5, 30)}
	if d.percent(70) {
		// Anywhere, but mostly where it hurts: about the expiry.
		w.paysAt = pick(d, p.expired, p.expired, p.from, created).Add(d.span(2*time.Minute) - 30*time.Second)
		if d.percent(20) {
			w.paysAt = created.Add(d.span(2 * time.Hour))
		}
		w.stubborn = d.percent(30)
		w.lag = pick(d, 0, d.span(time.Second), d.span(40*time.Second), d.span(20*time.Minute))
	}
	if d.percent(20) {
		w.outage[0] = created.Add(d.span(time.Hour))
		w.outage[1] = w.outage[0].Add(d.span(3 * time.Hour))
	}
	return w
}

// A told counts what a life set off.
type told struct {
	decided, undecided, late, alerts, watches int
	until                                     time.Time // the watch goes on
}

func (t *told) add(m move) {
	switch m.tell {
	case tellDecided:
		t.decided++
	case tellUndecided:
		t.undecided++
	case tellLate:
		t.late++
	}
	if m.alert != "" {
		t.alerts++
	}
	if !m.watch.IsZero() {
		t.watches++
		t.until = m.watch
	}
}

// live plays one life with step alone, and returns how it ended. wrong is the broken promise;
// empty: none.
func live(d dice) (end, wrong string) {
	p := somePlan(d)
	w := someWorld(d, p)
	task := &bellman.Task{}
	task.Began = p.began
	l, _ := ParseLife(nil)
	first, _ := p.poll.Next(0, p.began, p.began, 0)
	var sum told
	l, now, wrong := play(d, p, w, task, l, first, &sum)
	if wrong != "" {
		return "", wrong
	}
	early := 0 // alerts before the end
	if l.Reverses >= quickReverses {
		early = 1
	}
	switch {
	case !l.over():
		return "", "the life never ended"
	case l.State == StateUnknown && (sum.decided != 0 || sum.alerts+sum.undecided-early != 1):
		return "", fmt.Sprintf("UNKNOWN, and told %+v", sum)
	case l.State != StateUnknown && (sum.decided != 1 || sum.undecided != 0 || sum.alerts != early):
		return "", fmt.Sprintf("%s, and told %+v", l.State, sum)
	case (sum.watches == 1) != (l.State != StateUnknown && !l.isPaid() && p.lateWatch > 0):
		return "", fmt.Sprintf("%s, and %d watches", l.State, sum.watches)
	case sum.watches == 0:
		return l.State, ""
	}
	decided := time.UnixMilli(l.DecidedAt)
	q := &plan{poll: pick(d, watchSchedules...), began: now, until: sum.until, unborn: l.unborn()}
	q.giveUp = q.until.Add(time.Hour)
	task = &bellman.Task{}
	task.Began = now
	first, _ = q.poll.Next(0, now, now, 0)
	var after told
	wl, _, wrong := play(d, q, w, task, Life{Stage: Watching, State: l.State}, first, &after)
	switch {
	case wrong != "":
		return "", "watch: " + wrong
	case wl.State != l.State:
		return "", "the watch changed the state to " + wl.State
	case after.late > 1 || after.decided+after.undecided > 0:
		return "", fmt.Sprintf("watch: told %+v", after)
	case w.visible(q.until) && after.late == 0 && after.alerts == 0 && !(w.refunded && l.State == Revoked.String()):
		return "", fmt.Sprintf("paid at %v, "+l.State+" at %v, and no late payment by %v", w.paid, decided, q.until)
	}
	if after.late == 1 {
		return "late_payment", ""
	}
	return l.State, ""
}

// play takes a life from attempt to attempt until its task ends.
func play(d dice, p *plan, w *world, task *bellman.Task, life Life, due time.Time, sum *told) (Life, time.Time, string) {
	number := 0
	var last answer // of the attempt just before, whatever became of its record
	for range 4000 {
		started := due.Add(pick(d, 0, 0, 0, d.span(10*time.Millisecond)))
		if d.percent(1) {
			started = due.Add(d.span(2 * time.Hour)) // nobody was there
		}
		task.Before = nil
		if d.percent(3) { // somebody asks
			task.Before = &bellman.Before{Due: due}
			started = later(started.Add(-d.span(time.Minute)), p.began)
		}
		ended := started.Add(pick(d, 0, d.span(50*time.Millisecond), d.span(50*time.Millisecond), d.span(5*time.Second)))
		number++
		l := life.resume(task, number, started)
		var a answer
		switch l.Stage {
		case Close:
			a = w.close(askClose, started, ended)
			switch {
			case !last.unpaid():
				return l, ended, fmt.Sprintf("closed after %+v", last)
			case started.Before(p.from), l.Why == "expired" && started.Before(p.expired):
				return l, ended, "closed too soon"
			case task.Before != nil:
				return l, ended, "closed by hand"
			}
		case Reclosing:
			a = w.close(askClose, started, ended)
			if !p.unborn || !last.unpaid() || last.reading != Pending || task.Before != nil {
				return l, ended, fmt.Sprintf("closed in a watch after %+v", last)
			}
		case Reverse:
			a = w.close(askReverse, started, ended)
			if started.Before(p.from) || !p.reverses || task.Before != nil {
				return l, ended, "reversed too soon, or where nothing is reversed"
			}
		default:
			a = w.query(started, ended)
		}
		last = a
		a.started, a.jitter = started, float64(d(100))/100
		if b := task.Before; b != nil {
			a.aside, a.keep = b.Due.After(started), b.Due
		}
		if d.percent(2) { // the node dies before it could record this
			task.Phase = bellman.Announced
			due = later(due, ended.Add(d.span(time.Minute)))
			if d.percent(50) {
				number-- // and nobody knows that it was made
			}
			continue
		}
		task.Phase, task.Trigger = bellman.Waiting, bellman.BySchedule
		next, m := step(p, l, a, ended)
		next.Number, next.Asked = number, started.UnixMilli()
		sum.add(m)
		if wrong := judge(p, l, next, a, m, ended); wrong != "" {
			return next, ended, fmt.Sprintf("%s: %+v, answered %+v, became %+v with %+v", wrong, l, a, next, m)
		}
		if m.next != bellman.Again {
			return next, ended, ""
		}
		if started.After(p.giveUp.Add(6 * time.Hour)) {
			return next, ended, "it goes on long after give_up"
		}
		life, due = next, later(m.due, ended)
	}
	return life, due, "it takes 4000 attempts"
}

// judge says what is wrong with one step; empty: nothing.
func judge(p *plan, before, after Life, a answer, m move, now time.Time) string {
	took := a.act != askQuery && p.took(&after, a)
	seen := a.act == askQuery && a.reading.Decides() && a.reading.String() == after.State
	switch {
	case after.check() != nil:
		return after.check().Error()
	case !before.watches() && a.reading.IsPaid() && !seen:
		return "a payment was seen and did not win"
	case m.tell == tellDecided && !seen &&
		!(after.State == "CLOSED" && before.Stage == Confirming && a.unpaid()) &&
		!(after.State == "REVOKED" && a.act == askReverse && took) &&
		!(after.State == "FAILED" && a.act == askReverse && took && after.Why == "failed"):
		return "decided by nothing"
	case m.tell == tellLate && !a.reading.IsPaid():
		return "a late payment that nobody saw"
	case m.next == bellman.Again && m.due.IsZero():
		return "no next attempt"
	case m.next == bellman.Again && a.wait > 0 && !a.aside && after.Stage != Reverse && after.Stage != Reclosing && m.due.Before(earlier(now.Add(a.wait), p.giveUp)):
		return "asks again sooner than the channel asked for"
	case m.next == bellman.Again && after.over():
		return "over, and goes on"
	case m.next != bellman.Again && !after.watches() && !after.over():
		return "ends, and is not over"
	case a.aside && m.next == bellman.Again && after.Stage == before.Stage && !m.due.Equal(a.keep):
		return "an attempt out of turn moved the next one"
	}
	return ""
}

func newDice(seed uint64) dice { return rand.New(rand.NewPCG(seed, 0)).IntN }

// The handler with a hostile channel, with tasks and their JSON: each result is notified once,
// whatever found it.
func TestHandlerLives(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 50
	}
	ends := make(map[string]int)
	for i := range n {
		h := newHouse(t, func(r *Rules) {
			r.OnExhausted = []OnExhausted{OnExhaustedClose, OnExhaustedReverse, OnExhaustedAlert, OnExhaustedCallback}[i%4]
			r.GiveUp = time.Hour
		})
		d := dice(newDice(uint64(i)))
		task := h.order()
		p, err := h.handler.plan(task, &Ask{Created: created, Expires: 30 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		w := someWorld(d, p)
		pass := func() (start, end time.Time) {
			start, h.now = h.now, h.now.Add(d.span(3*time.Second))
			return start, h.now
		}
		h.channel.query = func(*Order) QueryAnswer {
			a := w.query(pass())
			return QueryAnswer{Reading: a.reading, Wait: a.wait, Answer: Answer{Throttled: a.throttled, RetryAfter: a.retryAfter}}
		}
		act := func(what string) func(*Order) CloseAnswer {
			return func(*Order) CloseAnswer {
				start, end := pass()
				a := w.close(what, start, end)
				return CloseAnswer{Reading: a.close, Answer: Answer{Throttled: a.throttled, RetryAfter: a.retryAfter}}
			}
		}
		h.channel.close, h.channel.reverse = act(askClose), act(askReverse)
		h.until(task)
		state := StateOf(task)
		watch := h.tasks["orders M1/O1/late_watch"]
		if watch != nil {
			ask, err := ParseAsk(watch.Body)
			if err != nil {
				t.Fatal(err)
			}
			until := ask.Watch.Until
			h.until(watch)
			late := h.tasks["merchant-notify orders/M1/O1/late_payment"] != nil
			if w.visible(until) && !late && watch.Reason != "gave_up" && !(w.refunded && state == "REVOKED") {
				t.Errorf("life %d: decided, paid at %v, and no late payment told", i, w.paid)
			}
		}
		decided := h.tasks["merchant-notify orders/M1/O1/decided"] != nil
		undecided := h.tasks["merchant-notify orders/M1/O1/undecided"] != nil
		if decided != (state != "UNKNOWN") || state == "UNKNOWN" && !undecided && len(h.alerts) == 0 || (watch != nil) != (state == "CLOSED" || state == "REVOKED" || state == "FAILED") {
			t.Errorf("life %d: %s, decided told %t, undecided told %t, alerts %q, watch %t", i, state, decided, undecided, h.alerts, watch != nil)
		}
		ends[state]++
	}
	t.Log(ends)
}

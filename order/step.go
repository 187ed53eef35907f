package order

import (
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// An answer is what one attempt brought, and how it came about.
type answer struct {
	act        string       // query, close or reverse
	reading    Reading      // of a query
	close      CloseReading // of a close or reverse
	throttled  bool
	wait       time.Duration // what the channel asks for
	retryAfter time.Duration
	started    time.Time
	jitter     float64 // in [0,1), for the schedules

	// Of an attempt that somebody asked for, out of turn.
	aside bool
	keep  time.Time // when the next attempt is due all the same
	ended bool      // the task had ended
}

// What an attempt asks the channel, as the log of attempts says it.
const (
	askQuery   = "query"
	askClose   = "close"
	askReverse = "reverse"
)

// unpaid reports whether the answer says in so many words that nobody paid, and
// that nobody is about to.
func (a *answer) unpaid() bool {
	return a.act == askQuery && (a.reading == Pending || a.reading == NotFound) && a.wait == 0 && !a.throttled
}

// A move is what follows from a step.
type move struct {
	next   bellman.Next
	due    time.Time // of the next attempt; the engine makes it no earlier than now
	reason string    // why the task ends
	tell   string    // what the merchant is told: decided, undecided, late; empty: nothing
	watch  time.Time // a watch for a late payment begins, and goes on until then; zero: none
	alert  string    // what somebody has to look at; empty: nothing
}

// step is the protocol: what an answer makes of a life, and what comes next. A
// payment that is seen before the decision wins over everything, and an answer
// that says nothing decides nothing.
//
//	          pending            schedule used up, on_exhausted callback or alert
//	         ┌──────┐           ┌─────────────────────────────────────► UNKNOWN
//	         ▼      │           │                                          ▲
//	────► polling ──┴───────────┤                                          │
//	                            │ expired, or used up                      │ give_up is over
//	             ┌──────────────┴───────────────┐ on_exhausted reverse,    │
//	             ▼                              ▼ or FAILED there          │
//	   ┌──► closing ◄─┐ no answer,          reversing ◄─┐                  │ (from any stage
//	   │         │    │ USERPAYING              │       │ later and later  │  on this level)
//	   │         ├────┘                         │ not   │ until give_up    │
//	   │         │ PENDING or NOT_FOUND         │ paid  │ is over          │
//	   │         ▼ just now                     ▼       │                  │
//	   └────── close ◄─┐ PENDING after       reverse ───┘──────────────────┘
//	paid_hint,   │     │ not_exist              │
//	in_flight,   ▼     │                        ▼
//	unknown   confirming                     REVOKED, or FAILED if that came first
//	             │ still unpaid at the last of confirm
//	             ▼
//	          CLOSED ────► a task of its own: watching ────► late_payment, or nothing
//
// PAID, PAID_REFUNDED, CLOSED, REVOKED and FAILED decide at every stage in which a
// query reads them. A close or reverse that is answered not_exist counts as done if
// the queue says channel_expiry and the last query read NOT_FOUND; otherwise it is
// tried again. CLOSED, REVOKED and FAILED are followed by a watch. After a decision
// only a payment is news: late_payment, once, and the state stays.
func step(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.note(a)
	switch {
	case l.Stage == Watching:
		return watch(p, l, a, now)
	case l.Stage == Reclosing:
		return reclosed(p, l, a, now)
	case a.ended, l.over():
		return look(l, a)
	case a.act == askClose:
		return closed(p, l, a, now)
	case a.act == askReverse:
		return reversed(p, l, a, now)
	case a.reading == Failed && p.reverses:
		if l.Why = "failed"; a.aside && l.Stage == Reversing {
			return l, move{due: a.keep}
		}
		return windUp(p, l, a, now)
	case a.reading.Decides():
		return decide(p, l, a.reading, now)
	case a.aside:
		return l, move{due: a.keep}
	case l.Stage == Confirming:
		return confirm(p, l, a, now)
	case l.Stage == Polling:
		return poll(p, l, a, now)
	}
	return windUp(p, l, a, now)
}

// poll goes on asking until the order has expired or the schedule is used up.
func poll(p *plan, l Life, a answer, now time.Time) (Life, move) {
	if a.says() {
		l.Polls, l.Errors = l.Polls+1, 0
	}
	if !a.started.Before(p.expired) {
		l.Why = "expired"
		return windUp(p, l, a, now)
	}
	if due, over := p.next(&l, a, now); !over {
		return l, move{due: a.notBefore(earlier(due, p.expired), now)}
	}
	l.Why = "exhausted"
	switch p.onExhausted {
	case OnExhaustedCallback:
		return unknown(l, now, move{reason: "exhausted", tell: tellUndecided})
	case OnExhaustedAlert:
		return unknown(l, now, move{reason: "exhausted", alert: "the schedule is used up and nothing is decided"})
	}
	return windUp(p, l, a, now)
}

// windUp comes before each close and each reverse: it goes on only from an answer
// that says in so many words that nobody paid. Only a reverse, which undoes a
// payment too, may follow on ignorance.
func windUp(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.Stage = Closing
	if p.reverses {
		l.Stage = Reversing
	}
	switch {
	case a.started.Before(p.from):
		return l, move{due: a.notBefore(p.from, now)}
	case a.throttled:
	case p.reverses && l.Reverses > 0 && !a.started.Before(p.giveUp):
		return unknown(l, now, move{reason: "reverse_failed", alert: "the payment could not be reversed until give_up was over"})
	case p.reverses:
		l.Stage = Reverse
		return l, move{due: now}
	case a.unpaid():
		l.Stage = Close
		return l, move{due: now}
	}
	return retry(p, l, a, now)
}

// closed reads what became of a close. Whatever is no clear yes leads back to
// the query.
func closed(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.Closes++
	if !p.took(&l, a) {
		if l.Stage = Closing; a.close == CloseInFlight {
			a.wait = inFlight
		}
		return retry(p, l, a, now)
	}
	l.Stage, l.Errors, l.ClosedAt = Confirming, 0, now.UnixMilli()
	due, _ := p.confirm.Next(0, now, now, a.jitter)
	return l, move{due: due}
}

// confirm asks after a close, until the last answer of its schedule. An order that
// the channel did not know when it was closed, and knows now, is closed again: the
// payer scanned the code in between, and nothing was closed.
func confirm(p *plan, l Life, a answer, now time.Time) (Life, move) {
	switch {
	case l.Close == CloseNotExist.String() && a.reading == Pending:
		l.Confirms = 0
		return windUp(p, l, a, now)
	case !a.unpaid():
		return retry(p, l, a, now)
	}
	l.Confirms, l.Errors = l.Confirms+1, 0
	due, over := p.confirm.Next(l.Confirms, time.UnixMilli(l.ClosedAt), a.started, a.jitter)
	if over != "" {
		return decide(p, l, Closed, now)
	}
	return l, move{due: due}
}

// reversed reads what became of a reverse. One that came to nothing, for whatever
// reason, is made again until give_up is over: the first quickReverses of them at
// once, the others after a query, later and later. The last of the quick ones calls
// somebody, who need not wait for the end.
func reversed(p *plan, l Life, a answer, now time.Time) (Life, move) {
	switch {
	case p.took(&l, a) && l.Why == "failed":
		return decide(p, l, Failed, now)
	case p.took(&l, a):
		return decide(p, l, Revoked, now)
	}
	l.Reverses++
	if l.Reverses >= quickReverses || a.close == ClosePaidHint || a.close == CloseNotExist {
		l.Stage = Reversing // to see whether it was paid, or reversed
	}
	gap := max(reverseGap, backoff(l.Reverses-quickReverses+2, maxBackoff))
	m := move{due: earlier(a.notBefore(now.Add(gap), now), later(p.giveUp, now.Add(reverseGap)))}
	if l.Reverses == quickReverses {
		m.alert = "the payment could not be reversed so far: this is tried until give_up is over"
	}
	return l, m
}

// decide ends an order's watch.
func decide(p *plan, l Life, r Reading, now time.Time) (Life, move) {
	l.Stage, l.State, l.DecidedAt = Decided, r.String(), now.UnixMilli()
	m := move{next: bellman.Succeed, reason: l.reason(), tell: tellDecided}
	if p.lateWatch > 0 && !r.IsPaid() {
		m.watch = now.Add(p.lateWatch)
		if l.unborn() { // its code can be paid all the same
			m.watch = later(m.watch, p.codeEnds)
		}
	}
	return l, m
}

// unknown ends an order's watch without a decision, never in silence.
func unknown(l Life, now time.Time, m move) (Life, move) {
	l.Stage, l.State, l.DecidedAt = Decided, StateUnknown, now.UnixMilli()
	m.next = bellman.GiveUp
	return l, m
}

// retry asks again at the same place, later and later, until give_up is over.
func retry(p *plan, l Life, a answer, now time.Time) (Life, move) {
	if !a.started.Before(p.giveUp) {
		return unknown(l, now, move{reason: "gave_up", alert: "nothing could be decided until give_up was over"})
	}
	l.Errors++
	return l, move{due: earlier(a.notBefore(now.Add(backoff(l.Errors, maxBackoff)), now), p.giveUp)}
}

// look is a query of an order that has ended: only a payment is news.
func look(l Life, a answer) (Life, move) {
	m := move{next: bellman.Succeed, reason: l.reason()} // of a task that was begun anew; others stay as they are
	if l.news(a.reading) {
		l.Late = a.reading.String()
		m.tell, m.alert = tellLate, "a payment came late"
	}
	return l, m
}

// watch asks for a payment that comes after CLOSED, REVOKED or FAILED. It ends with
// an answer that could be read, not with an error. An order that the channel did not
// know when it was closed, and knows now, is closed.
func watch(p *plan, l Life, a answer, now time.Time) (Life, move) {
	switch {
	case l.news(a.reading):
		l.Late = a.reading.String()
		return l, move{next: bellman.Succeed, reason: "late_payment", tell: tellLate, alert: "a payment came late"}
	case l.Late != "":
		return l, move{next: bellman.Succeed, reason: "late_payment"}
	case a.aside:
		return l, move{due: a.keep}
	case p.unborn && a.reading == Pending && a.unpaid():
		l.Stage = Reclosing
		return l, move{due: now}
	case !a.says() && !a.started.Before(p.giveUp):
		return l, move{next: bellman.GiveUp, reason: "gave_up", alert: "whether a payment came late is not known"}
	case !a.says():
		l.Errors++
		return l, move{due: a.notBefore(now.Add(backoff(l.Errors, maxBackoff)), now)}
	case !a.started.Before(p.until):
		return l, move{next: bellman.Succeed, reason: "watched"}
	}
	l.Polls, l.Errors = l.Polls+1, 0
	return l, move{due: a.notBefore(p.nextLook(&l, a), now)}
}

// nextLook says when a watch asks again.
func (p *plan) nextLook(l *Life, a answer) time.Time {
	due, over := p.poll.Next(l.Polls, p.began, a.started, a.jitter)
	if over != "" {
		due = p.until
	}
	return earlier(due, p.until)
}

// reclosed goes on with a watch after a close, whatever became of it: the next query
// shows that.
func reclosed(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.Stage = Watching
	l.Closes++
	l.Polls, l.Errors = l.Polls+1, 0
	due := p.nextLook(&l, a)
	if a.close == ClosePaidHint {
		due = now
	}
	return l, move{due: a.notBefore(later(due, now.Add(reverseGap)), now)}
}

// note writes down what was answered last.
func (l *Life) note(a answer) {
	if a.act == askQuery {
		l.Reading = a.reading.String()
	} else {
		l.Close = a.close.String()
	}
}

// notBefore is a due time that the channel's own wishes have moved.
func (a *answer) notBefore(due, now time.Time) time.Time {
	return later(due, now.Add(max(a.wait, min(a.retryAfter, maxRetryAfter))))
}

// says reports whether a query's answer says anything of the order.
func (a *answer) says() bool { return a.reading != QueryError && !a.throttled }

// took reports whether a channel did what a close or reverse asked for. That it knows
// no such order counts only if the last query said the same.
func (p *plan) took(l *Life, a answer) bool {
	return a.close == CloseDone || a.close == CloseAlready || a.close == CloseRefunded ||
		a.close == CloseNotExist && p.channelExpires && l.Reading == NotFound.String()
}

// next says when to poll again, or that the schedule is used up. An answer that
// says nothing uses up none of it, and is made good for until its end; one that
// only asks for fewer requests, until the order expires.
func (p *plan) next(l *Life, a answer, now time.Time) (due time.Time, over bool) {
	end := p.pollMax
	if a.says() {
		var why schedule.End
		due, why = p.poll.Next(l.Polls, p.began, a.started, a.jitter)
		if why == schedule.AttemptsUsedUp {
			return due, true
		}
		if why == "" && (end.IsZero() || !due.After(end)) {
			return due, false
		}
	} else {
		l.Errors++
		due = now.Add(backoff(l.Errors, maxPollBackoff))
		if end.IsZero() {
			end = p.pollLast
		}
		if a.throttled || end.IsZero() || due.Before(end) {
			return due, false
		}
	}
	return end, !a.started.Before(end)
}

// How often and how soon something is tried again that came to nothing.
const (
	firstBackoff   = time.Second
	maxPollBackoff = 30 * time.Second
	maxBackoff     = 5 * time.Minute
	maxRetryAfter  = 10 * time.Minute // of what a channel asks for
	inFlight       = 5 * time.Second  // while the payer types a password
	quickReverses  = 3                // of them each follows the one before after reverseGap, without a query
	reverseGap     = 2 * time.Second
)

// backoff is the wait after the nth attempt in a row that brought nothing.
func backoff(n int, most time.Duration) time.Duration {
	return min(firstBackoff<<min(max(n-1, 0), 20), most)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package order

import (
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// An answer is the result of one attempt and its circumstances.
type answer struct {
	act        string       // query, close or reverse
	reading    Reading      // of a query
	mismatch   string       // why a payment is not the one that the order waits for; empty: it is
	payment    string       // the channel's number of a payment; empty: it does not say
	close      CloseReading // of a close or reverse
	cancels    bool         // of a query: the channel's close gives the money of a payment back
	throttled  bool
	wait       time.Duration // requested by the channel
	retryAfter time.Duration
	started    time.Time
	jitter     float64 // in [0,1), for the schedules

	// For an attempt that a person requested, outside the schedule.
	aside bool
	keep  time.Time // when the next scheduled attempt is due nevertheless
	ended bool      // the task had ended
}

// The actions of attempts, as the log names them.
const (
	askQuery   = "query"
	askClose   = "close"
	askReverse = "reverse"
)

// unpaid reports whether the answer says explicitly that nobody paid and that no payment is in
// progress.
func (a *answer) unpaid() bool {
	return a.act == askQuery && (a.reading == Pending || a.reading == NotFound) && a.wait == 0 && !a.throttled
}

// A move is what follows from a step.
type move struct {
	next   bellman.Next
	due    time.Time // of the next attempt; the engine makes it no earlier than now
	reason string    // why the task ends
	tell   string    // which notification follows: decided, undecided, late or duplicate payment; empty: none

	// Of a duplicate payment: the channel's number, and what the channel says of it.
	payment string
	reading Reading
	watch   time.Time // end of a watch for a late payment that begins now; zero: none
	alert   string    // what a person must check; empty: nothing
	kind    AlertKind // of the alert; empty: AlertUndecided
}

// step is the protocol: it returns the life after an answer, and the next move. A payment that is
// seen before the decision overrides everything. An answer that says nothing decides nothing.
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
// PAID, PAID_REFUNDED, CLOSED, REVOKED and FAILED decide at every stage in which a query reads
// them; but a payment of another amount than the order's makes it UNKNOWN. A close or reverse that
// is answered not_exist counts as done if the queue says channel_expiry and the last query read
// NOT_FOUND; otherwise it is tried again. CLOSED, REVOKED and FAILED are followed by a watch. After
// a decision only a payment is news: late_payment, once, and the state stays.
func step(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.note(a)
	if l.contradicts(a) {
		a.reading = QueryError
	}
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
	case a.reading.IsPaid() && a.mismatch != "":
		return mismatched(l, a, now)
	case a.reading == Failed && p.reverses:
		l.Why = "failed"
		if a.aside && l.Stage == Reversing {
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

// poll goes on polling until the order has expired or the schedule is used up.
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

// windUp precedes each close and each reverse: it goes on only after an answer that says explicitly
// that nobody paid. Only a reverse, which also undoes a payment, may follow without such an answer.
func windUp(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.Stage = Closing
	if p.reverses {
		l.Stage = Reversing
	}
	switch {
	case a.started.Before(p.from):
		return l, move{due: a.notBefore(p.from, now)}
	case a.throttled:
	case p.reverses && (l.Late != "" || l.Mismatch != ""): // a reverse would give back a payment that is known
	case p.reverses && l.Reverses > 0 && !a.started.Before(p.giveUp):
		return unknown(l, now, move{reason: "reverse_failed", alert: "the payment could not be reversed until give_up was over"})
	case p.reverses:
		l.Stage, l.Cancels = Reverse, true
		return l, move{due: now}
	case a.unpaid():
		l.Stage, l.Cancels = Close, l.Cancels || a.cancels
		return l, move{due: now}
	}
	return retry(p, l, a, now)
}

// closed evaluates the answer to a close. Everything but a clear yes leads back to the query.
func closed(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.Closes++
	if !p.took(&l, a) {
		l.Stage = Closing
		if a.close == CloseInFlight {
			a.wait = inFlight
		}
		return retry(p, l, a, now)
	}
	l.Stage, l.Errors, l.ClosedAt = Confirming, 0, now.UnixMilli()
	due, _ := p.confirm.Next(0, now, now, a.jitter)
	return l, move{due: due}
}

// confirm polls after a close, until the last query of its schedule. If the channel did not know
// the order when it was closed and knows it now, the order is closed again: the payer scanned the
// code in between, and the first close had no effect.
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

// reversed evaluates the answer to a reverse. A reverse without success is repeated until give_up
// is over: the first quickReverses at once, the others after a query, with growing pauses. The last
// of the quick ones raises an alert, so that a person can act early.
func reversed(p *plan, l Life, a answer, now time.Time) (Life, move) {
	switch {
	case p.took(&l, a) && l.Why == "failed":
		return decide(p, l, Failed, now)
	case p.took(&l, a):
		return decide(p, l, Revoked, now)
	}
	l.Reverses++
	if l.Reverses >= quickReverses || a.close == ClosePaidHint || a.close == CloseNotExist {
		l.Stage = Reversing // to find out whether it was paid or reversed
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
	if r.IsPaid() {
		l.Late = "" // a payment that was known of an UNKNOWN order is the one that decides now
	}
	if p.lateWatch > 0 && !r.IsPaid() {
		m.watch = now.Add(p.lateWatch)
		if l.unborn() { // its code can still be paid
			m.watch = later(m.watch, p.codeEnds)
		}
	}
	return l, m
}

// unknown ends an order's watch without a decision, always with an alert or a notification.
func unknown(l Life, now time.Time, m move) (Life, move) {
	l.Stage, l.State, l.DecidedAt = Decided, StateUnknown, now.UnixMilli()
	m.next = bellman.GiveUp
	return l, m
}

// mismatched ends an order's watch after a payment of another amount: the order is neither paid nor
// may it be closed, so a person has to look.
func mismatched(l Life, a answer, now time.Time) (Life, move) {
	l.Mismatch = a.mismatch
	return unknown(l, now, move{reason: "amount_mismatch", kind: AlertMismatch, alert: "another amount was paid: " + a.mismatch})
}

// retry repeats the query in the same stage, with growing pauses, until give_up is over.
func retry(p *plan, l Life, a answer, now time.Time) (Life, move) {
	if !a.started.Before(p.giveUp) {
		return unknown(l, now, move{reason: "gave_up", alert: "nothing could be decided until give_up was over"})
	}
	l.Errors++
	return l, move{due: earlier(a.notBefore(now.Add(backoff(l.Errors, maxBackoff)), now), p.giveUp)}
}

// look evaluates a query of an order that has ended: only a payment is news. Another payment than
// the one that is known is a duplicate payment, once each.
func look(l Life, a answer) (Life, move) {
	m := move{next: bellman.Succeed, reason: l.reason()} // for a task that was restarted; an ended one stays ended
	switch wrong := a.reading.IsPaid() && a.mismatch != ""; {
	case l.paidFirst(a):
		l.Payments = []string{hashed(a.payment)}
	case l.paidAgain(a):
		l.Payments = append(slices.Clone(l.Payments), hashed(a.payment))
		m.reading = a.reading
		m.tell, m.payment, m.kind, m.alert = tellDuplicate, a.payment, AlertLate, "the order was paid twice: another payment is "+a.payment
	case wrong && (l.isPaid() || l.State == StateUnknown || l.State == StatePending):
		if l.Mismatch != a.mismatch {
			l.Mismatch = a.mismatch
			m.kind, m.alert = AlertMismatch, "another amount was paid: "+a.mismatch
		}
	case l.news(a.reading):
		l.Late = a.reading.String()
		m.tell, m.kind, m.alert = tellLate, AlertLate, "a payment came late"
	}
	return l, m
}

// watch polls for a payment after CLOSED, REVOKED or FAILED. It ends with a readable answer, not
// with an error. If the channel did not know the order when it was closed and knows it now, the
// order is closed again.
func watch(p *plan, l Life, a answer, now time.Time) (Life, move) {
	switch {
	case l.news(a.reading):
		l.Late = a.reading.String()
		return l, move{next: bellman.Succeed, reason: "late_payment", tell: tellLate, kind: AlertLate, alert: "a payment came late"}
	case l.Late != "":
		l, m := look(l, a)
		m.reason = "late_payment"
		return l, m
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

// nextLook returns when a watch queries next.
func (p *plan) nextLook(l *Life, a answer) time.Time {
	due, over := p.poll.Next(l.Polls, p.began, a.started, a.jitter)
	if over != "" {
		due = p.until
	}
	return earlier(due, p.until)
}

// reclosed continues a watch after a close, whatever its result: the next query shows it.
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

// note records the last answer.
func (l *Life) note(a answer) {
	if a.act == askQuery {
		l.Reading = a.reading.String()
		return
	}
	l.Close = a.close.String()
	if a.act == askClose && a.close == CloseDone && l.Reading == NotFound.String() {
		// Developers report that WeChat Pay answers 204 to the close of an order that it does not know:
		// developers.weixin.qq.com/community/pay/doc/000ac25b728328e60221a8d536b000
		l.Close = CloseNotExist.String()
	}
}

// notBefore returns a due time, moved by what the channel requested.
func (a *answer) notBefore(due, now time.Time) time.Time {
	return later(due, now.Add(max(a.wait, min(a.retryAfter, maxRetryAfter))))
}

// says reports whether a query's answer contains the state of the order.
func (a *answer) says() bool { return a.reading != QueryError && !a.throttled }

// took reports whether a close or reverse had its effect. The answer that there is no such order
// counts only if the last query said the same.
func (p *plan) took(l *Life, a answer) bool {
	return a.close == CloseDone || a.close == CloseAlready || a.close == CloseRefunded ||
		a.close == CloseNotExist && p.channelExpires && l.Reading == NotFound.String()
}

// next returns when to poll again, or over if the schedule is used up. An answer without a state
// uses up no attempt of the schedule, and is made up for until the schedule's end; an answer that
// only requests fewer queries, until the order expires.
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

// Limits and pauses of repetitions.
const (
	firstBackoff   = time.Second
	maxPollBackoff = 30 * time.Second
	maxBackoff     = 5 * time.Minute
	maxRetryAfter  = 10 * time.Minute // most that a channel can request
	inFlight       = 5 * time.Second  // while the payer types a password
	quickReverses  = 3                // reverses that follow each other after reverseGap without a query
	reverseGap     = 2 * time.Second
)

// backoff returns the pause after the nth attempt in a row without a result.
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

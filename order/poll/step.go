package poll

import (
	"cmp"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// The actions of attempts, as the log names them.
const (
	actAnnounce = "announce"
	actQuery    = "query"
	actRequest  = "request"
)

// An answer is the result of one attempt and its circumstances.
type answer struct {
	act        string
	reading    Reading        // of a query
	request    RequestReading // of a request
	throttled  bool
	wait       time.Duration // requested by the channel
	retryAfter time.Duration
	person     string // why a person must act
	started    time.Time
	jitter     float64 // in [0,1), for the schedule

	// For an attempt that a person requested, outside the schedule.
	aside bool
	keep  time.Time // when the next scheduled attempt is due nevertheless
}

// A move is what follows from a step.
type move struct {
	next   bellman.Next
	due    time.Time // of the next attempt
	reason string    // why the task ends
	tell   bool      // the merchant is notified
	alert  string    // what a person must look at; empty: nothing
}

// The kinds of alerts. Each is raised once in a life.
const (
	alertUsedUp      = "used_up"     // the schedule is used up
	alertRefused     = "refused"     // the channel refused the request
	alertNotThere    = "not_there"   // no such refund, and it is too late to request it again
	alertContradicts = "contradicts" // the channel says something else after the decision
	alertPerson      = "person"      // an answer that does not decide says that a person must act
	alertAbnormal    = "abnormal"    // the answer that decided says that a person must act
	alertUntold      = "untold"      // nobody is notified of the outcome, or somebody could not be
	alertSent        = "sent"        // the request was in flight when a person decided that it failed
)

// A plan holds the times that the rules give for one task.
type plan struct {
	schedule *schedule.Schedule
	began    time.Time     // of the schedule
	max      time.Time     // the schedule ends then; zero: by its attempts alone
	timeout  time.Duration // of one attempt
	requests bool          // the queue requests the refund
}

// step is the protocol: what an answer makes of a life, and what comes next.
//
//	announcing ──► requesting ──► polling ◄─┐ waiting, not found, no answer:
//	                   ▲             │  │    │ on the schedule, then after 30m, then each 6h,
//	                   │             │  └────┘ without end
//	                   └─────────────┤
//	  no such refund, and the        │ done, failed there
//	  last request is old enough     ▼
//	                              decided
//
// Only an answer that says explicitly how the refund ended decides. After a decision nothing
// changes it.
func step(p *plan, l Life, a answer, now time.Time) (Life, move) {
	switch a.act {
	case actAnnounce:
		return announce(l, now)
	case actRequest:
		return requested(p, l, a, now)
	}
	l.Reading = a.reading.String()
	switch {
	case l.over():
		return look(l, a)
	case a.reading.Decides():
		return decide(l, a, now)
	case l.unsent() && a.reading == Waiting: // an attempt out of turn found it: somebody requested it
		l.Stage = Polling
	case a.aside:
		return l, move{due: a.keep}
	case l.unsent(): // the attempt was out of turn, and the request is still to come
		return l, move{due: now}
	case l.mayRequest(p, a):
		return announce(l, now)
	}
	if a.says() {
		l.Polls, l.Errors = l.Polls+1, 0
	} else {
		l.Errors++
	}
	l, m := p.again(l, a, now)
	if a.person != "" && m.alert == "" && l.warn(alertPerson) {
		m.alert = a.person
	}
	return l, m
}

// announce notes a request before it is sent.
func announce(l Life, now time.Time) (Life, move) {
	l.Stage, l.Requests, l.RequestAt, l.Request = Requesting, l.Requests+1, now.UnixMilli(), ""
	l.FirstAt = cmp.Or(l.FirstAt, l.RequestAt)
	return l, move{due: now}
}

// requested notes the answer to a request, which decides nothing.
func requested(p *plan, l Life, a answer, now time.Time) (Life, move) {
	l.Stage, l.Request, l.RequestAt, l.Errors = Polling, a.request.String(), now.UnixMilli(), 0
	l, m := p.again(l, a, now)
	if a.request == RequestRefused && l.warn(alertRefused) {
		m.alert = "the channel refused the request"
	}
	return l, m
}

// mayRequest reports whether the request may be announced again: the channel says that it knows no
// such refund, later than the last request may have arrived there.
func (l *Life) mayRequest(p *plan, a answer) bool {
	return p.requests && l.Requests > 0 && a.reading == NotFound && !a.throttled &&
		!l.tooLate(a.started) && !a.started.Before(l.requestAgain(p))
}

// requestAgain returns the earliest start of a query whose answer allows to request once more.
func (l *Life) requestAgain(p *plan) time.Time {
	gap := min(RequestGap<<min(l.Requests-1, 10), maxRequestGap)
	return time.UnixMilli(l.RequestAt).Add(gap + p.timeout)
}

// decide ends a life. The alerts before it asked a person for a decision.
func decide(l Life, a answer, now time.Time) (Life, move) {
	l.Stage, l.State, l.DecidedAt, l.Errors = Decided, a.reading.String(), now.UnixMilli(), 0
	if l.Alerts = nil; a.person != "" {
		l.warn(alertAbnormal)
	}
	return l, move{next: bellman.Succeed, reason: l.reason(), tell: true, alert: a.person}
}

// look evaluates a query after the decision, which stays. If a notice contradicted it, the query
// must settle that.
func look(l Life, a answer) (Life, move) {
	m := move{next: bellman.Succeed, reason: l.reason()} // for a task that was restarted; an ended one stays ended
	said := a.reading.String()
	switch {
	case said == l.State:
		l.Doubt = ""
	case a.reading.Decides() && l.warn(alertContradicts):
		m.alert = "after the decision the channel says " + said
	case l.Doubt != "" && l.warn(alertContradicts):
		m.alert = "after the decision a notice says " + l.Doubt + ", and the query of it says " + said
	}
	return l, m
}

// again says when the next query is due, and raises an alert once when the schedule is used up.
func (p *plan) again(l Life, a answer, now time.Time) (Life, move) {
	due, over := p.next(&l, a, now)
	m := move{}
	if over {
		if l.warn(alertUsedUp) {
			l.Slow = afterUsedUp
			m.alert = "the schedule is used up and the channel has not said how it ended: it is asked on slowly"
		}
		due = now.Add(slowGaps[min(l.Slow, len(slowGaps)-1)])
		l.Slow++
	}
	if p.requests && l.Requests > 0 && a.reading == NotFound {
		switch first := l.requestAgain(p); {
		case l.tooLate(now):
			if l.warn(alertNotThere) {
				m.alert = "the channel knows no such refund, and it is too late to request it again"
			}
		case first.Before(due):
			due = first
		}
	}
	m.due = later(due, now.Add(max(a.wait, min(a.retryAfter, maxRetryAfter))))
	return l, m
}

// next returns when to query again, or over if the schedule is used up. An answer that does not say
// how the refund stands uses up no attempt of the schedule, but its time.
func (p *plan) next(l *Life, a answer, now time.Time) (due time.Time, over bool) {
	began := p.began
	if l.FirstAt != 0 {
		began = later(began, time.UnixMilli(l.FirstAt)) // before the request there is nothing to query
	}
	if a.act == actRequest || a.says() {
		last := a.started
		if l.Polls == 0 {
			last = began
		}
		var end schedule.End
		if due, end = p.schedule.Next(l.Polls, began, last, a.jitter); end != "" {
			return due, true
		}
	} else {
		due = now.Add(min(firstBackoff<<min(max(l.Errors-1, 0), 20), maxBackoff))
		if n, finite := p.schedule.Attempts(); finite && n > 0 {
			first, _ := p.schedule.Gap(0)
			total, _ := p.schedule.Total()
			over = due.After(began.Add(first + total))
		}
	}
	return due, over || !p.max.IsZero() && due.After(p.max)
}

// says reports whether a query's answer contains the state of the refund.
func (a *answer) says() bool { return a.act == actQuery && a.reading != QueryError && !a.throttled }

// Limits and pauses.
const (
	// RequestGap is the least time between a request that may have arrived and the query that
	// allows to send it again.
	RequestGap = 10 * time.Minute

	// RequestFor is how long after the first request it may be sent again.
	RequestFor = 24 * time.Hour

	maxRequestGap = 6 * time.Hour
	firstBackoff  = time.Second
	maxBackoff    = 5 * time.Minute
	maxRetryAfter = 10 * time.Minute // most that a channel can request
)

// slowGaps are the pauses once the schedule is used up; the last one repeats. A notice begins with
// the first of them: it comes when the refund has just ended, and the channel's query may lag
// behind it. Without a notice they begin at afterUsedUp.
var slowGaps = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, 6 * time.Hour}

const afterUsedUp = 4 // index in slowGaps

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

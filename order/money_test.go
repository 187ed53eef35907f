package order

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"pgregory.net/rapid"
)

// Laws about money, for every sequence of answers, honest or not. In sim_test.go the channel has a
// true state; here it has none.
//
//   - An order is CLOSED by us only after a close that the channel took, and took right
//     after a query that said in so many words that nobody paid; or after a close that
//     found no order, right after a query that found none, where orders expire at the
//     channel. Every query since said that nobody paid.
//   - An order is REVOKED by us only after a reverse that the channel took.
//   - A payment that a query sees is told, once: as the decision, or as a late one.
//   - What is not paid is watched, unless it is UNKNOWN, which calls somebody.
func TestMoney(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, wrong := answers(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "dice") }); wrong != "" {
			t.Fatal(wrong)
		}
	})
	ends := make(map[string]int)
	for i := range 20_000 {
		end, wrong := answers(newDice(uint64(i)))
		if wrong != "" {
			t.Fatalf("life %d: %s", i, wrong)
		}
		ends[end]++
	}
	t.Log(ends)
	for _, end := range []string{"PAID", "PAID_REFUNDED", "CLOSED closed", "CLOSED not_exist", "REVOKED closed", "REVOKED not_exist", "FAILED", "UNKNOWN"} {
		if ends[end] < 50 {
			t.Errorf("%d lives ended %s: the answers show nothing of it", ends[end], end)
		}
	}
}

// answers plays one life with arbitrary answers and returns how it ended. wrong is the broken law;
// empty: none.
func answers(d dice) (end, wrong string) {
	p := somePlan(d)
	l, _ := ParseLife(nil)
	var queries []Reading // since the last close or reverse, by us
	var before Reading    // the query just before the last close or reverse
	var ended CloseReading
	asked, seen := false, false
	task := new(bellman.Task)
	task.Began = p.began
	now := later(p.began, created)
	var sum told
	for number := 1; number < 3000; number++ {
		l = l.resume(task, number, now)
		a := answer{started: now, throttled: d.percent(5)}
		switch l.Stage {
		case Close, Reverse:
			a.act = askClose
			if l.Stage == Reverse {
				a.act = askReverse
			}
			a.close = pick(d, CloseNotExist, CloseUnknown, CloseDone, CloseAlready, ClosePaidHint, CloseInFlight)
			before, asked = QueryError, asked || l.Stage == Close
			if len(queries) > 0 {
				before = queries[len(queries)-1]
			}
			queries, ended = nil, a.close
		default:
			a.act = askQuery
			a.reading = pick(d, NotFound, Pending, QueryError, QueryError, NotFound, Pending, Paid, PaidRefunded, Closed, Revoked, Failed)
			if d.percent(50) && a.reading.Decides() {
				a.reading = pick(d, NotFound, Pending)
			}
			queries = append(queries, a.reading)
			if a.reading.IsPaid() {
				seen = true
			}
		}
		var m move
		l, m = step(p, l, a, now)
		l.Number, l.Asked = number, now.UnixMilli()
		sum.add(m)
		if m.next != bellman.Again {
			if wrong := check(p, l, a, before, ended, queries); wrong != "" {
				return "", wrong
			}
			break
		}
		now = later(m.due, now.Add(time.Millisecond))
	}
	switch {
	case !l.over():
		return "", fmt.Sprintf("it goes on for ever: %+v", l)
	case seen && !l.isPaid():
		return "", fmt.Sprintf("a payment was seen, and the order is %s", l.State)
	case l.State == StateUnknown && sum.alerts+sum.undecided == 0:
		return "", "UNKNOWN in silence"
	case sum.decided > 1 || (sum.decided == 1) != (l.State != StateUnknown):
		return "", fmt.Sprintf("%s, and told %+v", l.State, sum)
	case (sum.watches == 1) != (!l.isPaid() && l.State != StateUnknown && p.lateWatch > 0):
		return "", fmt.Sprintf("%s, and %d watches", l.State, sum.watches)
	case sum.watches == 1 && sum.until.Before(now.Add(p.lateWatch)):
		return "", "the watch is shorter than late_watch"
	case sum.watches == 1 && l.State == "CLOSED" && ended == CloseNotExist && asked && l.Reading == "NOT_FOUND" && sum.until.Before(p.codeEnds):
		return "", "the watch is shorter than the life of the code"
	}
	if end = l.State; ended != CloseUnknown && (end == "CLOSED" || end == "REVOKED") {
		end += " " + ended.String()
	}
	if sum.watches == 0 {
		return end, ""
	}

	q := &plan{poll: pick(d, watchSchedules...), began: now, until: sum.until, unborn: l.unborn()}
	q.giveUp = q.until.Add(time.Hour)
	wl := Life{Stage: Watching, State: l.State}
	paid, late := false, 0
	for number := 1; ; number++ {
		wl = wl.resume(task, number, now)
		a := answer{act: askQuery, started: now, reading: pick(d, Pending, NotFound, QueryError, Paid, PaidRefunded, Closed)}
		if wl.Stage == Reclosing {
			a = answer{act: askClose, started: now, close: pick(d, CloseNotExist, CloseDone, CloseUnknown, ClosePaidHint)}
		}
		paid = paid || a.reading == Paid || a.reading == PaidRefunded && l.State != "REVOKED"
		var m move
		wl, m = step(q, wl, a, now)
		wl.Number, wl.Asked = number, now.UnixMilli()
		if m.tell == tellLate {
			late++
		}
		if m.next != bellman.Again {
			break
		}
		now = later(m.due, now.Add(time.Millisecond))
	}
	if wl.State != l.State || paid != (late == 1) || late > 1 {
		return "", fmt.Sprintf("%s: a watch that saw a payment %t told %d", l.State, paid, late)
	}
	return end, ""
}

// check holds a decision against what was answered before it.
func check(p *plan, l Life, last answer, before Reading, ended CloseReading, since []Reading) (wrong string) {
	took := ended == CloseDone || ended == CloseAlready || ended == CloseNotExist && p.channelExpires && before == NotFound
	switch {
	case last.act == askQuery && last.reading.Decides() && l.State == last.reading.String(): // the channel says so itself
	case l.State == StateUnknown:
	case l.State == "CLOSED":
		if !took || before != Pending && before != NotFound || len(since) == 0 {
			return fmt.Sprintf("CLOSED after %s and %s, then %v", before, ended, since)
		}
		for _, r := range since {
			if r.Decides() || ended == CloseNotExist && r == Pending {
				return fmt.Sprintf("CLOSED after %s, although then %v", ended, since)
			}
		}
	case last.act == askReverse && took && (l.State == "REVOKED" || l.State == "FAILED" && l.Why == "failed"):
	case last.act == askReverse && ended == CloseNotExist && p.channelExpires && l.Reading == "NOT_FOUND": // a reverse may repeat without a query
	default:
		return fmt.Sprintf("%s after %+v", l.State, last)
	}
	return ""
}

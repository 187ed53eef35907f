package order

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// strictPlan is the plan of an order that can be closed from its fifth minute and expires at its
// thirtieth.
func strictPlan(change ...func(*plan)) *plan {
	p := &plan{
		poll:        mustParse("3s*3"),
		confirm:     mustParse("0s, 5s, 25s"),
		began:       created,
		pollLast:    created.Add(9 * time.Second),
		from:        created.Add(5 * time.Minute),
		expired:     created.Add(30 * time.Minute),
		giveUp:      created.Add(24 * time.Hour),
		onExhausted: OnExhaustedClose,
		lateWatch:   15 * time.Minute,
		codeEnds:    created.Add(2 * time.Hour),
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func mustParse(text string) *schedule.Schedule {
	s, err := schedule.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func onExhausted(o OnExhausted) func(*plan) {
	return func(p *plan) {
		if p.onExhausted = o; o == OnExhaustedReverse {
			p.reverses, p.from = true, created.Add(15*time.Second)
		}
	}
}

func reversingPlan(change ...func(*plan)) *plan {
	return strictPlan(append([]func(*plan){onExhausted(OnExhaustedReverse)}, change...)...)
}

func channelExpires(p *plan) { p.channelExpires = true }
func unborn(p *plan)         { p.unborn = true }
func noWatch(p *plan)        { p.lateWatch = -1 }
func watchPlan(p *plan) {
	p.poll, p.until, p.giveUp = mustParse("30s, 1m*"), created.Add(time.Hour), created.Add(25*time.Hour)
}

// outcome writes what came of a step: stage and next attempt, or how it ended.
func outcome(l Life, m move, now time.Time) string {
	words := []string{l.State, m.reason}
	if m.next == bellman.Again {
		words = []string{string(l.Stage), "+" + schedule.FormatDuration(m.due.Sub(now))}
	}
	if m.next == bellman.GiveUp {
		words = append(words, "failed")
	}
	if m.tell != "" {
		words = append(words, "tell:"+m.tell)
	}
	if !m.watch.IsZero() {
		words = append(words, "watch:"+schedule.FormatDuration(m.watch.Sub(now)))
	}
	if m.alert != "" {
		words = append(words, "alert")
	}
	return strings.Join(words, " ")
}

const (
	young = 6 * time.Second
	ripe  = 30 * time.Minute
	over  = 24 * time.Hour

	// decided is the outcome of PAID, PAID_REFUNDED, CLOSED and REVOKED, settled also that of
	// FAILED.
	decided = "PAID paid tell:decided, PAID_REFUNDED paid_refunded tell:decided, CLOSED closed tell:decided watch:15m, REVOKED revoked tell:decided watch:15m"
	settled = decided + ", FAILED failed tell:decided watch:15m"
)

// A stepTest is a life, and the outcomes of one step of it: one for each of a list of answers, with
// "3x " before an outcome that three answers in a row have.
type stepTest struct {
	name string
	plan *plan
	life Life
	age  time.Duration
	want string
}

// run takes the step with each answer, which set makes from its name. The answers come at once.
func (tt *stepTest) run(t *testing.T, answers []string, set func(*answer, string)) {
	var wants []string
	for want := range strings.SplitSeq(tt.want, ", ") {
		n := 1
		if times, rest, ok := strings.Cut(want, "x "); ok {
			if times, err := strconv.Atoi(times); err == nil {
				n, want = times, rest
			}
		}
		wants = append(wants, slices.Repeat([]string{want}, n)...)
	}
	if len(wants) != len(answers) {
		t.Fatalf("%s: %d outcomes; want %d", tt.name, len(wants), len(answers))
	}
	now := created.Add(tt.age)
	before := tt.life
	before.State = cmp.Or(before.State, StatePending)
	for i, name := range answers {
		a := answer{started: now}
		if name == "throttled" {
			a.throttled, a.retryAfter = true, 20*time.Second
		}
		set(&a, name)
		after, m := step(tt.plan, before, a, now)
		if got := outcome(after, m, now); got != wants[i] {
			t.Errorf("%s, %s: %s; want %s", tt.name, name, got, wants[i])
		}
		if err := after.check(); err != nil {
			t.Errorf("%s, %s: %v", tt.name, name, err)
		}
	}
}

// Every stage with every reading of a query.
func TestStepQueries(t *testing.T) {
	readings := []string{"QUERY_ERROR", "throttled", "USERPAYING", "PENDING", "NOT_FOUND", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED"}
	tests := []stepTest{
		{"polling", strictPlan(), Life{Stage: Polling, Polls: 1}, young,
			"polling +1s, polling +20s, polling +5s, 2x polling +3s, " + settled},
		{"polling, errors before", strictPlan(func(p *plan) { p.poll, p.pollLast = mustParse("3s*"), time.Time{} }), Life{Stage: Polling, Polls: 9, Errors: 4}, time.Minute,
			"polling +16s, polling +20s, polling +5s, 2x polling +3s, " + settled},
		{"polling, expired", strictPlan(), Life{Stage: Polling, Polls: 1}, ripe,
			"closing +1s, closing +20s, closing +5s, 2x close +0s, " + settled},
		{"polling, used up: close", strictPlan(), Life{Stage: Polling, Polls: 2}, 9 * time.Second,
			"closing +4m51s, polling +20s, 3x closing +4m51s, " + settled},
		{"polling, used up: reverse", reversingPlan(), Life{Stage: Polling, Polls: 2}, 9 * time.Second,
			"reversing +6s, polling +20s, 3x reversing +6s, " + decided + ", reversing +6s"},
		{"polling, used up late: reverse", reversingPlan(), Life{Stage: Polling, Polls: 2}, 20 * time.Second,
			"reverse +0s, polling +20s, 3x reverse +0s, " + decided + ", reverse +0s"},
		{"polling, used up: callback", strictPlan(onExhausted(OnExhaustedCallback)), Life{Stage: Polling, Polls: 2}, 9 * time.Second,
			"UNKNOWN exhausted failed tell:undecided, polling +20s, 3x UNKNOWN exhausted failed tell:undecided, " + settled},
		{"polling, used up: alert", strictPlan(onExhausted(OnExhaustedAlert)), Life{Stage: Polling, Polls: 2}, 9 * time.Second,
			"UNKNOWN exhausted failed alert, polling +20s, 3x UNKNOWN exhausted failed alert, " + settled},
		{"polling, used up before its age", strictPlan(func(p *plan) { p.pollMax = created.Add(20 * time.Minute) }), Life{Stage: Polling, Polls: 2}, 9 * time.Second,
			"polling +1s, polling +20s, 3x closing +4m51s, " + settled},
		{"polling, soon of age", strictPlan(func(p *plan) { p.poll, p.pollMax = mustParse("3s*9"), created.Add(7*time.Second) }), Life{Stage: Polling, Polls: 1}, young,
			"polling +1s, polling +20s, polling +5s, 2x polling +1s, " + settled},
		{"polling, of age", strictPlan(func(p *plan) { p.poll, p.pollMax = mustParse("3s*9"), created.Add(young) }), Life{Stage: Polling, Polls: 1}, young,
			"closing +4m54s, polling +20s, 3x closing +4m54s, " + settled},
		{"closing, too young", strictPlan(), Life{Stage: Closing, Why: "exhausted"}, 4 * time.Minute,
			"5x closing +1m, " + settled},
		{"closing", strictPlan(), Life{Stage: Closing, Why: "expired"}, ripe,
			"closing +1s, closing +20s, closing +5s, 2x close +0s, " + settled},
		{"closing, give_up is over", strictPlan(), Life{Stage: Closing, Why: "expired", Errors: 20}, over,
			"3x UNKNOWN gave_up failed alert, 2x close +0s, " + settled},
		{"confirming, first", strictPlan(), Life{Stage: Confirming, ClosedAt: created.Add(ripe).UnixMilli()}, ripe,
			"confirming +1s, confirming +20s, 3x confirming +5s, " + settled},
		{"confirming, last", strictPlan(), Life{Stage: Confirming, Confirms: 2, ClosedAt: created.Add(ripe).UnixMilli()}, ripe + time.Minute,
			"confirming +1s, confirming +20s, confirming +5s, 2x CLOSED closed tell:decided watch:15m, " + settled},
		{"confirming, last, no watch", strictPlan(noWatch), Life{Stage: Confirming, Confirms: 2, ClosedAt: created.Add(ripe).UnixMilli()}, ripe + time.Minute,
			"confirming +1s, confirming +20s, confirming +5s, 2x CLOSED closed tell:decided, PAID paid tell:decided, PAID_REFUNDED paid_refunded tell:decided, CLOSED closed tell:decided, REVOKED revoked tell:decided, FAILED failed tell:decided"},
		{"confirming, the channel did not know it at the close", strictPlan(channelExpires), Life{Stage: Confirming, Close: "not_exist", Confirms: 2, ClosedAt: created.Add(ripe).UnixMilli()}, ripe + time.Minute,
			"confirming +1s, confirming +20s, closing +5s, close +0s, CLOSED closed tell:decided watch:1h29m, " + settled},
		{"reversing", reversingPlan(), Life{Stage: Reversing, Why: "exhausted"}, ripe,
			"reverse +0s, reversing +20s, 3x reverse +0s, " + decided + ", reverse +0s"},
		{"reversing, the third failed", reversingPlan(), Life{Stage: Reversing, Why: "exhausted", Reverses: 3}, ripe,
			"reverse +0s, reversing +20s, 3x reverse +0s, " + decided + ", reverse +0s"},
		{"reversing, give_up is over before the first reverse", reversingPlan(), Life{Stage: Reversing, Why: "exhausted"}, over,
			"reverse +0s, UNKNOWN gave_up failed alert, 3x reverse +0s, " + decided + ", reverse +0s"},
		{"reversing, a payment is known", reversingPlan(), Life{Stage: Reversing, Why: "exhausted", Late: "PAID"}, ripe,
			"reversing +1s, reversing +20s, reversing +5s, 2x reversing +1s, PAID paid tell:decided, PAID_REFUNDED paid_refunded tell:decided, 3x reversing +1s"},
		{"reversing, a payment of another amount is known", reversingPlan(), Life{Stage: Reversing, Why: "exhausted", Mismatch: "1 of 2"}, ripe,
			"reversing +1s, reversing +20s, reversing +5s, 2x reversing +1s, PAID paid tell:decided, PAID_REFUNDED paid_refunded tell:decided, 3x reversing +1s"},
		{"reversing, give_up is over", reversingPlan(), Life{Stage: Reversing, Why: "exhausted", Reverses: 300}, over,
			"UNKNOWN reverse_failed failed alert, UNKNOWN gave_up failed alert, 3x UNKNOWN reverse_failed failed alert, " + decided + ", UNKNOWN reverse_failed failed alert"},
		{"decided CLOSED", strictPlan(), Life{Stage: Decided, State: "CLOSED"}, ripe,
			"5x CLOSED closed, 2x CLOSED closed tell:late_payment alert, 3x CLOSED closed"},
		{"decided CLOSED, late payment known", strictPlan(), Life{Stage: Decided, State: "CLOSED", Late: "PAID"}, ripe,
			"10x CLOSED closed"},
		{"decided FAILED", reversingPlan(), Life{Stage: Decided, State: "FAILED"}, ripe,
			"5x FAILED failed, 2x FAILED failed tell:late_payment alert, 3x FAILED failed"},
		{"decided REVOKED", reversingPlan(), Life{Stage: Decided, State: "REVOKED"}, ripe,
			"5x REVOKED revoked, REVOKED revoked tell:late_payment alert, 4x REVOKED revoked"},
		{"decided PAID", strictPlan(), Life{Stage: Decided, State: "PAID"}, ripe, "10x PAID paid"},
		{"UNKNOWN", strictPlan(), Life{Stage: Decided, State: "UNKNOWN"}, ripe,
			"5x UNKNOWN unknown, 2x UNKNOWN unknown tell:late_payment alert, 3x UNKNOWN unknown"},
		{"watching", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED"}, 31 * time.Minute,
			"watching +1s, watching +20s, 3x watching +1m, 2x CLOSED late_payment tell:late_payment alert, 3x watching +1m"},
		{"watching, errors before", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Errors: 4}, 31 * time.Minute,
			"watching +16s, watching +20s, 3x watching +1m, 2x CLOSED late_payment tell:late_payment alert, 3x watching +1m"},
		{"watching, used up", strictPlan(watchPlan, func(p *plan) { p.poll = mustParse("30s") }), Life{Stage: Watching, State: "CLOSED"}, 31 * time.Minute,
			"watching +1s, watching +20s, 3x watching +29m, 2x CLOSED late_payment tell:late_payment alert, 3x watching +29m"},
		{"watching what the channel did not know at the close", strictPlan(watchPlan, unborn), Life{Stage: Watching, State: "CLOSED"}, 31 * time.Minute,
			"watching +1s, watching +20s, watching +1m, reclosing +0s, watching +1m, 2x CLOSED late_payment tell:late_payment alert, 3x watching +1m"},
		{"watching what was reversed", strictPlan(watchPlan), Life{Stage: Watching, State: "REVOKED"}, 31 * time.Minute,
			"watching +1s, watching +20s, 3x watching +1m, REVOKED late_payment tell:late_payment alert, 4x watching +1m"},
		{"watching, nearly over", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Polls: 9}, 59*time.Minute + 30*time.Second,
			"watching +1s, watching +20s, 3x watching +30s, 2x CLOSED late_payment tell:late_payment alert, 3x watching +30s"},
		{"watching, over", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Polls: 9}, time.Hour,
			"watching +1s, watching +20s, 3x CLOSED watched, 2x CLOSED late_payment tell:late_payment alert, 3x CLOSED watched"},
		{"watching, long over", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Polls: 9}, 25 * time.Hour,
			"2x CLOSED gave_up failed alert, 3x CLOSED watched, 2x CLOSED late_payment tell:late_payment alert, 3x CLOSED watched"},
	}
	for _, tt := range tests {
		for _, ignored := range []Reading{QueryError, Pending, NotFound} { // what a channel says beside it
			if tt.life.Close != "" && ignored != QueryError {
				continue // the channel knows the order now, even if it is throttled
			}
			tt.run(t, readings, func(a *answer, name string) {
				a.act = askQuery
				switch name {
				case "throttled":
					a.reading = ignored
				case "USERPAYING":
					a.reading, a.wait = Pending, 5*time.Second
				default:
					a.reading, _ = ParseReading(name)
				}
			})
		}
	}
}

// An order that the channel did not know at its close is closed again, and then confirmed from the
// start.
func TestConfirmedFromTheStart(t *testing.T) {
	now := created.Add(ripe)
	before := Life{Stage: Confirming, State: StatePending, Close: "not_exist", Confirms: 2, ClosedAt: now.UnixMilli()}
	l, _ := step(strictPlan(channelExpires), before, answer{act: askQuery, reading: Pending, started: now}, now)
	if l.Stage != Close || l.Confirms != 0 {
		t.Errorf("%+v; want it closed next, and no query counted", l)
	}
}

// A payment of another amount makes an order UNKNOWN at every stage, and it is neither closed nor
// reversed.
func TestStepMismatch(t *testing.T) {
	now := created.Add(ripe)
	for _, p := range []*plan{strictPlan(), reversingPlan()} {
		for state, want := range map[string]string{
			StateUnknown: "UNKNOWN unknown alert 1 of 2", "PAID": "PAID paid alert 1 of 2", "CLOSED": "CLOSED closed tell:late_payment alert ",
		} {
			l, m := step(p, Life{Stage: Decided, State: state}, answer{act: askQuery, reading: Paid, mismatch: "1 of 2", started: now}, now)
			if got := outcome(l, m, now) + " " + l.Mismatch; got != want {
				t.Errorf("%s, then a payment of another amount: %s; want %s", state, got, want)
			}
		}
		for _, stage := range []Stage{Polling, Closing, Confirming, Reversing} {
			for _, r := range []Reading{Paid, PaidRefunded} {
				l, m := step(p, Life{Stage: stage, State: StatePending}, answer{act: askQuery, reading: r, mismatch: "1 of 2", started: now}, now)
				if got := outcome(l, m, now); got != "UNKNOWN amount_mismatch failed alert" || l.Mismatch != "1 of 2" {
					t.Errorf("%s, %s of another amount: %s, %+v; want UNKNOWN", stage, r, got, l)
				}
			}
		}
	}
}

// Every reading of a close and of a reverse.
func TestStepCloses(t *testing.T) {
	readings := []string{"unknown", "throttled", "closed", "already_closed", "paid_hint", "in_flight", "not_exist"}
	tests := []stepTest{
		{"close", strictPlan(), Life{Stage: Close, Why: "expired"}, ripe,
			"closing +1s, closing +20s, 2x confirming +0s, closing +1s, closing +5s, closing +1s"},
		{"close, the channel does not know it and expires orders", strictPlan(channelExpires), Life{Stage: Close, Why: "expired", Reading: "NOT_FOUND", Errors: 3}, ripe,
			"closing +8s, closing +20s, 2x confirming +0s, 2x closing +8s, confirming +0s"},
		{"close, the channel knew it just now", strictPlan(channelExpires), Life{Stage: Close, Why: "expired", Reading: "PENDING", Errors: 3}, ripe,
			"closing +8s, closing +20s, 2x confirming +0s, 3x closing +8s"},
		{"close, the channel does not know it, and is not known to expire orders", strictPlan(), Life{Stage: Close, Why: "expired", Reading: "NOT_FOUND"}, ripe,
			"closing +1s, closing +20s, 2x confirming +0s, closing +1s, closing +5s, closing +1s"},
		{"close, give_up is over", strictPlan(), Life{Stage: Close, Why: "expired"}, over,
			"2x UNKNOWN gave_up failed alert, 2x confirming +0s, 3x UNKNOWN gave_up failed alert"},
		{"reclose", strictPlan(watchPlan, unborn), Life{Stage: Reclosing, State: "CLOSED"}, ripe,
			"4x watching +1m, watching +2s, 2x watching +1m"},
		{"reverse", reversingPlan(), Life{Stage: Reverse, Why: "exhausted"}, young,
			"reverse +2s, reverse +20s, 2x REVOKED revoked tell:decided watch:15m, reversing +2s, reverse +2s, reversing +2s"},
		{"reverse, third", reversingPlan(), Life{Stage: Reverse, Why: "exhausted", Reverses: 2}, young,
			"reversing +2s alert, reversing +20s alert, 2x REVOKED revoked tell:decided watch:15m, 3x reversing +2s alert"},
		{"reverse, eighth", reversingPlan(), Life{Stage: Reverse, Why: "exhausted", Reverses: 7}, ripe,
			"2x reversing +1m4s, 2x REVOKED revoked tell:decided watch:15m, 3x reversing +1m4s"},
		{"reverse after FAILED", reversingPlan(channelExpires), Life{Stage: Reverse, Why: "failed"}, young,
			"reverse +2s, reverse +20s, 2x FAILED failed tell:decided watch:15m, reversing +2s, reverse +2s, reversing +2s"},
		{"reverse of what the channel does not know", reversingPlan(channelExpires), Life{Stage: Reverse, Why: "exhausted", Reading: "NOT_FOUND"}, young,
			"reverse +2s, reverse +20s, 2x REVOKED revoked tell:decided watch:15m, reversing +2s, reverse +2s, REVOKED revoked tell:decided watch:15m"},
		{"reverse, give_up is over", reversingPlan(), Life{Stage: Reverse, Why: "exhausted"}, over,
			"2x reverse +2s, 2x REVOKED revoked tell:decided watch:15m, reversing +2s, reverse +2s, reversing +2s"},
	}
	for _, tt := range tests {
		tt.run(t, readings, func(a *answer, name string) {
			a.act = askClose
			if tt.life.Stage == Reverse {
				a.act = askReverse
			}
			a.close, _ = ParseCloseReading(name)
		})
	}
}

package order

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// strictPlan is an order that can be closed from its fifth minute and expires at
// its thirtieth.
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
)

// Every stage with every reading of a query. The answers come at once.
func TestStepQueries(t *testing.T) {
	readings := []string{"QUERY_ERROR", "throttled", "USERPAYING", "PENDING", "NOT_FOUND", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED"}
	tests := []struct {
		name string
		plan *plan
		life Life
		age  time.Duration
		want string // one outcome for each reading
	}{
		{"polling", strictPlan(), Life{Stage: Polling, Polls: 1}, young, `
			polling +1s
			polling +20s
			polling +5s
			polling +3s
			polling +3s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"polling, errors before", strictPlan(func(p *plan) { p.poll, p.pollLast = mustParse("3s*"), time.Time{} }), Life{Stage: Polling, Polls: 9, Errors: 4}, time.Minute, `
			polling +16s
			polling +20s
			polling +5s
			polling +3s
			polling +3s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"polling, expired", strictPlan(), Life{Stage: Polling, Polls: 1}, ripe, `
			closing +1s
			closing +20s
			closing +5s
			close +0s
			close +0s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"polling, used up: close", strictPlan(), Life{Stage: Polling, Polls: 2}, 9 * time.Second, `
			closing +4m51s
			polling +20s
			closing +4m51s
			closing +4m51s
			closing +4m51s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"polling, used up: reverse", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Polling, Polls: 2}, 9 * time.Second, `
			reversing +6s
			polling +20s
			reversing +6s
			reversing +6s
			reversing +6s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reversing +6s`},
		{"polling, used up late: reverse", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Polling, Polls: 2}, 20 * time.Second, `
			reverse +0s
			polling +20s
			reverse +0s
			reverse +0s
			reverse +0s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reverse +0s`},
		{"polling, used up: callback", strictPlan(onExhausted(OnExhaustedCallback)), Life{Stage: Polling, Polls: 2}, 9 * time.Second, `
			UNKNOWN exhausted failed tell:undecided
			polling +20s
			UNKNOWN exhausted failed tell:undecided
			UNKNOWN exhausted failed tell:undecided
			UNKNOWN exhausted failed tell:undecided
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"polling, used up: alert", strictPlan(onExhausted(OnExhaustedAlert)), Life{Stage: Polling, Polls: 2}, 9 * time.Second, `
			UNKNOWN exhausted failed alert
			polling +20s
			UNKNOWN exhausted failed alert
			UNKNOWN exhausted failed alert
			UNKNOWN exhausted failed alert
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"closing, too young", strictPlan(), Life{Stage: Closing, Why: "exhausted"}, 4 * time.Minute, `
			closing +1m
			closing +1m
			closing +1m
			closing +1m
			closing +1m
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"closing", strictPlan(), Life{Stage: Closing, Why: "expired"}, ripe, `
			closing +1s
			closing +20s
			closing +5s
			close +0s
			close +0s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"closing, give_up is over", strictPlan(), Life{Stage: Closing, Why: "expired", Errors: 20}, over, `
			UNKNOWN gave_up failed alert
			UNKNOWN gave_up failed alert
			UNKNOWN gave_up failed alert
			close +0s
			close +0s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"confirming, first", strictPlan(), Life{Stage: Confirming, ClosedAt: created.Add(ripe).UnixMilli()}, ripe, `
			confirming +1s
			confirming +20s
			confirming +5s
			confirming +5s
			confirming +5s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"confirming, last", strictPlan(), Life{Stage: Confirming, Confirms: 2, ClosedAt: created.Add(ripe).UnixMilli()}, ripe + time.Minute, `
			confirming +1s
			confirming +20s
			confirming +5s
			CLOSED closed tell:decided watch:15m
			CLOSED closed tell:decided watch:15m
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"confirming, last, no watch", strictPlan(noWatch), Life{Stage: Confirming, Confirms: 2, ClosedAt: created.Add(ripe).UnixMilli()}, ripe + time.Minute, `
			confirming +1s
			confirming +20s
			confirming +5s
			CLOSED closed tell:decided
			CLOSED closed tell:decided
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided
			REVOKED revoked tell:decided
			FAILED failed tell:decided`},
		{"confirming, the channel did not know it at the close", strictPlan(channelExpires), Life{Stage: Confirming, Close: "not_exist", Confirms: 2, ClosedAt: created.Add(ripe).UnixMilli()}, ripe + time.Minute, `
			confirming +1s
			confirming +20s
			closing +5s
			close +0s
			CLOSED closed tell:decided watch:1h29m
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			FAILED failed tell:decided watch:15m`},
		{"reversing", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reversing, Why: "exhausted"}, ripe, `
			reverse +0s
			reversing +20s
			reverse +0s
			reverse +0s
			reverse +0s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reverse +0s`},
		{"reversing, the third failed", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reversing, Why: "exhausted", Reverses: 3}, ripe, `
			reverse +0s
			reversing +20s
			reverse +0s
			reverse +0s
			reverse +0s
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reverse +0s`},
		{"reversing, give_up is over", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reversing, Why: "exhausted", Reverses: 300}, over, `
			UNKNOWN reverse_failed failed alert
			UNKNOWN gave_up failed alert
			UNKNOWN reverse_failed failed alert
			UNKNOWN reverse_failed failed alert
			UNKNOWN reverse_failed failed alert
			PAID paid tell:decided
			PAID_REFUNDED paid_refunded tell:decided
			CLOSED closed tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			UNKNOWN reverse_failed failed alert`},
		{"decided CLOSED", strictPlan(), Life{Stage: Decided, State: "CLOSED"}, ripe, `
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed tell:late_payment alert
			CLOSED closed tell:late_payment alert
			CLOSED closed
			CLOSED closed
			CLOSED closed`},
		{"decided CLOSED, late payment known", strictPlan(), Life{Stage: Decided, State: "CLOSED", Late: "PAID"}, ripe, `
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed
			CLOSED closed`},
		{"decided FAILED", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Decided, State: "FAILED"}, ripe, `
			FAILED failed
			FAILED failed
			FAILED failed
			FAILED failed
			FAILED failed
			FAILED failed tell:late_payment alert
			FAILED failed tell:late_payment alert
			FAILED failed
			FAILED failed
			FAILED failed`},
		{"decided REVOKED", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Decided, State: "REVOKED"}, ripe, `
			REVOKED revoked
			REVOKED revoked
			REVOKED revoked
			REVOKED revoked
			REVOKED revoked
			REVOKED revoked tell:late_payment alert
			REVOKED revoked
			REVOKED revoked
			REVOKED revoked
			REVOKED revoked`},
		{"decided PAID", strictPlan(), Life{Stage: Decided, State: "PAID"}, ripe, `
			PAID paid
			PAID paid
			PAID paid
			PAID paid
			PAID paid
			PAID paid
			PAID paid
			PAID paid
			PAID paid
			PAID paid`},
		{"UNKNOWN", strictPlan(), Life{Stage: Decided, State: "UNKNOWN"}, ripe, `
			UNKNOWN unknown
			UNKNOWN unknown
			UNKNOWN unknown
			UNKNOWN unknown
			UNKNOWN unknown
			UNKNOWN unknown tell:late_payment alert
			UNKNOWN unknown tell:late_payment alert
			UNKNOWN unknown
			UNKNOWN unknown
			UNKNOWN unknown`},
		{"watching", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED"}, 31 * time.Minute, `
			watching +1s
			watching +20s
			watching +1m
			watching +1m
			watching +1m
			CLOSED late_payment tell:late_payment alert
			CLOSED late_payment tell:late_payment alert
			watching +1m
			watching +1m
			watching +1m`},
		{"watching what the channel did not know at the close", strictPlan(watchPlan, unborn), Life{Stage: Watching, State: "CLOSED"}, 31 * time.Minute, `
			watching +1s
			watching +20s
			watching +1m
			reclosing +0s
			watching +1m
			CLOSED late_payment tell:late_payment alert
			CLOSED late_payment tell:late_payment alert
			watching +1m
			watching +1m
			watching +1m`},
		{"watching what was reversed", strictPlan(watchPlan), Life{Stage: Watching, State: "REVOKED"}, 31 * time.Minute, `
			watching +1s
			watching +20s
			watching +1m
			watching +1m
			watching +1m
			REVOKED late_payment tell:late_payment alert
			watching +1m
			watching +1m
			watching +1m
			watching +1m`},
		{"watching, nearly over", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Polls: 9}, 59*time.Minute + 30*time.Second, `
			watching +1s
			watching +20s
			watching +30s
			watching +30s
			watching +30s
			CLOSED late_payment tell:late_payment alert
			CLOSED late_payment tell:late_payment alert
			watching +30s
			watching +30s
			watching +30s`},
		{"watching, over", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Polls: 9}, time.Hour, `
			watching +1s
			watching +20s
			CLOSED watched
			CLOSED watched
			CLOSED watched
			CLOSED late_payment tell:late_payment alert
			CLOSED late_payment tell:late_payment alert
			CLOSED watched
			CLOSED watched
			CLOSED watched`},
		{"watching, long over", strictPlan(watchPlan), Life{Stage: Watching, State: "CLOSED", Polls: 9}, 25 * time.Hour, `
			CLOSED gave_up failed alert
			CLOSED gave_up failed alert
			CLOSED watched
			CLOSED watched
			CLOSED watched
			CLOSED late_payment tell:late_payment alert
			CLOSED late_payment tell:late_payment alert
			CLOSED watched
			CLOSED watched
			CLOSED watched`},
	}
	for _, tt := range tests {
		wants := strings.Split(strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", ""), "\n")
		if len(wants) != len(readings) {
			t.Fatalf("%s: %d outcomes; want %d", tt.name, len(wants), len(readings))
		}
		for i, name := range readings {
			now := created.Add(tt.age)
			a := answer{act: askQuery, started: now}
			switch name {
			case "throttled":
				a.throttled, a.retryAfter = true, 20*time.Second
			case "USERPAYING":
				a.reading, a.wait = Pending, 5*time.Second
			default:
				a.reading, _ = ParseReading(name)
			}
			before := tt.life
			if before.State == "" {
				before.State = StatePending
			}
			after, m := step(tt.plan, before, a, now)
			if got := outcome(after, m, now); got != wants[i] {
				t.Errorf("%s, %s: %s; want %s", tt.name, name, got, wants[i])
			}
			if err := after.check(); err != nil {
				t.Errorf("%s, %s: %v", tt.name, name, err)
			}
		}
	}
}

// Every reading of a close and of a reverse.
func TestStepCloses(t *testing.T) {
	readings := []string{"unknown", "throttled", "closed", "already_closed", "paid_hint", "in_flight", "not_exist"}
	tests := []struct {
		name string
		plan *plan
		life Life
		age  time.Duration
		want string
	}{
		{"close", strictPlan(), Life{Stage: Close, Why: "expired"}, ripe, `
			closing +1s
			closing +20s
			confirming +0s
			confirming +0s
			closing +1s
			closing +5s
			closing +1s`},
		{"close, the channel does not know it and expires orders", strictPlan(channelExpires), Life{Stage: Close, Why: "expired", Reading: "NOT_FOUND", Errors: 3}, ripe, `
			closing +8s
			closing +20s
			confirming +0s
			confirming +0s
			closing +8s
			closing +8s
			confirming +0s`},
		{"close, the channel knew it just now", strictPlan(channelExpires), Life{Stage: Close, Why: "expired", Reading: "PENDING", Errors: 3}, ripe, `
			closing +8s
			closing +20s
			confirming +0s
			confirming +0s
			closing +8s
			closing +8s
			closing +8s`},
		{"close, the channel does not know it, and is not known to expire orders", strictPlan(), Life{Stage: Close, Why: "expired", Reading: "NOT_FOUND"}, ripe, `
			closing +1s
			closing +20s
			confirming +0s
			confirming +0s
			closing +1s
			closing +5s
			closing +1s`},
		{"close, give_up is over", strictPlan(), Life{Stage: Close, Why: "expired"}, over, `
			UNKNOWN gave_up failed alert
			UNKNOWN gave_up failed alert
			confirming +0s
			confirming +0s
			UNKNOWN gave_up failed alert
			UNKNOWN gave_up failed alert
			UNKNOWN gave_up failed alert`},
		{"reclose", strictPlan(watchPlan, unborn), Life{Stage: Reclosing, State: "CLOSED"}, ripe, `
			watching +1m
			watching +1m
			watching +1m
			watching +1m
			watching +2s
			watching +1m
			watching +1m`},
		{"reverse", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reverse, Why: "exhausted"}, young, `
			reverse +2s
			reverse +20s
			REVOKED revoked tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reversing +2s
			reverse +2s
			reversing +2s`},
		{"reverse, third", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reverse, Why: "exhausted", Reverses: 2}, young, `
			reversing +2s alert
			reversing +20s alert
			REVOKED revoked tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reversing +2s alert
			reversing +2s alert
			reversing +2s alert`},
		{"reverse, eighth", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reverse, Why: "exhausted", Reverses: 7}, ripe, `
			reversing +1m4s
			reversing +1m4s
			REVOKED revoked tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reversing +1m4s
			reversing +1m4s
			reversing +1m4s`},
		{"reverse after FAILED", strictPlan(onExhausted(OnExhaustedReverse), channelExpires), Life{Stage: Reverse, Why: "failed"}, young, `
			reverse +2s
			reverse +20s
			FAILED failed tell:decided watch:15m
			FAILED failed tell:decided watch:15m
			reversing +2s
			reverse +2s
			reversing +2s`},
		{"reverse of what the channel does not know", strictPlan(onExhausted(OnExhaustedReverse), channelExpires), Life{Stage: Reverse, Why: "exhausted", Reading: "NOT_FOUND"}, young, `
			reverse +2s
			reverse +20s
			REVOKED revoked tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reversing +2s
			reverse +2s
			REVOKED revoked tell:decided watch:15m`},
		{"reverse, give_up is over", strictPlan(onExhausted(OnExhaustedReverse)), Life{Stage: Reverse, Why: "exhausted"}, over, `
			reverse +2s
			reverse +2s
			REVOKED revoked tell:decided watch:15m
			REVOKED revoked tell:decided watch:15m
			reversing +2s
			reverse +2s
			reversing +2s`},
	}
	for _, tt := range tests {
		wants := strings.Split(strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", ""), "\n")
		if len(wants) != len(readings) {
			t.Fatalf("%s: %d outcomes; want %d", tt.name, len(wants), len(readings))
		}
		for i, name := range readings {
			now := created.Add(tt.age)
			a := answer{act: askClose, started: now}
			if tt.life.Stage == Reverse {
				a.act = askReverse
			}
			if name == "throttled" {
				a.throttled, a.retryAfter = true, 20*time.Second
			} else {
				a.close, _ = ParseCloseReading(name)
			}
			before := tt.life
			before.State = cmp.Or(before.State, StatePending)
			after, m := step(tt.plan, before, a, now)
			if got := outcome(after, m, now); got != wants[i] {
				t.Errorf("%s, %s: %s; want %s", tt.name, name, got, wants[i])
			}
			if err := after.check(); err != nil {
				t.Errorf("%s, %s: %v", tt.name, name, err)
			}
		}
	}
}

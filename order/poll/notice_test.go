package poll

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

// A notice that contradicts the decision causes one query, whose answer settles it or raises the
// alert. One that agrees, that says no outcome, or that is refused causes none.
func TestNoticeAfterTheDecision(t *testing.T) {
	for name, tt := range map[string]struct {
		answer Reading // to the query
		alert  string
		again  order.NoticeResult // of another such notice
	}{
		"contradicted": {FailedThere, "DONE: after the decision the channel says FAILED_THERE", order.NoticeDuplicate},
		"confirmed":    {Done, "", order.NoticeApplied},
		"no answer":    {QueryError, "DONE: after the decision a notice says FAILED_THERE, and the query of it says QUERY_ERROR", order.NoticeDuplicate},
	} {
		h := newHouse(t)
		h.channel.query = reads(Done)
		task := h.refund("")
		h.attempt(task)
		tell := func(result order.NoticeResult, reading string, want order.NoticeResult) {
			t.Helper()
			told := &order.Told{Result: result, Of: order.OfRefund, RefNo: "R1", Reading: reading}
			v, err := h.handler.Complete(task, bellman.Completion{Detail: told}, h.now)
			if err != nil || told.Result != want || v.Due.IsZero() == (want == order.NoticeApplied) || len(v.Follow) != 1 || v.Follow[0].Reason != string(want) {
				t.Errorf("%s: a notice of %q: %+v, %v, %s; want %s", name, reading, v, err, told.Result, want)
			}
			if v.Data != nil {
				task.Data = v.Data
			}
		}
		tell(order.NoticeApplied, StateDone, order.NoticeDuplicate)
		tell(order.NoticeApplied, "", order.NoticeDuplicate)
		tell(order.NoticeRefused, StateFailedThere, order.NoticeDuplicate)
		tell(order.NoticeApplied, StateFailedThere, order.NoticeApplied)
		tell(order.NoticeApplied, StateFailedThere, order.NoticeDuplicate) // the query is on its way
		h.channel.query = reads(tt.answer)
		task.Before, task.State, task.Trigger, task.Due = &bellman.Before{State: task.State}, bellman.Pending, bellman.BySettle, h.now
		h.attempt(task)
		if got := strings.Join(h.alerts, ", "); got != tt.alert || StandingOf(task).State != StateDone || h.tells != 1 || task.State != bellman.Succeeded {
			t.Errorf("%s: alerts %q, %+v, told %d times; want %q, DONE, once", name, got, StandingOf(task), h.tells, tt.alert)
		}
		tell(order.NoticeApplied, StateFailedThere, tt.again)
	}
}

// A notice after the schedule is used up causes more than one query soon: the channel's query may
// lag behind its notice. A refused notice causes one.
func TestNoticeWhenTheScheduleIsUsedUp(t *testing.T) {
	for result, want := range map[order.NoticeResult]string{
		order.NoticeApplied: "0s, 1m0s, 3m0s, 8m0s, 18m0s, 48m0s, 6h48m0s, 12h48m0s",
		order.NoticeRefused: "0s, 6h0m0s, 12h0m0s, 18h0m0s, 24h0m0s, 30h0m0s, 36h0m0s, 42h0m0s",
	} {
		h := newHouse(t)
		task := h.refund("1m*3")
		h.gaps(task, 7)
		came := h.now.Add(time.Hour)
		h.now = came
		v, err := h.handler.Complete(task, bellman.Completion{Detail: &order.Told{Result: result, Of: order.OfRefund, RefNo: "R1"}}, h.now)
		if err != nil || !v.Due.Equal(came) {
			t.Fatalf("%+v, %v; want a query now", v, err)
		}
		if task.Due = v.Due; v.Data != nil {
			task.Data = v.Data
		}
		var after []string
		for range 8 {
			h.attempt(task)
			after = append(after, h.now.Sub(came).String())
		}
		if got := strings.Join(after, ", "); got != want || len(h.alerts) != 1 {
			t.Errorf("%s: queries after %s, alerts %q; want %s, one alert", result, got, h.alerts, want)
		}
	}
}

// A notice causes a query only of a task that is polled: one whose request is still to come asks by
// itself, and one that has ended stays so.
func TestNoticeOfATaskThatIsNotPolled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rules  []func(*Rules)
		change func(h *house, task *bellman.Task)
		want   order.NoticeResult
	}{
		{"new", nil, func(*house, *bellman.Task) {}, order.NoticeApplied},
		{"polled", nil, func(h *house, task *bellman.Task) { h.attempt(task) }, order.NoticeApplied},
		{"cancelled", nil, func(_ *house, task *bellman.Task) { task.State = bellman.Cancelled }, order.NoticeDuplicate},
		{"before the request", []func(*Rules){requests}, func(*house, *bellman.Task) {}, order.NoticeDuplicate},
		{"the request is announced", []func(*Rules){requests}, func(h *house, task *bellman.Task) { h.attempt(task) }, order.NoticeDuplicate},
	} {
		h := newHouse(t, tt.rules...)
		task := h.refund("")
		tt.change(h, task)
		told := &order.Told{Result: order.NoticeApplied, Of: order.OfRefund, RefNo: "R1"}
		v, err := h.handler.Complete(task, bellman.Completion{Detail: told}, h.now)
		if err != nil || told.Result != tt.want || v.Due.IsZero() == (tt.want == order.NoticeApplied) {
			t.Errorf("%s: %s, due %v, data %s, %v; want %s", tt.name, told.Result, v.Due, v.Data, err, tt.want)
		}
		task.Data = []byte("{")
		for _, detail := range []any{told, nil} {
			if v, err := h.handler.Complete(task, bellman.Completion{Outcome: StateDone, Detail: detail}, h.now); err == nil {
				t.Errorf("%s, unreadable: %+v; want an error", tt.name, v)
			}
		}
	}
}

// A notice that is repeated without end causes queries, and fills the store with no more records
// than an order's.
func TestRepeatedNotice(t *testing.T) {
	for _, done := range []bool{false, true} {
		h := newHouse(t)
		task := h.refund("1m*3")
		if done {
			if _, err := h.handler.Complete(task, bellman.Completion{Outcome: "DONE"}, h.now); err != nil {
				t.Fatal(err)
			}
			task.State, task.Data = bellman.Succeeded, []byte(`{"stage":"decided","poll_state":"DONE","decided_at":1}`)
		}
		records := 0
		for range 300 {
			v, err := h.handler.Complete(task, bellman.Completion{Detail: &order.Told{Result: order.NoticeApplied, Of: order.OfRefund, RefNo: "R1", Reading: "DONE"}}, h.now)
			if err != nil || v.Due.IsZero() != done {
				t.Fatalf("done %t: %+v, %v; want a query unless it is decided", done, v, err)
			}
			if v.Data != nil {
				task.Data = v.Data
			}
			records += len(v.Follow)
		}
		if records != order.MaxRepeats {
			t.Errorf("done %t: 300 repeats left %d records; want %d", done, records, order.MaxRepeats)
		}
	}
}

package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/order"
)

func TestSettleOrders(t *testing.T) {
	m := make1(t, withOrders())
	c := dial(t, m, "")
	number := func(n string) func(*bellman.Task) { return func(o *bellman.Task) { o.OrderNo = n } }
	m.place(t, "orders", "a", order.Standing{State: "PENDING"}, number("pays"))
	m.place(t, "orders", "b", order.Standing{State: "CLOSED"}, func(o *bellman.Task) { ended(o); o.OrderNo = "late" })
	m.place(t, "orders", "c", order.Standing{State: "PENDING"}, number("slow"))
	m.place(t, "orders", "d", order.Standing{State: "PENDING"}, number("breaks"))
	m.place(t, "q", "e", order.Standing{}, number("told"))
	m.place(t, "orders", "f", order.Standing{State: "CLOSED", Beside: true}, number("late"))
	m.place(t, "orders", "g", order.Standing{State: "CLOSED"}, func(o *bellman.Task) { ended(o); o.OrderNo = "twice" })
	m.place(t, "orders", "h", order.Standing{State: "PENDING"}, number("twice"))
	m.fake.settled = func(task *bellman.Task, to *bellman.Status) error {
		switch task.OrderNo {
		case "pays":
			to.State, to.Data = bellman.Succeeded, life(order.Standing{State: "PAID"})
		case "late":
			to.Data = life(order.Standing{State: "CLOSED", Late: "PAID"})
		case "slow":
			return fmt.Errorf("queue paused: %w", bellman.ErrWaiting)
		case "breaks":
			return bellman.ErrClosed
		}
		return nil
	}
	var refs []client.OrderRef
	for _, n := range []string{"pays", "none", "late", "slow", "pays", "told", "breaks", "twice"} {
		refs = append(refs, client.OrderRef{MerchantNo: "M1", OrderNo: n})
	}
	results, err := c.SettleOrders(t.Context(), refs, 1500*time.Millisecond, client.Because{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range results {
		if r.OrderRef != refs[i] || (r.Error != nil) != (r.Status >= 400) || (r.Task == "") != (r.Status == 404) {
			t.Errorf("result %d: %+v", i, r)
		}
		got = append(got, fmt.Sprintf("%s %d %s %s %t %t", r.OrderNo, r.Status, r.OrderState, r.LatePayment, r.Asked, r.Last != nil))
	}
	want := []string{"pays 200 PAID  true true", "none 404   false false", "late 200 CLOSED PAID true true", "slow 202 PENDING  false false",
		"pays 200 PAID  true true", "told 404   false false", "breaks 503 PENDING  false false", "twice 200 PENDING  true true"}
	if !slices.Equal(got, want) {
		t.Errorf("results\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if calls := strings.Count(m.fake.called(), "settle "); calls != 6 {
		t.Errorf("%d tasks were asked about; want 6, each once", calls)
	}
	if n := m.inSettles.Load(); n != 0 {
		t.Errorf("%d orders are still being settled", n)
	}
	m.inSettles.Store(maxInSettles)
	_, err = c.SettleOrders(t.Context(), refs, 0, client.Because{})
	if _, also := c.Order(t.Context(), refs[0], time.Second); client.StatusOf(err) != 429 || client.StatusOf(also) != 429 {
		t.Errorf("when too many are being settled: %v, %v; want 429", err, also)
	}
}

// What is done so that an order does not stand where it should not any more.
func TestPlanOfSettling(t *testing.T) {
	now, deadline := t0, t0.Add(3*time.Second)
	in := func(d time.Duration) func(*bellman.Task) {
		return func(o *bellman.Task) { o.Due = t0.Add(d) }
	}
	timed := order.Standing{State: "PENDING", Closing: true, Timed: true}
	polling, closing, acting := order.Standing{State: "PENDING"}, order.Standing{State: "PENDING", Closing: true}, order.Standing{State: "PENDING", Closing: true, Acting: true}
	tests := []struct {
		name   string
		queue  string
		s      order.Standing
		change func(*bellman.Task)
		again  bool // it is not the first look, and was asked already
		want   string
	}{
		{"overdue", "orders", polling, in(-time.Second), false, "overdue at 0s"},
		{"due now", "orders", polling, in(0), true, "overdue at 0s"},
		{"due later", "orders", polling, in(time.Second), false, "nothing"},
		{"expired, and due within the wait", "orders", polling, func(o *bellman.Task) { in(time.Second)(o); o.Body = placed(t0.Add(-time.Hour), time.Minute) }, true, "waits at 1s"},
		{"expired, and due much later", "orders", polling, func(o *bellman.Task) { in(time.Minute)(o); o.Body = placed(t0.Add(-time.Hour), time.Minute) }, false, "move at 0s"},
		{"expired, moved", "orders", polling, func(o *bellman.Task) { in(time.Minute)(o); o.Body = placed(t0.Add(-time.Hour), time.Minute) }, true, "nothing"},
		{"expired and overdue", "orders", polling, func(o *bellman.Task) { in(0)(o); o.Body = placed(t0.Add(-time.Hour), time.Minute) }, true, "overdue at 0s"},
		{"decided", "orders", order.Standing{State: "PAID"}, ended, false, "nothing"},
		{"notification overdue", "q", order.Standing{}, in(-time.Second), false, "overdue at 0s"},
		{"notification later", "q", order.Standing{}, in(time.Second), false, "nothing"},
		{"notification of the decision", "q", order.Standing{}, in(-time.Second), true, "nothing"},
		{"step overdue", "orders", closing, in(-time.Second), false, "overdue at 0s"},
		{"step within the wait", "orders", closing, in(time.Second), false, "waits at 1s"},
		{"step after the wait", "orders", closing, in(time.Minute), false, "move at 0s"},
		{"step after the wait, moved", "orders", closing, in(time.Minute), true, "nothing"},
		{"confirmation after the wait", "orders", timed, in(time.Minute), false, "ask at 0s"},
		{"confirmation after the wait, asked", "orders", timed, in(time.Minute), true, "nothing"},
		{"confirmation, asked about just now", "orders", timed, in(time.Minute), false, "nothing"},
		{"confirmation, asked about a second ago", "orders", timed, in(time.Minute), false, "ask at 0s"},
		{"step, attempted just now", "orders", closing, in(time.Minute), false, "waits at 700ms"},
		{"confirmation within the wait", "orders", timed, in(time.Second), false, "waits at 1s"},
		{"confirmation overdue", "orders", timed, in(0), false, "overdue at 0s"},
		{"close overdue", "orders", acting, in(-time.Second), false, "waits at -1s"},
		{"close within the wait", "orders", acting, in(time.Second), true, "waits at 1s"},
		{"watch overdue", "orders", order.Standing{State: "CLOSED", Beside: true}, in(-time.Second), false, "overdue at 0s"},
	}
	for _, tt := range tests {
		m := make1(t, withOrders())
		task := m.place(t, tt.queue, tt.name, tt.s, tt.change)
		switch {
		case strings.HasSuffix(tt.name, "just now"):
			m.queried.note(t0.Add(-300*time.Millisecond), task.ID)
		case strings.HasSuffix(tt.name, "a second ago"):
			m.queried.note(t0.Add(-time.Second), task.ID)
		}
		p := m.plan([]*bellman.Task{task}, !tt.again, map[bellman.ID]bool{task.ID: tt.again}, now, deadline)
		got := "nothing"
		switch at := p.next.Sub(t0).String(); {
		case len(p.overdue) == 1 && len(p.move)+len(p.ask) == 0 && !p.waits:
			got = "overdue at " + at
		case len(p.move) == 1 && len(p.overdue)+len(p.ask) == 0 && !p.waits:
			got = "move at " + at
		case len(p.ask) == 1 && len(p.move) == 0 && len(p.overdue) == 0 && !p.waits:
			got = "ask at " + at
		case p.waits && len(p.move)+len(p.ask)+len(p.overdue) == 0:
			got = "waits at " + at
		case !p.done():
			got = fmt.Sprintf("%+v", p)
		}
		if got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}

// Nobody who settles reads a state that should have ended, as far as the wait goes.
func TestSettleWaitsForTheClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := make1(t, withOrders())
		own := m.place(t, "orders", "M1/1", order.Standing{State: "PENDING", Closing: true}, func(o *bellman.Task) { o.Due = time.Now().Add(-time.Minute) })
		m.place(t, "q", "timer", order.Standing{}, func(o *bellman.Task) { o.Due = time.Now().Add(time.Hour) })
		step := func(to *bellman.Status, in time.Duration, s order.Standing) {
			to.Due = time.Now().Add(in)
			to.Data = life(s)
		}
		m.fake.settled = func(task *bellman.Task, to *bellman.Status) error {
			time.Sleep(100 * time.Millisecond) // the channel's answer
			switch {
			case task.Attempts == 0: // asked: nobody paid; the close comes by itself
				step(to, 0, order.Standing{State: "PENDING", Closing: true, Acting: true})
				go func() {
					time.Sleep(300 * time.Millisecond)
					now, err := m.fake.Task(t.Context(), own.ID)
					if err != nil {
						panic(err)
					}
					closed := now.Status
					step(&closed, 2*time.Second, order.Standing{State: "PENDING", Closing: true, Timed: true})
					if err := m.fake.move(t.Context(), now, closed); err != nil {
						panic(err)
					}
				}()
			case !task.Due.After(time.Now()): // asked again, in its turn; out of turn it moves nothing
				step(to, 0, order.Standing{State: "CLOSED"})
				to.State, to.Due, to.VisibleAt, to.Finished = bellman.Succeeded, time.Time{}, time.Time{}, time.Now()
			}
			return nil
		}
		for _, tt := range []struct {
			wait     string
			state    string
			attempts int
			took     time.Duration
		}{{"1s", "PENDING", 3, 520 * time.Millisecond}, {"5s", "CLOSED", 4, 1980 * time.Millisecond}, {"5s", "CLOSED", 4, 0}} {
			start := time.Now()
			w := m.do("GET", "/v1/orders/M1/1?settle="+tt.wait, "")
			var o client.Order
			if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil || w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			took := time.Since(start)
			if o.Settled == nil || !*o.Settled {
				t.Errorf("settle=%s: %s; want it settled, for all that was due was attempted", tt.wait, w.Body)
			}
			if o.OrderState != tt.state || len(o.Attempts) != tt.attempts || took < tt.took || took > tt.took+100*time.Millisecond {
				t.Errorf("settle=%s: %s after %d attempts and %v; want %s after %d and %v", tt.wait, o.OrderState, len(o.Attempts), took, tt.state, tt.attempts, tt.took)
			}
		}
	})
}

// Whoever settles is told when the wait ended before all was attempted.
func TestSettledOrNot(t *testing.T) {
	late := func(o *bellman.Task) { o.Due = time.Now().Add(-time.Minute) }
	in := func(d time.Duration) func(*bellman.Task) {
		return func(o *bellman.Task) { o.Due = time.Now().Add(d) }
	}
	polling := order.Standing{State: "PENDING"}
	tests := []struct {
		name, queue string
		s           order.Standing
		change      func(*bellman.Task)
		takes       time.Duration // an attempt
		want        string
	}{
		{"overdue, answered", "orders", polling, late, time.Second, "true"},
		{"overdue, no answer in time", "orders", polling, late, time.Minute, "false"},
		{"overdue notification", "q", order.Standing{}, late, time.Second, "true"},
		{"overdue notification, no answer in time", "q", order.Standing{}, late, time.Minute, "false"},
		{"nothing due", "orders", polling, in(time.Hour), time.Minute, "true"},
		{"due while nothing is waited for", "orders", polling, in(time.Second), time.Minute, "true"},
		{"close that does not come", "orders", order.Standing{State: "PENDING", Closing: true, Acting: true}, in(time.Second), 0, "false"},
		{"confirmation asked out of turn", "orders", order.Standing{State: "PENDING", Closing: true, Timed: true}, in(time.Hour), time.Second, "true"},
		{"confirmation, no answer in time", "orders", order.Standing{State: "PENDING", Closing: true, Timed: true}, in(time.Hour), time.Minute, "false"},
		{"decided", "orders", order.Standing{State: "PAID"}, ended, time.Minute, "true"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := make1(t, withOrders())
			task := m.place(t, tt.queue, "k", tt.s, tt.change)
			m.fake.hold = tt.takes
			m.fake.settled = func(o *bellman.Task, to *bellman.Status) error {
				to.Due = time.Now().Add(time.Hour)
				return nil
			}
			for path, want := range map[string]string{"/v1/orders/M1/1": "", "/v1/orders/M1/1?settle=3s": tt.want} {
				w := m.do("GET", path, "")
				var o client.Order
				if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil || w.Code != 200 || len(o.Tasks) != 1 || o.Tasks[0].ID != task.ID.String() {
					t.Fatalf("%s: %d %s", tt.name, w.Code, w.Body)
				}
				got := ""
				if o.Settled != nil {
					got = fmt.Sprint(*o.Settled)
				}
				if got != want {
					t.Errorf("%s: %s: settled %q; want %q", tt.name, path, got, want)
				}
			}
		})
	}
}

// FuzzSettle: for every body, the answer is 200 with a result per order, or a refusal of the
// caller's mistake.
func FuzzSettle(f *testing.F) {
	for _, body := range []string{`{"orders":[{"merchant_no":"M1","order_no":"1"}],"wait":"1ms"}`, `{"orders":[{"merchant_no":"M1","order_no":"2"},{"merchant_no":"","order_no":"/"}]}`,
		`{"orders":[]}`, `[]`, `null`, ``, `{"orders":[1]}`, `{"orders":[{}],"wait":1}`} {
		f.Add([]byte(body))
	}
	m := make1(f, withOrders())
	m.place(f, "orders", "M1/1", order.Standing{State: "PAID"}, ended)
	f.Fuzz(func(t *testing.T, body []byte) {
		w := m.do("POST", "/v1/orders/settle", string(body))
		switch w.Code {
		case 400, 413, 422:
			problemOf(t, w)
			return
		case 200:
		default:
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
		var in client.SettleOrders
		var out client.SettledOrders
		if json.Unmarshal(body, &in) != nil || json.Unmarshal(w.Body.Bytes(), &out) != nil || len(in.Orders) != len(out.Results) {
			t.Fatalf("accepted %q with %s", body, w.Body)
		}
		for i, r := range out.Results {
			if known := in.Orders[i] == (client.OrderRef{MerchantNo: "M1", OrderNo: "1"}); r.OrderRef != in.Orders[i] || known != (r.Status == 200) || known == (r.Status == 404) {
				t.Fatalf("%q: %+v", body, r)
			}
		}
	})
}

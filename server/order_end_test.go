package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// What happens when the schedule is used up and nothing is decided.
func TestOnExhausted(t *testing.T) {
	tests := []struct {
		on     string
		asked  string
		state  string
		task   string // state and reason of the order's task
		told   string
		alerts string // of the metrics; empty: none
	}{
		{"close", "query query query close query", "CLOSED", "succeeded closed", "order.closed", ""},
		{"reverse", "query query query reverse", "REVOKED", "succeeded revoked", "order.revoked", ""},
		{"callback", "query query query", "UNKNOWN", "failed exhausted", "order.undecided", ""},
		{"alert", "query query query", "UNKNOWN", "failed exhausted", "", `bellman_order_alerts_total{order_state="UNKNOWN",queue="orders"} 1`},
	}
	for _, tt := range tests {
		t.Run(tt.on, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			api, s := d.serve(t, d.settings(t, "then: tell", "schedule: 10ms*3", "confirm: 0s", "late_watch: 0s", "on_exhausted: "+tt.on))
			ref := many(t, api, 1, "1h")[0]
			o, told := d.ends(t, api, ref)
			task := o.Tasks[0]
			if o.OrderState != tt.state || task.State+" "+task.Reason != tt.task || events(told) != tt.told || d.was("0") != tt.asked {
				t.Errorf("the order is %s, its task %s %s, told were %s, asked %s; want %s, %s, %s, %s",
					o.OrderState, task.State, task.Reason, events(told), d.was("0"), tt.state, tt.task, tt.told, tt.asked)
			}
			for _, n := range told {
				if n.Says["order_state"] != tt.state || n.Says["order_no"] != "0" || n.Says["merchant_no"] != "M1" {
					t.Errorf("told %v; want of order 0 that it is %s", n.Says, tt.state)
				}
			}
			metrics := scrape(t, s.Addr())
			line := ""
			for l := range strings.SplitSeq(metrics, "\n") {
				if strings.HasPrefix(l, "bellman_order_alerts_total{") {
					line += l
				}
			}
			logged := strings.Contains(d.log.String(), `level=ERROR msg="an order needs manual action" task=`+task.ID+" queue=orders merchant_no=M1 order_no=0 order_state=UNKNOWN")
			if line != tt.alerts || logged != (tt.alerts != "") {
				t.Errorf("the metrics have %q, alerted in the log: %t; want %q:\n%s", line, logged, tt.alerts, d.log.String())
			}
		})
	}
}

// An order that had expired before bellman got it is queried, and then closed as any other. If
// order_created is missing, the order counts as created when bellman gets it, each time that it
// does.
func TestOrderCreatedBefore(t *testing.T) {
	d := newDesk(t)
	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 1h*", "confirm: 0s", "late_watch: 0s", "on_exhausted: close"))
	before := client.At(time.Now())
	for no, at := range map[string]client.Time{"old": client.At(before.Add(-20 * time.Minute)), "new": {}} {
		in := client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, OrderCreated: at, Expires: "20m"}
		for _, first := range []bool{true, false} {
			if _, created, err := api.Create(t.Context(), in); err != nil || created != first {
				t.Fatalf("%s: created %t, %v; want %t", no, created, err, first)
			}
		}
		task, err := api.Task(t.Context(), client.ByKey("orders", "M1/"+no))
		if err != nil {
			t.Fatal(err)
		}
		if got := task.Request.OrderCreated; !at.IsZero() && got != at || at.IsZero() && got.Before(before.Add(-time.Minute)) { // the engine's clock may be late
			t.Errorf("%s was created at %v; want %v, or since %v", no, got, at, before)
		}
	}
	o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "old"})
	if asked := d.was("old"); o.OrderState != "CLOSED" || asked != "query close query" || events(told) != "order.closed" || d.was("new") != "" {
		t.Errorf("%s, asked %q, told %s; of the new one asked %q", o.OrderState, asked, events(told), d.was("new"))
	}
}

func scrape(t *testing.T, addr string) string {
	t.Helper()
	_, text := fetch(t, "http://"+addr+"/metrics")
	return text
}

// The channel's own notice arrives while a query is in flight whose answer says otherwise: the
// answer is logged and changes nothing.
func TestCompleteWhileAsked(t *testing.T) {
	for _, late := range []string{"NOTPAY", "CLOSED", "SUCCESS"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			in, let := make(chan struct{}), make(chan struct{})
			d.answer = func(_, _ string, n int, _ *http.Request) (int, string) {
				if n == 1 {
					close(in)
				}
				<-let
				return says(late)
			}
			api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 10ms*", "timeout: 5m", "on_exhausted: close"))
			ref := many(t, api, 1, "1h")[0]
			<-in
			if task, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "PAID", Reason: "callback"}); err != nil || task.OrderState != "PAID" {
				t.Errorf("complete: %+v, %v; want PAID", task, err)
			}
			close(let)
			passes(t, "the answer is logged", func() bool {
				o, err := api.Order(t.Context(), ref, 0)
				return err == nil && slices.ContainsFunc(o.Attempts, func(a client.OrderAttempt) bool {
					return a.Action == "query" && strings.Contains(a.Response, late)
				})
			})
			o, told := d.ends(t, api, ref)
			if o.OrderState != "PAID" || o.LatePayment != "" || events(told) != "order.paid" || d.was("0") != "query" || o.Tasks[0].State != "succeeded" {
				t.Errorf("%s, late payment %q, told %s, asked %s, task %s; want PAID, told once and asked no more",
					o.OrderState, o.LatePayment, events(told), d.was("0"), o.Tasks[0].State)
			}
		})
	}
}

// A cancel ends the watch while a query is in flight: its answer decides nothing, and nobody is
// notified.
func TestCancelWhileAsked(t *testing.T) {
	d := newDesk(t)
	in, let := make(chan struct{}), make(chan struct{})
	d.answer = func(string, string, int, *http.Request) (int, string) {
		close(in)
		<-let
		return says("NOTPAY")
	}
	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 10ms*", "timeout: 5m", "on_exhausted: close"))
	ref := many(t, api, 1, "1h")[0]
	<-in
	if task, err := api.CancelOrder(t.Context(), ref, client.Because{Reason: "test"}); err != nil || task.State != "cancelled" {
		t.Errorf("cancel: %+v, %v", task, err)
	}
	close(let)
	passes(t, "the answer is logged", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && len(o.Attempts) == 1
	})
	o, told := d.ends(t, api, ref)
	if o.OrderState != "UNKNOWN" || o.Tasks[0].State != "cancelled" || len(o.Tasks) != 1 || len(told) != 0 || d.was("0") != "query" {
		t.Errorf("%s, %d tasks, told %s, asked %s; want UNKNOWN, its own task alone, asked once", o.OrderState, len(o.Tasks), events(told), d.was("0"))
	}
}

// The answer to a query in flight says that the order is paid, after somebody has said otherwise or
// ended the watch: the state stays, and the merchant is notified of the payment.
func TestPaidAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*client.Client, client.OrderRef) (*client.Task, error){
		"UNKNOWN": func(c *client.Client, ref client.OrderRef) (*client.Task, error) {
			return c.CancelOrder(t.Context(), ref, client.Because{})
		},
	}
	for _, outcome := range []string{"FAILED", "REVOKED"} { // CLOSED has a watch besides
		ends[outcome] = func(c *client.Client, ref client.OrderRef) (*client.Task, error) {
			return c.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: outcome})
		}
	}
	for state, end := range ends {
		t.Run(state, func(t *testing.T) {
			d := newDesk(t)
			in, let := make(chan struct{}), make(chan struct{})
			d.answer = func(string, string, int, *http.Request) (int, string) {
				close(in)
				<-let
				return says("SUCCESS")
			}
			api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 10ms*", "timeout: 5m", "on_exhausted: close"))
			ref := many(t, api, 1, "1h")[0]
			<-in
			if task, err := end(api, ref); err != nil || task.OrderState != state {
				t.Fatalf("%+v, %v; want it to be %s", task, err, state)
			}
			close(let)
			passes(t, "the payment is told", func() bool {
				o, err := api.Order(t.Context(), ref, 0)
				return err == nil && o.LatePayment == "PAID"
			})
			o, told := d.ends(t, api, ref)
			want := "order.late_payment"
			if state != "UNKNOWN" {
				want = "order." + strings.ToLower(state) + " " + want
			}
			if o.OrderState != state || events(told) != want {
				t.Errorf("%s, told %s; want %s, told %s", o.OrderState, events(told), state, want)
			}
		})
	}
}

// With then.ordered, a merchant that could not be reached is notified of a late payment after the
// close of the order, not before.
func TestNoticesInOrder(t *testing.T) {
	d := newDesk(t)
	var reached atomic.Bool
	d.refuse = func(says map[string]any) bool { return says["late_payment"] == nil && !reached.Load() }
	queues := d.settings(t, "then: {queue: tell, ordered: true}", "schedule: 10ms*", "confirm: 0s", "late_watch: 1h", "on_exhausted: close")
	for i := range queues {
		if queues[i].Name == "tell" {
			queues[i].Schedule = "10ms*"
		}
	}
	api, _ := d.serve(t, queues)
	ref := many(t, api, 1, "50ms")[0]
	passes(t, "closed", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState == "CLOSED"
	})
	if _, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "PAID", Reason: "callback"}); err != nil {
		t.Fatal(err)
	}
	key := client.ByKey("tell", "orders/M1/0/late_payment")
	passes(t, "the notice of the late payment is looked at", func() bool {
		task, err := api.Task(t.Context(), key)
		return err == nil && task.WaitsFor != ""
	})
	d.mu.Lock()
	before := d.refused
	d.mu.Unlock()
	passes(t, "the other is told again and again", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.refused > before+5
	})
	if task, err := api.Task(t.Context(), key); err != nil || task.Attempts > 0 || task.OrderingKey != "M1/0" {
		t.Errorf("the notice of the late payment is %+v, %v; want no attempt of it, and the order's key as its ordering key", task, err)
	}
	reached.Store(true)
	if _, told := d.ends(t, api, ref); events(told) != "order.closed order.late_payment" {
		t.Errorf("told %s; want them in order", events(told))
	}
}

// A notice of a payment comes after the order was closed: the order stays CLOSED, and the merchant
// is notified of the late payment once, however often the notice comes.
func TestPaidNoticeAfterClosed(t *testing.T) {
	d := newDesk(t)
	api, s := d.serve(t, d.settings(t, "then: tell", "schedule: 10ms*", "confirm: 0s", "late_watch: 1h", "on_exhausted: close"))
	ref := many(t, api, 1, "50ms")[0]
	passes(t, "closed", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState == "CLOSED"
	})
	var notices sync.WaitGroup
	for range 4 {
		notices.Go(func() {
			if task, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "PAID", Reason: "callback"}); err != nil || task.OrderState != "CLOSED" {
				t.Errorf("complete: %+v, %v; want it CLOSED", task, err)
			}
		})
	}
	notices.Wait()
	o, told := d.ends(t, api, ref)
	if o.OrderState != "CLOSED" || o.LatePayment != "PAID" || events(told) != "order.closed order.late_payment" {
		t.Fatalf("%s, late payment %q, told %s; want CLOSED, PAID, told of both", o.OrderState, o.LatePayment, events(told))
	}
	if n := told[1].Says; n["late_payment"] != "PAID" || n["order_state"] != "CLOSED" || n["order_no"] != "0" {
		t.Errorf("told %v", n)
	}
	if want := `bellman_order_alerts_total{order_state="CLOSED",queue="orders"}`; !strings.Contains(scrape(t, s.Addr()), want) {
		t.Errorf("no alert %s", want)
	}
}

// A read with settle never shows PENDING for an order that has expired, however many read at once.
func TestSettledReadsAreNeverPending(t *testing.T) {
	t.Parallel()
	const expires = 300 * time.Millisecond
	d := newDesk(t)
	api, _ := d.serve(t, d.settings(t, "then: tell", "schedule: 1h*", "confirm: 0s", "late_watch: 0s", "on_exhausted: close"))
	refs := many(t, api, 40, fmt.Sprint(expires.Milliseconds(), "ms"))
	var readers sync.WaitGroup
	for _, ref := range refs {
		readers.Go(func() {
			for {
				asked := time.Now()
				o, err := api.Order(t.Context(), ref, time.Minute)
				if err != nil {
					t.Errorf("order %s: %v", ref.OrderNo, err)
					return
				}
				expired := !asked.Before(o.Tasks[0].Created.Add(expires))
				if expired && o.OrderState != "CLOSED" {
					t.Errorf("order %s is shown %s %v after it expired", ref.OrderNo, o.OrderState, asked.Sub(o.Tasks[0].Created.Add(expires)))
				}
				if expired {
					return
				}
			}
		})
	}
	readers.Wait()
	for _, ref := range refs {
		if _, told := d.ends(t, api, ref); events(told) != "order.closed" {
			t.Errorf("order %s: told %s; want order.closed", ref.OrderNo, events(told))
		}
		if n := strings.Count(d.was(ref.OrderNo), "close"); n != 1 {
			t.Errorf("order %s was asked %s; want one close", ref.OrderNo, d.was(ref.OrderNo))
		}
	}
}

package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

const (
	date    = "2000-01-02" // a bubble's clock begins at 2000-01-01 00:00 UTC
	account = "wechatpay:1230000109"
)

var noon = time.Date(2000, 1, 2, 12, 0, 0, 0, time.FixedZone("", 8*60*60))

// A world is a store with a queue "pay", whose channel has a bill.
type world struct {
	*memory.Store
	t     *testing.T
	queue reconcile.Queue
	leads bool
	loses bool // it leads no longer once it has written a page
	added int

	mu         sync.Mutex
	lines      []bill.Line
	before     []bill.Line // the bill of the day before
	noneYet    error       // instead of the bill of the day before
	billErr    error       // instead of the bill
	asked      int         // for the bill of date, or of a later day
	days       []string    // whose bills were asked for
	commits    int         // fail after this many; 0: none does
	settled    [][]bellman.ID
	slow       time.Duration       // how long a call of Settle takes
	paid       map[bellman.ID]bool // orders that a query finds paid
	unreadable bool                // no answer of a query can be read
	alarms     []alarm.Alarm
}

func newWorld(t *testing.T) *world {
	w := &world{Store: memory.New(), t: t, leads: true, paid: map[bellman.ID]bool{}}
	w.queue = reconcile.Queue{Name: "pay", Account: reconcile.Account{Identity: account, Statement: reconcile.Statement{Lines: w.bill}}, Window: 24 * time.Hour}
	return w
}

func (w *world) bill(_ context.Context, day string) iter.Seq2[bill.Line, error] {
	return func(yield func(bill.Line, error) bool) {
		w.mu.Lock()
		w.days = append(w.days, day)
		lines, err := slices.Clone(w.lines), w.billErr
		if day < date {
			lines, err = slices.Clone(w.before), w.noneYet
		} else {
			w.asked++
		}
		w.mu.Unlock()
		if err != nil {
			yield(bill.Line{}, err)
			return
		}
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}
}

var errCrash = errors.New("the process died")

func (w *world) Commit(ctx context.Context, b *store.Batch) error {
	w.mu.Lock()
	if w.commits > 0 {
		if w.commits--; w.commits == 0 {
			w.commits = 1
			w.mu.Unlock()
			return errCrash
		}
	}
	w.mu.Unlock()
	if w.loses && slices.ContainsFunc(b.Docs, func(d store.Doc) bool { return d.Kind == "reconciliation-page" }) {
		w.leads = false
	}
	return w.Store.Commit(ctx, b)
}

func (w *world) Report(_ context.Context, a alarm.Alarm) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alarms = append(w.alarms, a)
	return nil
}

// Settle finds the orders of paid paid.
func (w *world) Settle(ctx context.Context, _ bellman.By, ids ...bellman.ID) (out []engine.Settled, err error) {
	time.Sleep(w.slow)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled = append(w.settled, ids)
	for _, id := range ids {
		t, err := w.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		t.Last = &bellman.Attempt{Reading: "PENDING"}
		if w.unreadable {
			t.Last.Error = "the body is not JSON"
		}
		if w.paid[id] && t.Kind == bellman.KindPoll {
			t.Data, t.Last.Reading = []byte(`{"stage":"decided","poll_state":"DONE","decided_at":1}`), "DONE"
		} else if w.paid[id] {
			t.Data, t.Last.Reading = []byte(`{"stage":"decided","order_state":"PAID"}`), "PAID"
		}
		out = append(out, engine.Settled{ID: id, Task: t})
	}
	return out, nil
}

func (w *world) runs() *reconcile.Runs {
	w.t.Helper()
	r, err := reconcile.New(reconcile.Options{
		Store: w, Tasks: w, Alarms: w, Queues: func() []reconcile.Queue { return []reconcile.Queue{w.queue} },
		Leads: func() bool { return w.leads }, Logger: slog.New(slog.DiscardHandler), Dir: w.t.TempDir(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// order adds an order of 100 CNY in a state, created and decided shortly before noon.
func (w *world) order(no, state string) bellman.ID {
	w.t.Helper()
	life := fmt.Sprintf(`{"stage":"decided","order_state":%q,"decided_at":%d,"taken":{"transaction_id":"T%s","amount":100,"currency":"CNY","paid_at":%q}}`,
		state, noon.UnixMilli(), no, noon.UTC().Format(time.RFC3339))
	if state == "PENDING" {
		life = ""
	}
	return w.add(&bellman.Task{
		Key: "M1/" + no, Origin: &bellman.Origin{Alias: order.Alias(account, order.OfPayment, no)}, MerchantNo: "M1", OrderNo: no, Event: order.EventWatch,
		Body: []byte(`{"amount":100,"currency":"CNY"}`), Status: bellman.Status{Data: []byte(life)},
	})
}

func (w *world) add(t *bellman.Task) bellman.ID {
	w.t.Helper()
	if t.Queue == "" {
		t.Queue, t.Kind = "pay", bellman.KindOrder
	}
	t.ID = bellman.FirstID(noon.Add(-time.Minute))
	w.added++
	t.ID[15], t.ID[14] = byte(w.added), byte(w.added>>8)
	t.State, t.Version = bellman.Succeeded, 1
	if t.Kind == bellman.KindPoll && bytes.Contains(t.Data, []byte("PENDING")) {
		t.State = bellman.Pending
	}
	b := &store.Batch{Adds: []store.Add{{Task: t}}}
	if err := w.Store.Commit(w.t.Context(), b); err != nil || b.Adds[0].Err != nil {
		w.t.Fatal(err, b.Adds[0].Err)
	}
	return t.ID
}

// line adds a payment of an amount to the bill.
func (w *world) line(no string, amount int64) *bill.Line {
	w.lines = append(w.lines, bill.Line{ChannelOrderNo: no, TransactionID: "T" + no, Kind: bill.Payment, Amount: amount, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: len(w.lines) + 1})
	return &w.lines[len(w.lines)-1]
}

// plant adds one difference of each kind, and two orders that agree.
func (w *world) plant() (pending bellman.ID) {
	w.order("A1", "PAID")
	w.line("A1", 100)
	w.order("A2", "CLOSED") // paid late: its watch says so
	w.add(&bellman.Task{Key: "M1/A2/late_watch", MerchantNo: "M1", OrderNo: "A2", Event: order.EventLateWatch,
		Body:   []byte(`{"amount":100,"currency":"CNY","watch":{"of":"M1/A2","order_state":"CLOSED","decided":"2000-01-02T04:00:00Z","until":"2000-01-02T05:00:00Z"}}`),
		Status: bellman.Status{Data: []byte(`{"stage":"watching","order_state":"CLOSED","late_payment":"PAID","taken":{"amount":100,"currency":"CNY","paid_at":"2000-01-02T04:00:00Z"}}`)}})
	w.line("A2", 100)

	w.line("B1", 100)                  // missing here
	w.order("B2", "PAID")              // missing there
	w.order("B3", "PAID")              // amount
	w.line("B3", 99)                   //
	pending = w.order("B4", "PENDING") // state
	w.line("B4", 100)
	w.order("B5", "PAID") // refund
	w.line("B5", 100)
	*w.line("B5", 0) = bill.Line{ChannelOrderNo: "B5", RefundNo: "R5", Kind: bill.Refund, RefundAmount: 30, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: len(w.lines)}
	w.order("B6", "PAID") // duplicate
	w.line("B6", 100)
	w.line("B6", 100).TransactionID = "T-again"
	return pending
}

var planted = []string{"missing_here B1", "missing_there B2", "amount B3", "state B4", "refund B5", "duplicate B6"}

// differences returns all differences of a run, a page of two at a time.
func differences(t *testing.T, r *reconcile.Runs, id string) (found []string, items []reconcile.Item) {
	t.Helper()
	for after := 0; ; {
		page, next, err := r.Differences(t.Context(), id, "", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page {
			found = append(found, string(item.Kind)+" "+item.ChannelOrderNo)
		}
		items = append(items, page...)
		if after = next; next == 0 {
			return found, items
		}
	}
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// compared starts a reconciliation, works for a time, and returns what there is then.
func compared(t *testing.T, r *reconcile.Runs, in reconcile.Request, d time.Duration) reconcile.Run {
	t.Helper()
	run, err := r.Start(t.Context(), in)
	if err == nil {
		work(t, r, d)
		run, err = r.Get(t.Context(), run.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// work runs r until nothing is waiting or running that could make progress now.
func work(t *testing.T, r *reconcile.Runs, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	time.Sleep(d)
	synctest.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v; want nil", err)
	}
}

func afterwards() { time.Sleep(time.Until(noon.Add(24 * time.Hour))) }

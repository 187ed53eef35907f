package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
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

	mu      sync.Mutex
	lines   []bill.Line
	billErr error // instead of the bill
	asked   int   // for the bill
	commits int   // fail after this many; 0: none does
	settled [][]bellman.ID
	slow    time.Duration       // how long a call of Settle takes
	paid    map[bellman.ID]bool // orders that a query finds paid
	alarms  []alarm.Alarm
}

func newWorld(t *testing.T) *world {
	w := &world{Store: memory.New(), t: t, leads: true, paid: map[bellman.ID]bool{}}
	w.queue = reconcile.Queue{Name: "pay", Account: account, Window: 24 * time.Hour, Lines: w.bill}
	return w
}

func (w *world) bill(context.Context, string) iter.Seq2[bill.Line, error] {
	return func(yield func(bill.Line, error) bool) {
		w.mu.Lock()
		w.asked++
		lines, err := slices.Clone(w.lines), w.billErr
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
		if w.paid[id] {
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
	t.ID, t.Queue, t.Kind = bellman.FirstID(noon.Add(-time.Minute)), "pay", bellman.KindOrder
	t.ID[15], t.ID[14] = byte(w.count()), byte(w.count()>>8)
	t.State, t.Version = bellman.Succeeded, 1
	b := &store.Batch{Adds: []store.Add{{Task: t}}}
	if err := w.Store.Commit(w.t.Context(), b); err != nil || b.Adds[0].Err != nil {
		w.t.Fatal(err, b.Adds[0].Err)
	}
	return t.ID
}

func (w *world) count() (n int64) {
	depths, err := w.Depths(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range depths {
		n += d.Succeeded
	}
	return n
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

func TestSixKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.plant()
		r := w.runs()
		in := reconcile.Request{Queue: "pay", Date: date, By: bellman.By{Who: "ops", Reason: "why"}}
		for _, time := range []string{"first", "second"} { // the same day again gives the same
			started, err := r.Start(t.Context(), in)
			if err != nil || started.State != reconcile.Waiting {
				t.Fatalf("%s: Start = %+v, %v; want a waiting run", time, started, err)
			}
			work(t, r, 1)
			run, err := r.Get(t.Context(), started.ID)
			if err != nil || run.State != reconcile.Done || run.Total() != 6 || run.Counts.Matched != 4 || len(run.Counts.Differences) != 6 || run.Kept != 6 {
				t.Fatalf("%s: %+v, %v; want it done with one difference of each kind and 4 lines that agree", time, run, err)
			}
			if found, _ := differences(t, r, run.ID); !sameSet(found, planted) {
				t.Errorf("%s: differences %q; want %q", time, found, planted)
			}
		}
		some, _, err := r.Differences(t.Context(), mustID(t, r), bill.AmountDiffers, 0, 10)
		if err != nil || len(some) != 1 || some[0].There.Amount != 99 || some[0].Here.Amount != 100 || some[0].Here.OrderNo != "B3" {
			t.Errorf("amounts: %+v, %v; want that of B3", some, err)
		}
		if docs, err := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation-page"}, 10); err != nil || len(docs) != 1 {
			t.Errorf("%d pages, %v; want the one of the second result", len(docs), err)
		}
		audits, err := w.Audits(t.Context(), time.Time{}, 10)
		if err != nil || len(audits) != 2 || audits[0].Action != "reconcile" || audits[0].Who != "ops" {
			t.Errorf("audits %+v, %v; want two of reconcile by ops", audits, err)
		}
	})
}

func mustID(t *testing.T, r *reconcile.Runs) string {
	t.Helper()
	all, err := r.List(t.Context(), 10)
	if err != nil || len(all) != 1 {
		t.Fatalf("List = %+v, %v; want one run", all, err)
	}
	return all[0].ID
}

// A crash at any commit of a comparison leaves the result before it, and the next process makes the new one.
func TestCrashBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.line("first", 100)
		r := w.runs()
		in := reconcile.Request{Queue: "pay", Date: date}
		if _, err := r.Start(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		work(t, r, 1)
		w.lines = nil
		for i := range 350 {
			w.line(fmt.Sprint("N", i), 100)
		}
		if _, err := r.Start(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		w.commits = 4 // the head, two pages, and the third fails
		id := mustID(t, r)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-ended
		if found, _ := differences(t, r, id); !slices.Equal(found, []string{"missing_here first"}) {
			t.Errorf("after the crash: %q; want the result before", found)
		}
		w.commits = 0
		r = w.runs()
		work(t, r, 1)
		run, err := r.Get(t.Context(), id)
		found, _ := differences(t, r, id)
		if err != nil || run.State != reconcile.Done || len(found) != 350 || run.Kept != 350 || run.Pages != 4 {
			t.Errorf("the next process: %+v, %v, %d differences; want 350 in 4 pages", run, err, len(found))
		}
		if docs, err := w.Docs(t.Context(), store.DocFilter{Kind: "reconciliation-page"}, 50); err != nil || len(docs) != 4 {
			t.Errorf("%d pages are kept, %v; want 4", len(docs), err)
		}
	})
}

// The daily job waits for its time in its zone, asks again while the bill is not ready, and reports once.
func TestDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shanghai, err := time.LoadLocation("Asia/Shanghai")
		if err != nil {
			t.Fatal(err)
		}
		w.queue.Daily = &reconcile.Daily{At: 10*time.Hour + 30*time.Minute, Zone: shanghai, Alarm: "ops"}
		w.billErr = fmt.Errorf("%w: ask later", order.ErrBillNotReady)
		time.Sleep(time.Until(time.Date(2000, 1, 3, 10, 0, 0, 0, shanghai)))
		r := w.runs()
		work(t, r, 29*time.Minute)
		if w.asked != 0 {
			t.Errorf("the bill was asked for %d times before 10:30", w.asked)
		}
		w.plant()
		work(t, r, 32*time.Minute) // until 11:01
		run, err := r.Get(t.Context(), mustID(t, r))
		if err != nil || w.asked != 2 || run.State != reconcile.Waiting || run.Date != date || !strings.Contains(run.Error, "not ready") {
			t.Errorf("at 11:01: asked %d times, %+v, %v; want twice, and the run of %s waiting", w.asked, run, err, date)
		}
		w.leads = false
		w.billErr = nil
		work(t, r, time.Hour)
		if w.asked != 2 {
			t.Error("a process that does not lead asked for the bill")
		}
		w.leads = true
		work(t, r, 10*time.Hour) // 22:01
		run, err = r.Get(t.Context(), run.ID)
		if err != nil || w.asked != 3 || run.State != reconcile.Done || run.Total() != 6 || !run.Daily {
			t.Errorf("at 22:01: asked %d times, %+v, %v; want three times, done with 6 differences", w.asked, run, err)
		}
		if len(w.alarms) != 1 || w.alarms[0].When != alarm.ReconcileDifferences || w.alarms[0].To != "ops" || w.alarms[0].Value != 6 || w.alarms[0].Date != date || w.alarms[0].Counts["state"] != 1 {
			t.Errorf("alarms %+v; want one of 6 differences", w.alarms)
		}
		// The next day's bill never comes.
		w.billErr, w.asked = order.ErrBillNotReady, 0
		work(t, r, 36*time.Hour)
		all, err := r.List(t.Context(), 10)
		if err != nil || len(all) != 2 || all[0].Date != "2000-01-03" || all[0].State != reconcile.Failed || w.asked != 21 {
			t.Errorf("the next day: asked %d times, %+v, %v; want 21 times in ten hours, and then failed", w.asked, all, err)
		}
		if len(w.alarms) != 2 || w.alarms[1].When != alarm.ReconcileFailed {
			t.Errorf("alarms %+v; want one more, of the bill that could not be had", w.alarms)
		}
	})
}

// Settle asks about each order once, and notes what came of it.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.paid[w.plant()] = true
		r := w.runs()
		run, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); !errors.Is(err, bellman.ErrConflict) {
			t.Errorf("Settle before the result = %v; want ErrConflict", err)
		}
		work(t, r, 1)
		for range 2 { // the second request asks nothing
			if _, err := r.Settle(t.Context(), run.ID, bellman.By{Who: "ops"}); err != nil {
				t.Fatal(err)
			}
			work(t, r, 1)
			run, err = r.Get(t.Context(), run.ID)
			if s := run.Settling; err != nil || s.State != reconcile.Done || s.Asked != 5 || s.Settled != 1 || s.Failed != 0 || s.Who != "ops" {
				t.Errorf("settling %+v, %v; want 5 orders asked about, 1 settled", s, err)
			}
			if len(w.settled) != 1 || len(w.settled[0]) != 5 {
				t.Errorf("asked about %v; want five orders at once", w.settled)
			}
		}
		_, items := differences(t, r, run.ID)
		for _, item := range items {
			asked := item.Asked
			switch {
			case item.Kind == bill.MissingHere:
				if asked != nil {
					t.Errorf("%+v was asked about, and bellman has no order", item)
				}
			case asked == nil || asked.Settled != (item.Kind == bill.StateDiffers) || asked.Reading == "":
				t.Errorf("%s: asked %+v; want settled for the state alone", item.Kind, asked)
			}
		}
	})
}

// Many queries do not hold up another run for longer than a turn, and each order is asked about once.
func TestSettleTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		for i := range 350 {
			w.order(fmt.Sprint("N", i), "PAID")
		}
		w.slow = 10 * time.Second // a page
		r := w.runs()
		run, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date})
		if err != nil {
			t.Fatal(err)
		}
		work(t, r, 1)
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(5 * time.Second)
		second, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: "2000-01-01"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got, err := r.Get(t.Context(), second.ID); err != nil || got.State != reconcile.Done {
			t.Errorf("after 25 s the other run is %+v, %v; want it done", got, err)
		}
		time.Sleep(time.Minute)
		cancel()
		<-ended
		run, err = r.Get(t.Context(), run.ID)
		if err != nil || run.Settling.State != reconcile.Done || run.Settling.Asked != 350 || len(w.settled) != 4 {
			t.Errorf("settling %+v, %v, in %d calls; want 350 orders in 4", run.Settling, err, len(w.settled))
		}
	})
}

// A file is compared at once, with a mapping, and refused if it is wrong.
func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		w.leads = false // any process takes a file
		w.order("A1", "PAID")
		w.order("B2", "PAID")
		r := w.runs()
		m, err := reconcile.ParseMapping("channel_order_no=no, amount=yuan, time=at, units=main, paid=OK|FINE, state=st")
		if err != nil {
			t.Fatal(err)
		}
		in := reconcile.Request{Queue: "pay", Date: date}
		text := "no,yuan,at,st\nA1,1.00,2000-01-02 12:00:00,OK\nB3,2.50,2000-01-02 12:00:00,FINE\nB4,2.50,2000-01-02 12:00:00,NO\n"
		run, err := r.File(t.Context(), in, m, strings.NewReader(text))
		if err != nil || run.State != reconcile.Done || run.Source != reconcile.FromFile {
			t.Fatalf("File = %+v, %v; want it done", run, err)
		}
		if found, _ := differences(t, r, run.ID); !sameSet(found, []string{"missing_there B2", "missing_here B3"}) {
			t.Errorf("differences %q; want B2 missing there and B3 here", found)
		}
		for _, tt := range []struct {
			name, text string
			m          *bill.Mapping
			field      string
		}{
			{"another day", strings.ReplaceAll(text, "-02", "-09"), m, "file"},
			{"no amount", "no,yuan,at,st\nA1,much,2000-01-02 12:00:00,OK\n", m, "file"},
			{"no mapping", text, nil, "map"},
		} {
			_, err := r.File(t.Context(), in, tt.m, strings.NewReader(tt.text))
			var invalid *bellman.Invalid
			if !errors.As(err, &invalid) || invalid.Fields[0].Field != tt.field {
				t.Errorf("%s: %v; want %s invalid", tt.name, err, tt.field)
			}
		}
		if again, err := r.Get(t.Context(), run.ID); err != nil || !equalJSON(t, again, run) {
			t.Errorf("after wrong files: %+v, %v; want the result as it was", again, err)
		}
		w.queue.Read = func(f io.Reader) iter.Seq2[bill.Line, error] { return bill.ReadWeChatTrade(f) }
		if _, err := r.File(t.Context(), in, nil, strings.NewReader("no bill")); err == nil {
			t.Error("a file that is no bill was accepted as the channel's")
		}
	})
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

// What bellman knows of refunds explains lines of the bill.
func TestRefunds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		back := func(no, refundNo string, amount int64) {
			w.line(no, 100)
			*w.line(no, 0) = bill.Line{ChannelOrderNo: no, RefundNo: refundNo, Kind: bill.Refund, RefundAmount: amount, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: len(w.lines)}
		}
		notice := func(no, refundNo, content string) {
			told, err := json.Marshal(map[string]any{"notice": order.Told{Result: order.NoticeApplied, Of: order.OfRefund, OrderNo: no, RefNo: refundNo, Content: content}})
			if err != nil {
				t.Fatal(err)
			}
			w.add(&bellman.Task{MerchantNo: "M1", OrderNo: no, Event: order.EventNotice, Body: told})
		}
		w.order("A1", "PAID_REFUNDED")
		back("A1", "R1", 100)
		w.order("A2", "PAID")
		back("A2", "R2", 30)
		notice("A2", "R2", `{"refund_status":"SUCCESS","amount":{"refund":30}}`)
		w.order("B1", "PAID")
		back("B1", "R3", 30)
		notice("B1", "R3", `{"refund_status":"SUCCESS","amount":{"refund":20}}`)
		w.order("B2", "PAID")
		back("B2", "R4", 30)
		notice("B2", "R4", `{"refund_status":"CLOSED","amount":{"refund":30}}`)
		w.order("B3", "PAID")
		back("B3", "R5", 30)
		r := w.runs()
		for no, want := range map[bool][]string{false: {"refund B1", "refund B2", "refund B3"}, true: nil} {
			run, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date, NoRefunds: no})
			if err != nil {
				t.Fatal(err)
			}
			work(t, r, 1)
			if found, _ := differences(t, r, run.ID); !sameSet(found, want) {
				t.Errorf("without refunds %t: %q; want %q", no, found, want)
			}
		}
	})
}

func TestRequestIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		w := newWorld(t)
		r := w.runs()
		for field, in := range map[string]reconcile.Request{
			"queue": {Queue: "other", Date: date},
			"date":  {Queue: "pay", Date: "yesterday"},
		} {
			_, err := r.Start(t.Context(), in)
			var invalid *bellman.Invalid
			if !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Field != field {
				t.Errorf("Start(%+v) = %v; want %s invalid", in, err, field)
			}
		}
		if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: "2000-01-03"}); err == nil {
			t.Error("the bill of a day that is not over was asked for")
		}
		w.queue.Lines = nil
		if _, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date}); err == nil {
			t.Error("a channel without bills was asked for one")
		}
	})
}

func TestParseMapping(t *testing.T) {
	for _, text := range []string{"amount=1", "channel_order_no=1", "channel_order_no=1,amount", "channel_order_no=1,amount=2,colour=3", "channel_order_no=1,amount=2,zone=Mars"} {
		if m, err := reconcile.ParseMapping(text); err == nil {
			t.Errorf("ParseMapping(%q) = %+v; want an error", text, m)
		}
	}
	m, err := reconcile.ParseMapping("channel_order_no=1,amount=2,header=no,delimiter=tab,encoding=gbk")
	if err != nil || !m.NoHeader || m.Delimiter != '\t' || !m.GBK || m.Amount != "2" {
		t.Errorf("ParseMapping = %+v, %v", m, err)
	}
}

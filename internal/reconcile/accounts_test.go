package reconcile_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// shops are registered accounts of a world: shop1 to shop3, and again, which is shop1 by another
// name.
type shops struct {
	*world
	fails map[string]error  // of the bills, by identity
	none  map[string]error  // of the bills of the day before, by identity
	now   map[string]string // which account a name is now; none: as its number says
	asked []string          // names whose bill of date was asked for
	at    []time.Time       // when any bill was asked for
	pace  time.Duration
	empty bool // no account is registered

	amount int64 // of N1 in the bill of shop2; default 99
}

const shop = "wechatpay:190000000"

func (s *shops) Any(context.Context) (bool, error) { return !s.empty, nil }

func (s *shops) Get(_ context.Context, name string) (reconcile.Account, error) {
	n := cmp.Or(s.now[name], strings.TrimPrefix(name, "shop"))
	if name == "again" {
		n = "1"
	}
	if n != "1" && n != "2" && n != "3" || s.empty {
		return reconcile.Account{}, fmt.Errorf("account %s: %w", name, bellman.ErrNotFound)
	}
	identity := shop + n
	return reconcile.Account{Name: name, Identity: identity, Pace: s.pace, Statement: reconcile.Statement{Lines: func(_ context.Context, day string) iter.Seq2[bill.Line, error] {
		return func(yield func(bill.Line, error) bool) {
			s.at = append(s.at, time.Now())
			if day != date {
				if err := s.none[identity]; err != nil {
					yield(bill.Line{}, err)
				}
				return
			}
			s.asked = append(s.asked, name)
			if err := s.fails[identity]; err != nil {
				yield(bill.Line{}, err)
				return
			}
			// The same number in each account; that of shop2 has another amount, and shop3 an order
			// that bellman lacks.
			l := bill.Line{ChannelOrderNo: "N1", TransactionID: "T" + n, Amount: 100, Currency: "CNY", State: "SUCCESS", Time: noon.UTC(), Number: 1}
			if n == "2" {
				l.Amount = cmp.Or(s.amount, 99)
			}
			if yield(l, nil) && n == "3" {
				l.ChannelOrderNo, l.Number = "N2", 2
				yield(l, nil)
			}
		}
	}}}, nil
}

// own adds an order of the queue's own channel.
func (s *shops) own() *shops {
	s.world.order("own", "PAID")
	s.line("own", 100)
	return s
}

// newShops returns a world whose queue has a channel of its own, and orders of accounts.
func newShops(t *testing.T) *shops {
	s := &shops{world: newWorld(t), fails: map[string]error{}, none: map[string]error{}, now: map[string]string{}}
	s.queue.Registry = s
	for i, name := range []string{"shop1", "again", "shop2", "shop3"} {
		n := map[string]string{"shop1": "1", "again": "1", "shop2": "2", "shop3": "3"}[name]
		no, at := "N1", noon
		if name == "again" {
			no, at = "N9", noon.AddDate(0, 0, 3) // of another day
		}
		s.add(&bellman.Task{
			Key: name + "/" + no, Origin: &bellman.Origin{Alias: order.Alias(shop+n, order.OfPayment, no)}, MerchantNo: fmt.Sprint("M", i), OrderNo: no, Event: order.EventWatch,
			Body: fmt.Appendf(nil, `{"amount":100,"currency":"CNY","account":%q}`, name),
			Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","decided_at":1,"taken":{"transaction_id":"T%s","amount":100,"currency":"CNY","paid_at":%q}}`,
				n, at.UTC().Format(time.RFC3339))},
		})
	}
	return s
}

// found are the differences of a run with their accounts.
func (s *shops) found(r *reconcile.Runs, id string) (found []string) {
	s.t.Helper()
	_, items := differences(s.t, r, id)
	for i, item := range items {
		if item.Number != i+1 {
			s.t.Errorf("difference %d has the number %d", i+1, item.Number)
		}
		found = append(found, fmt.Sprint(item.Account, " ", item.Kind, " ", item.ChannelOrderNo))
	}
	slices.Sort(found)
	return found
}

var ofShops = []string{shop + "2 amount N1", shop + "3 missing_here N2"}

// The daily job compares the bill of every account that orders name, each once. A bill that cannot
// be had holds up no other, and is asked for alone until it comes.
func TestDailyOfAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t).own()
		s.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		s.fails[shop+"2"] = fmt.Errorf("%w: ask later", order.ErrBillNotReady)
		time.Sleep(time.Until(noon.Add(22*time.Hour + time.Minute)))
		r := s.runs()
		work(t, r, time.Minute)
		run, err := r.Get(t.Context(), mustID(t, r))
		if err != nil || run.State != reconcile.Waiting || run.Bills != 3 || len(run.Left) != 1 || run.Left[0].Account != "shop2" || !strings.Contains(run.Error, "orders of 1 of 4 accounts are not compared; shop2: ") || !strings.Contains(run.Error, "not ready") {
			t.Fatalf("%+v, %v; want three bills compared, and shop2 left", run, err)
		}
		if got := s.found(r, run.ID); !slices.Equal(got, ofShops[1:]) || run.Counts.Payments != 4 || run.Counts.Matched != 3 {
			t.Errorf("%q, %+v; want the result of the others", got, run.Counts)
		}
		if len(s.asked) != 3 || s.world.asked != 1 || len(s.alarms) != 0 {
			t.Errorf("asked for the bills of %q, %d of its own, alarms %+v; want each of the four once, and no alarm yet", s.asked, s.world.asked, s.alarms)
		}
		s.asked = nil
		delete(s.fails, shop+"2")
		s.commits = 3 // the head, and the page with the difference of shop2: the result is not kept
		work(t, r, time.Hour)
		if run, err := r.Get(t.Context(), run.ID); err != nil || run.State != reconcile.Running || run.Kept != 1 {
			t.Fatalf("%+v, %v; want the try broken off", run, err)
		}
		s.commits, s.asked, s.alarms, s.amount = 0, nil, nil, 98 // an alarm may be repeated
		r = s.runs()                                             // another leader goes on
		work(t, r, time.Hour)
		run, err = r.Get(t.Context(), run.ID)
		if got := s.found(r, run.ID); err != nil || run.State != reconcile.Done || run.Bills != 4 || len(run.Left) != 0 || !slices.Equal(got, ofShops) || run.Counts.Payments != 5 {
			t.Errorf("%+v, %v, %q; want it done, with %q", run, err, got, ofShops)
		}
		_, items := differences(t, r, run.ID)
		if i := slices.IndexFunc(items, func(i reconcile.Item) bool { return i.Account == shop+"2" }); i < 0 || items[i].There.Amount != 98 {
			t.Errorf("%+v; want nothing of the try that was broken off", items)
		}
		if !slices.Equal(s.asked, []string{"shop2"}) || s.world.asked != 1 {
			t.Errorf("asked for the bills of %q; want that of shop2 alone", s.asked)
		}
		if len(s.alarms) != 1 || s.alarms[0].When != alarm.ReconcileDifferences || s.alarms[0].Value != 2 {
			t.Errorf("alarms %+v; want one of both differences", s.alarms)
		}
	})
}

// An account that never has a bill is reported at the end, and so is what the others differ in.
// These can be settled.
func TestAccountWithoutABill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t).own()
		s.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		s.fails[shop+"3"] = errors.New("boom")
		s.add(&bellman.Task{Key: "gone", Origin: &bellman.Origin{Alias: order.Alias(shop+"7", order.OfPayment, "N7")}, MerchantNo: "M7", OrderNo: "N7", Event: order.EventWatch,
			Body: []byte(`{"account":"shop7"}`)})
		time.Sleep(time.Until(noon.Add(22*time.Hour + time.Minute)))
		r := s.runs()
		work(t, r, 11*time.Hour)
		run, err := r.Get(t.Context(), mustID(t, r))
		if err != nil || run.State != reconcile.Failed || run.Bills != 3 || len(run.Left) != 2 || !slices.Equal(s.found(r, run.ID), ofShops[:1]) {
			t.Fatalf("%+v, %v; want it failed for two accounts, with the result of three", run, err)
		}
		for _, l := range run.Left {
			if want := map[string]string{"shop3": "boom", "shop7": "is not registered"}[l.Account]; want == "" || !strings.Contains(l.Error, want) {
				t.Errorf("left: %+v", l)
			}
		}
		if len(s.alarms) != 2 || s.alarms[0].When != alarm.ReconcileFailed || s.alarms[1].When != alarm.ReconcileDifferences || s.alarms[0].ID == s.alarms[1].ID {
			t.Errorf("alarms %+v; want one of the accounts without a bill, and one of the difference", s.alarms)
		}
		if _, err := r.Settle(t.Context(), run.ID, bellman.By{}); err != nil {
			t.Fatal(err)
		}
		work(t, r, time.Minute)
		if run, err = r.Get(t.Context(), run.ID); err != nil || run.Settling.State != reconcile.Done || run.Settling.Asked != 1 {
			t.Errorf("%+v, %v; want the one order asked about", run.Settling, err)
		}
	})
}

// The daily job leaves out accounts that have no fund flow bill, such as Alipay's and those of
// sub-merchants: that is no failure.
func TestDailyFundFlowOfAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t).own()
		s.queue.FundFlow.Lines = s.queue.Lines
		s.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops", FundFlow: true}
		time.Sleep(time.Until(noon.Add(22*time.Hour + time.Minute)))
		r := s.runs()
		work(t, r, 11*time.Hour)
		all, err := r.List(t.Context(), 10)
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v; want the bills of both kinds compared", all, err)
		}
		for _, run := range all {
			if want := map[reconcile.BillKind]int{reconcile.TradeBill: 4, reconcile.FundFlow: 1}[run.Bill]; run.State != reconcile.Done || run.Bills != want || len(run.Left) != 0 {
				t.Errorf("%s: %s with %d bills, left %+v, %s; want it done with %d", run.Bill, run.State, run.Bills, run.Left, run.Error, want)
			}
		}
		_, err = r.Start(t.Context(), reconcile.Request{Queue: "pay", Account: "shop1", Bill: reconcile.FundFlow, Date: date})
		if wrong, is := errors.AsType[*bellman.Invalid](err); !is || wrong.Fields[0].Field != "bill" {
			t.Errorf("the fund flow bill of an account that has none: %v; want bill invalid", err)
		}
	})
}

// A queue's default account that is not registered yet, and that no order names, has nothing to
// compare.
func TestDefaultAccountOfNoOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t)
		s.queue.Account = reconcile.Account{Name: "shop8"}
		s.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		time.Sleep(time.Until(noon.Add(22*time.Hour + time.Minute)))
		r := s.runs()
		work(t, r, time.Hour)
		if run, err := r.Get(t.Context(), mustID(t, r)); err != nil || run.State != reconcile.Done || run.Bills != 3 {
			t.Errorf("%+v, %v; want the three accounts that orders name compared", run, err)
		}
	})
}

// An account has a refund of an older order on a day on which no order names it, or in the last
// hour of the day before. Its bill is compared, too.
func TestAccountOfARefundAlone(t *testing.T) {
	for noRefunds, bills := range map[bool]int{false: 3, true: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := &shops{world: newWorld(t)}
			s.queue.Registry, s.queue.Refunds = s, []string{"refunds"}
			for no, at := range map[string]time.Time{"1": noon.Add(-12*time.Hour - 30*time.Minute), "2": noon, "3": noon.AddDate(0, 0, -3)} { // that of shop3 was accepted on another day
				older := &store.Batch{Adds: []store.Add{{Task: &bellman.Task{
					ID: bellman.FirstID(noon.AddDate(0, 0, -10)), Queue: "pay", Kind: bellman.KindOrder, Key: "M" + no + "/N7", Origin: &bellman.Origin{Alias: order.Alias(shop+no, order.OfPayment, "N7")},
					MerchantNo: "M" + no, OrderNo: "N7", Event: order.EventWatch, Body: fmt.Appendf(nil, `{"account":"shop%s"}`, no), Status: bellman.Status{State: bellman.Succeeded, Version: 1},
				}}}}
				older.Adds[0].Task.ID[15] = no[0]
				if err := s.Store.Commit(t.Context(), older); err != nil || older.Adds[0].Err != nil {
					t.Fatal(err, older.Adds[0].Err)
				}
				s.add(&bellman.Task{
					Queue: "refunds", Kind: bellman.KindPoll, Key: "R" + no, Origin: &bellman.Origin{Alias: order.Alias(shop+no, order.OfRefund, "R"+no)}, MerchantNo: "M" + no, OrderNo: "N7", Event: poll.EventPoll,
					Body:   fmt.Appendf(nil, `{"ref_no":"R%s","account":"shop%s","vars":{"amount":"30"}}`, no, no),
					Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","poll_state":"DONE","decided_at":1,"requests":1,"first_at":%d,"request_at":%[1]d}`, at.UnixMilli())},
				})
			}
			afterwards()
			r := s.runs()
			run := compared(t, r, reconcile.Request{Queue: "pay", Date: date, NoRefunds: noRefunds}, time.Minute/2)
			if found := s.found(r, run.ID); run.State != reconcile.Done || run.Bills != bills || slices.Contains(found, shop+"2 refund N7") == noRefunds {
				t.Errorf("without refunds %t: %+v, %q; want %d bills, and the refund that shop2's lacks", noRefunds, run, found, bills)
			}
		})
	}
}

// The default account of a queue is registered, and the newest orders name the same by another
// name. That another account is not registered any more is told all the same: its orders cannot be
// compared.
func TestDeletedAccountBesideTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t)
		s.queue.Account = reconcile.Account{Name: "shop1"}
		s.add(&bellman.Task{Key: "gone", Origin: &bellman.Origin{Alias: order.Alias(shop+"7", order.OfPayment, "N7")}, MerchantNo: "M7", OrderNo: "N7", Event: order.EventWatch,
			Body: []byte(`{"account":"shop7"}`)})
		afterwards()
		r := s.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Date: date}, time.Minute/2)
		if run.State != reconcile.Failed || run.Bills != 3 || len(run.Left) != 1 || run.Left[0].Account != "shop7" {
			t.Errorf("%+v; want three accounts compared, and shop7 left", run)
		}
	})
}

// The name of an account is another account's now. Its former orders, which no bill is compared
// with, are told at once, and no later daily job repeats that. A request compares them when the
// name is the former account's again. Those that were paid on other days have nothing to compare.
func TestNameOfAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShops(t).own()
		s.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location(), Alarm: "ops"}
		s.now["shop2"] = "3"
		s.add(&bellman.Task{Key: "former", Origin: &bellman.Origin{Alias: order.Alias(shop+"7", order.OfPayment, "N7")}, MerchantNo: "M7", OrderNo: "N7", Event: order.EventWatch,
			Body: []byte(`{"account":"shop1"}`), Status: bellman.Status{Data: fmt.Appendf(nil, `{"stage":"decided","order_state":"PAID","taken":{"paid_at":%q}}`, noon.AddDate(0, 0, 3).UTC().Format(time.RFC3339))}})
		time.Sleep(time.Until(noon.Add(22*time.Hour + time.Minute)))
		r := s.runs()
		told := func(run reconcile.Run) bool {
			return run.Bills == 3 && len(run.Left) == 1 && run.Left[0].Account == "shop2" && strings.Contains(run.Left[0].Error, "is another one now, "+shop+"3: the orders of "+shop+"2 are not compared")
		}
		work(t, r, time.Minute/2)
		run, err := r.Get(t.Context(), mustID(t, r))
		if err != nil || run.State != reconcile.Failed || !told(run) || !slices.Equal(s.found(r, run.ID), ofShops[1:]) {
			t.Fatalf("%+v, %v; want three bills compared, the former orders of shop2 left, and it failed", run, err)
		}
		at := run.Created
		work(t, r, 26*time.Hour) // beyond the next daily job
		if run, err = r.Get(t.Context(), run.ID); err != nil || !run.Created.Equal(at) || run.State != reconcile.Failed {
			t.Errorf("%+v, %v; want it failed since %s, and not made again", run, err, at)
		}
		if len(s.alarms) != 2 || s.alarms[0].When != alarm.ReconcileFailed || s.alarms[1].When != alarm.ReconcileDifferences {
			t.Errorf("alarms %+v; want one of the orders that are left, and one of the differences", s.alarms)
		}
		delete(s.now, "shop2")
		run = compared(t, r, reconcile.Request{Queue: "pay", Date: date}, time.Minute/2)
		if run.State != reconcile.Done || run.Bills != 4 || run.Counts.Payments != 5 || !slices.Equal(s.found(r, run.ID), ofShops) {
			t.Errorf("%+v; want all four compared, each once", run)
		}
	})
}

// The last registered account is deleted, or the queue's channel is another account than the day
// before. The orders that no bill is compared with are told.
func TestOrdersOfNoAccount(t *testing.T) {
	for _, tt := range []struct {
		name  string
		world func(*testing.T) *world
		bills int
		left  []string
	}{
		{"no account is registered", func(t *testing.T) *world {
			s := newShops(t).own()
			s.empty = true
			return s.world
		}, 1, []string{`shop1: account "shop1" is not registered`, `shop2: account "shop2" is not registered`, `shop3: account "shop3" is not registered`}},
		{"nor the default one", func(t *testing.T) *world {
			s := newShops(t)
			s.empty, s.queue.Account = true, reconcile.Account{Name: "shop8"}
			return s.world
		}, 0, []string{`again: account "again" is not registered`, `shop2: account "shop2" is not registered`, `shop3: account "shop3" is not registered`}},
		{"another channel", func(t *testing.T) *world {
			w := newWorld(t)
			w.order("A1", "PAID")
			w.queue.Identity = "wechatpay:1230000110"
			return w
		}, 1, []string{": the queue's channel is another account now, wechatpay:1230000110: the orders of " + account + " are not compared"}},
		{"another channel, which is the same account", func(t *testing.T) *world {
			s := newShops(t)
			s.queue.Identity = shop + "1"
			s.queue.Account.Statement.Lines = func(context.Context, string) iter.Seq2[bill.Line, error] {
				return func(yield func(bill.Line, error) bool) {}
			}
			return s.world
		}, 3, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := tt.world(t)
				w.queue.Daily = &reconcile.Daily{At: 10 * time.Hour, Zone: noon.Location()}
				afterwards()
				r := w.runs()
				work(t, r, time.Minute/2)
				run, err := r.Get(t.Context(), mustID(t, r))
				var left []string
				for _, l := range run.Left {
					left = append(left, l.Account+": "+l.Error)
				}
				if err != nil || run.Bills != tt.bills || !slices.Equal(left, tt.left) || (run.State == reconcile.Failed) != (len(tt.left) > 0) {
					t.Errorf("%+v, %v, left %q; want %d bills compared, and left %q", run, err, left, tt.bills, tt.left)
				}
			})
		})
	}
}

// An account whose bill of the day before is missing is compared without it, and left at the end:
// nothing else is asked for again, and another request compares everything.
func TestAccountWithoutTheBillBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		s := newShops(t).own()
		s.none[shop+"1"] = errors.New("boom")
		s.fails[shop+"2"] = order.ErrBillNotReady
		r := s.runs()
		in := reconcile.Request{Queue: "pay", Date: date}
		run := compared(t, r, in, 2*time.Hour)
		left := func() (names []string) {
			for _, l := range run.Left {
				names = append(names, fmt.Sprint(l.Account, " ", l.Compared))
			}
			return names
		}
		if run.State != reconcile.Waiting || run.Bills != 3 || !slices.Equal(left(), []string{"shop2 false", "again true"}) {
			t.Fatalf("%+v; want shop2 left, and shop1 compared without the bill of the day before", run)
		}
		s.asked = nil
		delete(s.fails, shop+"2")
		work(t, r, time.Hour)
		var err error
		run, err = r.Get(t.Context(), run.ID)
		if err != nil || run.State != reconcile.Failed || run.Bills != 4 || !slices.Equal(left(), []string{"again true"}) || !slices.Equal(s.asked, []string{"shop2"}) {
			t.Errorf("%+v, %v, asked for the bills of %q; want shop2 compared too, and the run failed", run, err, s.asked)
		}
		if want := "the last hour of 2000-01-01 that its bill lacks are not compared: that bill is not available: boom"; !strings.Contains(run.Error, want) {
			t.Errorf("the error is %q; want %q", run.Error, want)
		}
		if got := s.found(r, run.ID); !slices.Equal(got, ofShops) || run.Counts.Payments != 5 {
			t.Errorf("%q, %+v; want the result of all", got, run.Counts)
		}
		delete(s.none, shop+"1")
		run = compared(t, r, in, time.Minute/2)
		if run.State != reconcile.Done || run.Bills != 4 || len(run.Left) != 0 || !slices.Equal(s.found(r, run.ID), ofShops) {
			t.Errorf("requested again: %+v; want it done", run)
		}
	})
}

// One account can be compared alone, at the pace of its rate, and from a file.
func TestOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		afterwards()
		s := newShops(t).own()
		s.pace = 2 * time.Second
		r := s.runs()
		run := compared(t, r, reconcile.Request{Queue: "pay", Account: "shop2", Date: date}, time.Minute)
		if run.State != reconcile.Done || run.Account != "shop2" || run.Bills != 1 || !slices.Equal(s.found(r, run.ID), ofShops[:1]) {
			t.Errorf("%+v; want shop2 alone", run)
		}
		if len(s.at) != 2 || s.at[1].Sub(s.at[0]) != s.pace || s.world.asked != 0 {
			t.Errorf("bills were asked for at %v; want that of the day and the one before, %s apart", s.at, s.pace)
		}
		all, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Date: date})
		if err != nil || all.ID == run.ID {
			t.Errorf("%+v, %v; want all accounts to be another reconciliation", all, err)
		}
		m, err := reconcile.ParseMapping("channel_order_no=no,amount=fee,time=at")
		if err != nil {
			t.Fatal(err)
		}
		file, err := r.File(t.Context(), reconcile.Request{Queue: "pay", Account: "shop1", Date: date}, m, strings.NewReader("no,fee,at\nN1,101,2000-01-02 12:00:00\n"))
		if got := s.found(r, file.ID); err != nil || !slices.Equal(got, []string{shop + "1 amount N1"}) {
			t.Errorf("the file: %+v, %v, %q; want the orders of shop1", file, err, got)
		}
		for _, tt := range []struct {
			account string
			none    bool
		}{{"shop9", false}, {"shop1", true}} {
			if s.queue.Registry = s; tt.none {
				s.queue.Registry = nil
			}
			_, err := r.Start(t.Context(), reconcile.Request{Queue: "pay", Account: tt.account, Date: date})
			if wrong, is := errors.AsType[*bellman.Invalid](err); !is || len(wrong.Fields) != 1 || wrong.Fields[0].Field != "account" {
				t.Errorf("account %s: %v; want account invalid", tt.account, err)
			}
		}
	})
}

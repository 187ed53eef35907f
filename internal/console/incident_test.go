package console

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// flat is a page without markup, with single blanks.
func flat(page string) string {
	return strings.Join(strings.Fields(tagOf.ReplaceAllString(page, " ")), " ")
}

// An order's page sums up what became of the money, and who decided: it never says that nobody paid
// above a payment.
func TestAnOrdersPageSaysWhatBecameOfTheMoney(t *testing.T) {
	decided := t0.Add(time.Minute)
	for name, tt := range map[string]struct {
		order  order.Standing
		state  bellman.State
		reason string
		hand   string
		en, zh []string
		none   []string
	}{
		"another amount": {order.Standing{State: "UNKNOWN", Decided: decided, Mismatch: "88.80 CNY was paid: want 888.00 CNY"}, bellman.Failed, "amount_mismatch", "",
			[]string{"Another amount than the order’s was paid. Check with the channel, then decide. 88.80 CNY was paid: want 888.00 CNY", "decided Unknown another amount was paid", "Decide the order"},
			[]string{"实际支付金额与订单不符", "实付 88.80 CNY，应为 888.00 CNY"}, []string{"Given up"}},
		"late": {order.Standing{State: "CLOSED", Decided: decided, Late: "PAID"}, bellman.Succeeded, "closed", "",
			[]string{"A payment came after this decision: refund it, or deliver"}, []string{"请退款或发货"}, []string{"Nobody paid"}},
		"twice": {order.Standing{State: "PAID", Decided: decided, Duplicates: 2}, bellman.Succeeded, "paid", "",
			[]string{"It is paid, and was paid once more", "Duplicate payments 2"}, []string{"请退还多付的款项"}, []string{"The channel says that it is paid", "Decide the order"}},
		"by a person": {order.Standing{State: "PAID", Decided: decided}, bellman.Succeeded, "paid", "decide",
			[]string{"li decided manually: seen in the bill: PAID"}, []string{"li 人工定案: seen in the bill: PAID"}, []string{"The channel says", "Decide the order"}},
		"by the channel": {order.Standing{State: "PAID", Decided: decided}, bellman.Succeeded, "paid", "",
			[]string{"The channel says that it is paid."}, nil, []string{"Decide the order"}},
	} {
		s := open(t)
		task := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1"}, tt.order, order.Ask{}), t0)
		to := task.Status
		to.Version, to.State, to.Reason, to.Finished, to.Updated = 2, tt.state, tt.reason, decided, decided
		c := store.Change{ID: task.ID, Version: 1, To: to}
		if tt.hand != "" {
			c.Audit = &store.Audit{At: decided, Who: "li", Action: tt.hand, Target: task.ID.String(), Reason: "seen in the bill: PAID"}
		}
		if b := (store.Batch{Changes: []store.Change{c}}); s.fake.Commit(t.Context(), &b) != nil || b.Changes[0].Err != nil {
			t.Fatal(b.Changes[0].Err)
		}
		en := flat(s.get(t, orderAddress("M1", "O-1"), "Accept-Language: en").body)
		for _, want := range tt.en {
			if !strings.Contains(en, want) {
				t.Errorf("%s: the page does not say %q: %s", name, want, en)
			}
		}
		for _, none := range tt.none {
			if strings.Contains(en, none) {
				t.Errorf("%s: the page says %q", name, none)
			}
		}
		zh := flat(s.get(t, orderAddress("M1", "O-1"), "Accept-Language: zh").body)
		for _, want := range tt.zh {
			if !strings.Contains(zh, want) {
				t.Errorf("%s: the page in Chinese does not say %q", name, want)
			}
		}
	}
}

// Whether an order was paid, whether its merchant was told, and what the merchant answered stand at
// the top of its page.
func TestFactsOfAnOrderAnswerAMerchant(t *testing.T) {
	s := open(t)
	task := ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1"}, order.Standing{State: "PAID", Decided: t0}, order.Ask{Amount: 19900, Currency: "CNY"})
	var l map[string]any
	if err := json.Unmarshal(task.Data, &l); err != nil {
		t.Fatal(err)
	}
	l["taken"] = map[string]any{"transaction_id": "4200-1", "amount": 19900, "currency": "CNY", "paid_at": t0, "buyer": true}
	task.Data, _ = json.Marshal(l)
	task.State, task.Finished = bellman.Succeeded, t0
	s.fake.add(t, task, t0, bellman.Attempt{Started: t0, Result: bellman.Accepted, Status: 200, Reading: "PAID"})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "O-1", Event: "order.paid", URL: "https://m.example/", Status: bellman.Status{Due: time.Now().Add(time.Hour)}}, t0.Add(time.Second),
		bellman.Attempt{Started: t0.Add(time.Second), Result: bellman.Refused, Status: 200, Response: `{"code":"FAIL","message":"\u7b7e\u540d\u9519\u8bef"}`})
	got := flat(s.get(t, orderAddress("M1", "O-1"), "Accept-Language: en").body)
	for _, want := range []string{"Payment 199.00 CNY 4200-1 2026-11-20 15:04:05 UTC", `Notices to the merchant order paid Pending Refused · HTTP 200 · {&#34;code&#34;:&#34;FAIL&#34;,&#34;message&#34;:&#34;签名错误&#34;} attempts: 1`, "Next notice to the merchant"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q: %s", want, got)
		}
	}
}

// An order's page finds the order behind more notices than it shows.
func TestAnOrderBehindManyNotices(t *testing.T) {
	s := open(t)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1"}, order.Standing{State: "PAID", Decided: t0}, order.Ask{Amount: 19900, Currency: "CNY"}), t0)
	for i := range 2*orderTasks + 10 {
		s.fake.add(t, &bellman.Task{Queue: "orders", Kind: bellman.KindOrder, MerchantNo: "M1", OrderNo: "O-1", Event: order.EventNotice, Body: []byte(`{"notice":{"result":"duplicate","of":"payment"}}`)}, t0.Add(time.Duration(i+1)*time.Second))
	}
	if got := flat(s.get(t, orderAddress("M1", "O-1"), "Accept-Language: en").body); !strings.Contains(got, "Amount 199.00 CNY") {
		t.Errorf("the page does not know the order: %.1500s", got)
	}
}

// The overview names an order that somebody decided, and says where a certificate is replaced and
// which tasks make the tile hot.
func TestTheOverviewNamesWhatItIsAbout(t *testing.T) {
	s := open(t)
	s.raised.alarms = []alarm.Alarm{{Name: "decided", When: alarm.OrderDecided, Since: time.Now(), Decision: &alarm.Decision{MerchantNo: "M1", OrderNo: "B-9", Who: "wang", Reason: "the bank says so: PAID"}}}
	s.fake.queues = []figures.Queue{{Name: "pay", Kind: "notify", FailedHour: 7}}
	page := s.get(t, "/", "Accept-Language: en").body
	if got := flat(page); !strings.Contains(got, "Order decided manually M1 · B-9") || !strings.Contains(got, "Failed 0 /min 7 in the last hour") {
		t.Errorf("the overview does not name the order, or not what makes the tile hot: %s", got)
	}
}

// billOf is a reconciliation with some differences.
type billOf struct {
	*oneReconcile
	items   []reconcile.Item
	settled int
}

func (b billOf) run(run reconcile.Run, err error) (reconcile.Run, error) {
	run.Bill, run.Source, run.Finished, run.Counts = "trade", reconcile.FromFile, time.Now(), bill.Counts{Differences: map[bill.DifferenceKind]int{}}
	run.Settling = reconcile.Settling{State: reconcile.Done, Settled: b.settled}
	for _, i := range b.items {
		run.Counts.Differences[i.Kind]++
	}
	return run, err
}

func (b billOf) Get(ctx context.Context, id string) (reconcile.Run, error) {
	return b.run(b.oneReconcile.Get(ctx, id))
}

func (b billOf) List(ctx context.Context, _ int) ([]reconcile.Run, error) {
	run, err := b.Get(ctx, reconcileID)
	return []reconcile.Run{run}, err
}

func (b billOf) Differences(context.Context, string, bill.DifferenceKind, int, int) ([]reconcile.Item, int, error) {
	return b.items, 0, nil
}

// behind is a reconciliation after many of later days.
type behind struct {
	billOf
	later int
}

func (b behind) List(ctx context.Context, limit int) ([]reconcile.Run, error) {
	run, err := b.Get(ctx, reconcileID)
	runs := append(make([]reconcile.Run, b.later), run)
	return runs[:min(len(runs), limit)], err
}

// A difference leads to its order, says which side lacks what and what helps, and the overview says
// it in its language.
func TestADifferenceLeadsToItsOrder(t *testing.T) {
	here := &bill.Decided{MerchantNo: "M1", OrderNo: "O-1", TaskID: bellman.FirstID(t0).String(), State: "PENDING", Amount: 100, Currency: "CNY"}
	there := &bill.Line{Amount: 100, Currency: "CNY", State: "SUCCESS"}
	b := billOf{&oneReconcile{}, []reconcile.Item{
		{Number: 1, Difference: bill.Difference{Kind: bill.StateDiffers, ChannelOrderNo: "O-1", Account: "queue:orders", Here: here, There: there}, Asked: &reconcile.Asked{At: t0, State: "PAID", Error: "the body is not JSON", Settled: true}},
		{Number: 2, Difference: bill.Difference{Kind: bill.MissingThere, ChannelOrderNo: "O-1", Here: here}},
		{Number: 3, Difference: bill.Difference{Kind: bill.MissingHere, ChannelOrderNo: "X-9", There: there}},
	}, 1}
	s := openWith(t, &fake{Store: memory.New()}, Options{Reconciliations: behind{b, 500}})
	page := s.get(t, "/reconciliations/"+reconcileID, "Accept-Language: en").body
	if !strings.Contains(page, `href="/orders?merchant_no=M1&amp;order_no=O-1"`) || strings.Contains(page, "queue:orders") {
		t.Error("the difference does not lead to its order, or names an account that nobody registered")
	}
	got := flat(page)
	for _, want := range []string{"Differences 3 1 agree now", "O-1 M1 not in the bill PENDING 1.00 CNY not asked yet", "X-9 SUCCESS 1.00 CNY no such order here cannot be asked: it has no task here", "agrees now PAID", "State Ask the channel, or decide the order on its page."} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q: %s", want, got)
		}
	}
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1"}, order.Standing{State: "PENDING"}, order.Ask{}), time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC))
	if got := flat(s.get(t, orderAddress("M1", "O-1"), "Accept-Language: en").body); !strings.Contains(got, "2026-11-19 State · In the bill SUCCESS 1.00 CNY · agrees now") {
		t.Errorf("the order's page does not say what the bill has: %s", got)
	}
	list := strings.Join(entries(t, s.get(t, "/", "Accept-Language: zh").body), " ")
	if !strings.Contains(list, "2 处差异") || !strings.Contains(list, "账单来源 文件 · 本地缺失 1, 账单缺失 1, 状态不符 1") || strings.Contains(list, "missing_here") {
		t.Errorf("the overview in Chinese says %q", list)
	}
}

// The audit names the order of a task, finds what was done by its number, and leads to a
// reconciliation.
func TestTheAuditNamesOrders(t *testing.T) {
	s := open(t)
	task := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "O-1"}, order.Standing{State: "PAID"}, order.Ask{}), t0)
	b := store.Batch{Audits: []store.Audit{
		{At: t0, Who: "li", Action: "decide", Target: task.ID.String(), Reason: "seen: PAID"},
		{At: t0, Who: "li", Action: "cancel", Target: bellman.FirstID(t0).String()},
		{At: t0, Who: "wei", Action: "reconcile", Target: "reconciliation/" + reconcileID},
	}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	page := s.get(t, "/audit", "Accept-Language: en").body
	if got := flat(page); !strings.Contains(got, "decided manually O-1 M1 seen: PAID") || !strings.Contains(got, "cancelled "+bellman.FirstID(t0).String()) {
		t.Errorf("the audit does not name the order: %s", got)
	}
	for _, want := range []string{`href="/tasks/` + task.ID.String() + `"`, `href="/reconciliations/` + reconcileID + `"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the audit does not lead to %s", want)
		}
	}
	if one := s.get(t, "/audit?target=O-1").body; strings.Count(one, "<tr>") != 1+1 || !strings.Contains(one, "seen: PAID") {
		t.Errorf("by the order's number: %d rows; want 1", strings.Count(one, "<tr>")-1)
	}

	slashed := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "2026/11/20-7", URL: "http://m.example/"}, t0.Add(time.Second))
	b = store.Batch{Audits: []store.Audit{{At: t0.Add(2 * time.Second), Who: "li", Action: "cancel", Target: slashed.ID.String(), Reason: "a test order"}}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"2026%2F11%2F20-7", slashed.ID.String()} {
		if one := s.get(t, "/audit?target="+target).body; strings.Count(one, "<tr>") != 1+1 || !strings.Contains(one, "a test order") {
			t.Errorf("target=%s: %d rows; want the one of the order whose number has slashes", target, strings.Count(one, "<tr>")-1)
		}
	}
}

// The page of a refund that waits for a person says why, and what helps.
func TestARefundSaysWhyItIsStuck(t *testing.T) {
	s := open(t)
	task := s.fake.add(t, &bellman.Task{Queue: "refunds", Kind: bellman.KindPoll, MerchantNo: "M1", OrderNo: "O-1", Body: []byte(`{"ref_no":"R1"}`),
		Status: bellman.Status{Data: []byte(`{"stage":"polling","poll_state":"PENDING","alerts":["refused","used_up"]}`)}}, t0)
	for lang, want := range map[string]string{"en": "The schedule is used up, and the channel has not said how it ended.", "zh": "时间表已用完"} {
		if got := s.get(t, "/tasks/"+task.ID.String(), "Accept-Language: "+lang).body; !strings.Contains(got, want) {
			t.Errorf("%s: the page does not say %q", lang, want)
		}
	}
}

package server_test

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// billHead and billFoot are the first line of a trade bill, and the first line of its totals.
const (
	billHead = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注\r\n"
	billFoot = "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n"
)

// owner is the start of a line up to the sub-merchant.
func (b *tradeBill) owner() string {
	return fmt.Sprintf("`%s 12:00:00,`wx1,`%s,`%s", b.day, cmp.Or(b.mch, "1230000109"), cmp.Or(b.sub, "0"))
}

// A tradeBill is a bill of WeChat Pay of one day. All payments have the transaction 4200001.
type tradeBill struct {
	day             string
	mch, sub        string // whose it is; empty: 1230000109, and no sub-merchant
	lines           strings.Builder
	n, paid, repaid int
	payments        []billedPayment
}

type billedPayment struct {
	no, transaction string
	cents           int
}

func yuan(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func (b *tradeBill) payment(no, transaction string, cents int) {
	b.n, b.paid = b.n+1, b.paid+cents
	b.payments = append(b.payments, billedPayment{no, transaction, cents})
	fmt.Fprintf(&b.lines, "%s,`,`%s,`%s,`u,`JSAPI,`SUCCESS,`OTHERS,`CNY,`%[4]s,`0.00,`0,`0,`0.00,`0.00,`,`,`x,`,`0.00000,`0.00%%,`%[4]s,`0.00,`\r\n", b.owner(), transaction, no, yuan(cents))
}

func (b *tradeBill) refund(no, refundNo string, cents int) {
	b.n, b.repaid = b.n+1, b.repaid+cents
	fmt.Fprintf(&b.lines, "%s,`,`4200001,`%s,`u,`JSAPI,`REFUND,`OTHERS,`CNY,`0.00,`0.00,`5030,`%s,`%[4]s,`0.00,`ORIGINAL,`SUCCESS,`x,`,`0.00000,`0.00%%,`0.00,`%[4]s,`\r\n", b.owner(), no, refundNo, yuan(cents))
}

func (b *tradeBill) text() string {
	return billHead + b.lines.String() + billFoot + fmt.Sprintf("`%d,`%s,`%s,`0.00,`0.00000,`%[2]s,`%[3]s\r\n", b.n, yuan(b.paid), yuan(b.repaid))
}

// keyFiles writes the keys that a merchant has for a provider to files.
func keyFiles(t *testing.T, p *provider) (private, public string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own, theirs := p.keys()
	return file("private.pem", own), file("public.pem", theirs)
}

// From the download of a bill to the query that settles a difference: a channel whose bill has each
// kind of difference.
func TestReconcile(t *testing.T) {
	shanghai := time.FixedZone("", 8*60*60)
	yesterday := time.Now().In(shanghai).AddDate(0, 0, -1)
	date := yesterday.Format(time.DateOnly)
	p, d := newProvider(t), newDesk(t)
	p.paidAt = time.Date(yesterday.Year(), yesterday.Month(), yesterday.Day(), 12, 0, 0, 0, shanghai)

	b := &tradeBill{day: date}
	b.payment("paid-1", "4200001", 1299)
	b.payment("unknown-1", "4200001", 1299)
	b.payment("paid-amount", "4200001", 1298)
	b.payment("unpaid-1", "4200001", 1299)
	b.payment("paid-refund", "4200001", 1299)
	b.refund("paid-refund", "R1", 300)
	b.payment("paid-twice", "4200001", 1299)
	b.payment("paid-twice", "4200002", 1299)
	want := []string{"amount paid-amount", "duplicate paid-twice", "missing_here unknown-1", "missing_there paid-absent", "refund paid-refund", "state unpaid-1"}

	var ready atomic.Bool
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v3/bill/tradebill" && !ready.Load():
			p.wechatSays(w, http.StatusBadRequest, `{"code":"STATEMENT_CREATING","message":"later"}`)
		case r.URL.Path == "/v3/bill/tradebill":
			if asked := r.URL.Query().Get("bill_date"); asked == yesterday.AddDate(0, 0, -1).Format(time.DateOnly) {
				p.wechatSays(w, http.StatusBadRequest, `{"code":"NO_STATEMENT_EXIST","message":"none"}`)
				return
			} else if asked != date {
				t.Errorf("asked for %s; want the bill of %s", r.URL.RawQuery, date)
			}
			p.wechatSays(w, http.StatusOK, fmt.Sprintf(`{"download_url":"http://%s/v3/billdownload/file?token=x","hash_type":"SHA1","hash_value":"%x"}`, r.Host, sha1.Sum([]byte(b.text()))))
		case r.URL.Path == "/v3/billdownload/file":
			io.WriteString(w, b.text())
		default:
			p.wechat(w, r)
		}
	}))
	t.Cleanup(at.Close)
	private, public := keyFiles(t, p)
	api, s := d.serve(t, d.parse(t, strings.NewReplacer("PROVIDER", at.URL, "PRIVATE", private, "PUBLIC", public).Replace(`
queues:
  orders:
    kind: order
    channel: {kind: wechatpay, url: "PROVIDER", mch_id: "1230000109", serial: 5157F09E, private_key: "file:PRIVATE", platform_keys: {PUB_KEY_ID_01: "file:PUBLIC"}}
    on_exhausted: close
    schedule: 20ms, 1h*
`)))
	for _, no := range []string{"paid-1", "paid-absent", "paid-amount", "unpaid-1", "paid-refund", "paid-twice"} {
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Expires: "2h"})
		if no != "unpaid-1" {
			d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no})
		}
	}

	in := client.StartReconciliation{Queue: "orders", Date: date}
	// until waits for a state of the comparison.
	until := func(id string, is func(*client.Reconciliation) bool) (run *client.Reconciliation) {
		t.Helper()
		passes(t, "the reconciliation", func() bool {
			var err error
			if run, err = api.Reconciliation(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return is(run)
		})
		return run
	}
	found := func(id string) (all []string, items []client.Difference) {
		t.Helper()
		for cursor := ""; ; {
			page, err := api.Differences(t.Context(), id, "", 4, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page.Differences {
				all = append(all, d.Kind+" "+d.ChannelOrderNo)
			}
			items = append(items, page.Differences...)
			if cursor = page.NextCursor; cursor == "" {
				slices.Sort(all)
				return all, items
			}
		}
	}
	first, err := api.Reconcile(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if run := until(first.ID, func(r *client.Reconciliation) bool { return r.Tries > 0 }); run.State != "waiting" || run.Next == nil || !strings.Contains(run.Error, "not ready") {
		t.Errorf("before the bill is ready: %+v; want it waiting", run)
	}
	ready.Store(true)
	for range 2 { // the same day again gives the same
		run, err := api.Reconcile(t.Context(), in)
		if err != nil || run.ID != first.ID {
			t.Fatalf("%+v, %v; want the reconciliation %s", run, err, first.ID)
		}
		run = until(run.ID, func(r *client.Reconciliation) bool { return r.State == "done" })
		if all, _ := found(run.ID); !slices.Equal(all, want) || run.Total != 6 || run.Payments != 7 || run.Refunds != 1 || run.Matched != 3 {
			t.Errorf("%+v, differences %q; want %q", run, all, want)
		}
	}
	for _, kind := range []string{"amount", "state"} {
		line := fmt.Sprintf("bellman_reconcile_differences{kind=%q,queue=\"orders\"} 1\n", kind)
		if text := scrape(t, s.Addr()); !strings.Contains(text, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}

	p.mu.Lock()
	p.paid["unpaid-1"] = true
	asked := len(p.asked["paid-absent"])
	p.mu.Unlock()
	if _, err := api.SettleReconciliation(t.Context(), first.ID, client.Because{Reason: "settle"}); err != nil {
		t.Fatal(err)
	}
	run := until(first.ID, func(r *client.Reconciliation) bool { return r.Settling != nil && r.Settling.State == "done" })
	if s := run.Settling; s.Asked != 5 || s.Settled != 1 || s.Failed != 0 {
		t.Errorf("settling %+v; want 5 orders asked about, and 1 settled", s)
	}
	p.mu.Lock()
	if n := len(p.asked["paid-absent"]) - asked; n != 1 {
		t.Errorf("the channel was asked %d times about paid-absent; want once", n)
	}
	p.mu.Unlock()
	_, items := found(first.ID)
	for _, d := range items {
		if d.Kind == "state" && (d.Asked == nil || !d.Asked.Settled || d.Asked.OrderState != "PAID") {
			t.Errorf("the order that was paid late: %+v; want it settled", d.Asked)
		}
	}
	if o, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "unpaid-1"}, 0); err != nil || o.OrderState != "PAID" {
		t.Errorf("order unpaid-1: %+v, %v; want it PAID", o, err)
	}

	// The same bill as a file, without refunds, and as a file of one's own.
	in.NoRefunds = true
	fromFile, err := api.ReconcileFile(t.Context(), in, "", strings.NewReader(b.text()))
	if err != nil || fromFile.ID == first.ID || fromFile.State != "done" || fromFile.Differences.Refund != 0 || fromFile.Differences.Amount != 1 || fromFile.Total != 4 {
		t.Errorf("the file: %+v, %v; want it done, with 4 differences and none of refunds", fromFile, err)
	}
	own := "no,fee,at\npaid-1,12.99," + date + " 12:00:00\n"
	mapped, err := api.ReconcileFile(t.Context(), in, "channel_order_no=no,amount=fee,time=at,units=main", strings.NewReader(own))
	if err != nil || mapped.ID != fromFile.ID || mapped.Matched != 1 || mapped.Differences.MissingThere != 5 {
		t.Errorf("the file with a mapping: %+v, %v; want one line that agrees and 5 orders missing there", mapped, err)
	}
	others := strings.ReplaceAll(b.text(), "1230000109", "1900000001")
	if _, err := api.ReconcileFile(t.Context(), in, "", strings.NewReader(others)); client.StatusOf(err) != 422 || !strings.Contains(err.Error(), "none of its 8 lines is of 1230000109: the first is of 1900000001") {
		t.Errorf("the bill of another merchant: %v; want status 422, and both numbers", err)
	}
	if _, err := api.ReconcileFile(t.Context(), in, "", strings.NewReader(own)); client.StatusOf(err) != 422 {
		t.Errorf("a file that is no bill: %v; want status 422", err)
	}
}

package server_test

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// serveBill answers for the bill of the shop's day: other days have none.
func (s *seller) serveBill(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	text, token := "", "trade"
	switch {
	case s.bill == nil:
	case r.URL.Path == "/v3/bill/fundflowbill" || asked.Get("token") == "funds":
		text, token = s.bill.funds(), "funds"
	default:
		text = s.bill.text()
	}
	switch {
	case r.URL.Path == "/v3/billdownload/file":
		io.WriteString(w, text)
	case s.bill == nil:
		s.wechatSays(w, http.StatusForbidden, `{"code":"NO_AUTH","message":"no bills"}`)
	case asked.Get("bill_date") != s.bill.day || asked.Get("sub_mchid") != s.sub:
		s.wechatSays(w, http.StatusBadRequest, `{"code":"NO_STATEMENT_EXIST","message":"none"}`)
	default:
		s.wechatSays(w, http.StatusOK, fmt.Sprintf(`{"download_url":"http://%s/v3/billdownload/file?token=%s","hash_type":"SHA1","hash_value":"%x"}`, r.Host, token, sha1.Sum([]byte(text))))
	}
}

// funds is the fund flow bill of a day on which a coupon of 0.10 was taken off each of the
// payments, and a fee was paid.
func (b *tradeBill) funds() string {
	head := "记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),资金变更提交申请人,备注,业务凭证号\r\n"
	var lines strings.Builder
	n, sum := 0, 0
	for _, p := range b.payments {
		fmt.Fprintf(&lines, "`%s 12:00:00,`%s,`1,`交易,`交易,`收入,`%s,`0.00,`system,`x,`%s\r\n", b.day, p.transaction, yuan(p.cents-10), p.no)
		n, sum = n+1, sum+p.cents-10
	}
	fmt.Fprintf(&lines, "`%s 13:00:00,`9,`1,`交易,`扣除交易手续费,`支出,`0.05,`0.00,`system,`x,`9\r\n", b.day)
	return head + lines.String() + "资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额\r\n" + fmt.Sprintf("`%d,`%d,`%s,`1,`0.05\r\n", n+1, n, yuan(sum))
}

// The bills of registered accounts are compared with the orders that name them: all at once, where
// one without a bill holds up no other, one account alone, and from a file.
func TestReconcileAccounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, _, _ := d.serveAccounts(t, t.TempDir(), "50ms*")
	date := time.Now().In(time.FixedZone("", 8*60*60)).AddDate(0, 0, -1).Format(time.DateOnly)
	one, two, three := newSeller(t, "1900000001", ""), newSeller(t, "1900000002", "1900000109"), newSeller(t, "1900000003", "")
	one.bill = &tradeBill{day: date, mch: "1900000001"}
	two.bill = &tradeBill{day: date, mch: "1900000002", sub: "1900000109"}
	for name, shop := range map[string]*seller{"shop1": one, "shop2": two, "shop3": three} {
		register(t, api, name, shop.put())
		no := "paid-" + name
		create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Account: name})
		d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no})
	}
	one.bill.payment("paid-shop1", "4200009", 1299) // another payment than bellman knows
	two.bill.payment("paid-shop2", "4200001", 1298)
	two.bill.payment("paid-shop1", "4200001", 1299) // an order of the other account

	settled := func(in client.StartReconciliation) (run *client.Reconciliation, found []string) {
		t.Helper()
		run, err := api.Reconcile(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		passes(t, "the reconciliation", func() bool {
			if run, err = api.Reconciliation(t.Context(), run.ID); err != nil {
				t.Fatal(err)
			}
			return run.State == "done" || run.Tries > 0
		})
		page, err := api.Differences(t.Context(), run.ID, "", 0, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Differences {
			found = append(found, d.Account+" "+d.Kind+" "+d.ChannelOrderNo)
			if d.Kind == "duplicate" && (d.Bill.TransactionID != "4200009" || d.Here.TransactionID != "4200001") {
				t.Errorf("%+v, %+v; want the numbers of both payments", d.Bill, d.Here)
			}
		}
		slices.Sort(found)
		return run, found
	}
	ofOne := []string{"wechatpay:1900000001 duplicate paid-shop1"}
	ofTwo := []string{"wechatpay:1900000002:1900000109 amount paid-shop2", "wechatpay:1900000002:1900000109 missing_here paid-shop1"}
	all, found := settled(client.StartReconciliation{Queue: "orders", Date: date})
	if all.State != "waiting" || all.Bills != 2 || len(all.Left) != 1 || all.Left[0].Account != "shop3" || !strings.Contains(all.Left[0].Error, "NO_AUTH") || !slices.Equal(found, slices.Concat(ofOne, ofTwo)) {
		t.Errorf("all accounts: %+v, %q; want those of shop1 and shop2, and shop3 left", all, found)
	}
	alone, found := settled(client.StartReconciliation{Queue: "orders", Account: "shop2", Date: date})
	if alone.State != "done" || alone.Account != "shop2" || !slices.Equal(found, ofTwo) {
		t.Errorf("shop2: %+v, %q; want it done, with %q", alone, found, ofTwo)
	}
	funds, found := settled(client.StartReconciliation{Queue: "orders", Account: "shop1", Bill: "fund_flow", Date: date})
	if funds.State != "done" || funds.Bill != "fund_flow" || funds.ID == alone.ID || funds.Payments != 1 || !slices.Equal(found, ofOne) {
		t.Errorf("the fund flow bill of shop1: %+v, %q; want the coupon to be no difference", funds, found)
	}
	file, err := api.ReconcileFile(t.Context(), client.StartReconciliation{Queue: "orders", Account: "shop1", Date: date}, "", strings.NewReader(one.bill.text()))
	if err != nil || file.Account != "shop1" || file.Total != 1 || file.Differences.Duplicate != 1 {
		t.Errorf("the file of shop1: %+v, %v; want its difference", file, err)
	}
	// The provider's bill of all its sub-merchants, and the bill of another merchant.
	two.bill.sub = "1900000110"
	two.bill.payment("paid-elsewhere", "4200001", 1299)
	whole, err := api.ReconcileFile(t.Context(), client.StartReconciliation{Queue: "orders", Account: "shop2", Date: date}, "", strings.NewReader(two.bill.text()))
	if err != nil || whole.Payments != 2 || whole.Others != 1 || whole.Total != 2 {
		t.Errorf("the provider's whole bill: %+v, %v; want the account's two payments, and one left out", whole, err)
	}
	_, err = api.ReconcileFile(t.Context(), client.StartReconciliation{Queue: "orders", Account: "shop2", Date: date}, "", strings.NewReader(one.bill.text()))
	if client.StatusOf(err) != 422 || !strings.Contains(err.Error(), "none of its 1 lines is of 1900000002:1900000109: the first is of 1900000001") {
		t.Errorf("the bill of shop1 for shop2: %v; want 422, and both numbers", err)
	}
	_, err = api.Reconcile(t.Context(), client.StartReconciliation{Queue: "orders", Account: "shop9", Date: date})
	if p, is := errors.AsType[*client.Problem](err); !is || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != "body.account" {
		t.Errorf("an account that is not registered: %v; want 422 for body.account", err)
	}
}

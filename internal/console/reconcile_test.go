package console

import (
	"bytes"
	"context"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/store/memory"
)

const reconcileID = "2026-11-19-0011223344556677"

// oneReconcile has one run with 51 differences: one of an amount, and fifty orders that the bill
// lacks.
type oneReconcile struct {
	again   bool            // it was requested again since, and waits
	never   reconcile.State // it has this state and no result; empty: it has one
	settled []bellman.By
	asked   []reconcile.Request
	mapping *bill.Mapping
	file    string
}

func (o *oneReconcile) Start(ctx context.Context, in reconcile.Request) (reconcile.Run, error) {
	o.asked = append(o.asked, in)
	return o.Get(ctx, reconcileID)
}

func (o *oneReconcile) File(ctx context.Context, in reconcile.Request, m *bill.Mapping, file io.Reader) (reconcile.Run, error) {
	text, err := io.ReadAll(file)
	o.asked, o.mapping, o.file = append(o.asked, in), m, string(text)
	if err == nil && o.file == "wrong" {
		invalid := &bellman.Invalid{}
		invalid.Add("file", "line 3: is wrong")
		err = invalid
	}
	if err != nil {
		return reconcile.Run{}, err
	}
	return o.Get(ctx, reconcileID)
}

func (o *oneReconcile) Get(_ context.Context, id string) (reconcile.Run, error) {
	if id != reconcileID {
		return reconcile.Run{}, bellman.ErrNotFound
	}
	run := reconcile.Run{
		ID: id, Queue: "orders", Date: "2026-11-19", Source: "channel", Bill: reconcile.FundFlow, Bills: 2, State: reconcile.Done, Created: t0, Finished: t0, Kept: 51,
		Counts: bill.Counts{Payments: 9, Matched: 4, Differences: map[bill.DifferenceKind]int{bill.AmountDiffers: 1, bill.MissingThere: 50}},
	}
	if o.never != "" {
		run.State, run.Finished, run.Bills, run.Kept, run.Counts = o.never, time.Time{}, 0, 0, bill.Counts{}
	}
	if o.again {
		run.State, run.Created = reconcile.Waiting, t0.Add(time.Hour)
	}
	return run, nil
}

func (o *oneReconcile) List(ctx context.Context, _ int) ([]reconcile.Run, error) {
	run, err := o.Get(ctx, reconcileID)
	return []reconcile.Run{run}, err
}

func (o *oneReconcile) Settle(ctx context.Context, id string, by bellman.By) (reconcile.Run, error) {
	o.settled = append(o.settled, by)
	return o.Get(ctx, id)
}

func (o *oneReconcile) Differences(_ context.Context, _ string, of bill.DifferenceKind, after, limit int) (items []reconcile.Item, next int, err error) {
	for n := after + 1; n <= 51 && o.never == ""; n++ {
		d := bill.Difference{Kind: bill.MissingThere, ChannelOrderNo: "=C" + strings.Repeat("x", n%7)}
		d.Here = &bill.Decided{MerchantNo: "M1", OrderNo: "O1", RefundNo: "own-refund", TaskID: bellman.FirstID(t0).String(), State: "PAID", Amount: 100, Currency: "CNY", PaidAt: t0}
		if n == 1 {
			d.Kind, d.Account, d.Here.TransactionID = bill.AmountDiffers, "wechatpay:19", "T2"
			d.There = &bill.Line{TransactionID: "T1", Amount: 99, Currency: "CNY", State: "SUCCESS", Time: t0, Number: 7}
		}
		if of != "" && of != d.Kind {
			continue
		}
		if len(items) == limit {
			return items, items[limit-1].Number, nil
		}
		items = append(items, reconcile.Item{Number: n, Difference: d, Asked: &reconcile.Asked{At: t0.Add(time.Minute), State: "PAID", Reading: "PAID"}})
	}
	return items, 0, nil
}

func TestReconciliations(t *testing.T) {
	o := &oneReconcile{}
	s := openWith(t, &fake{Store: memory.New()}, Options{Reconciliations: o})
	const page = "/reconciliations/" + reconcileID
	for path, want := range map[string][]string{
		"/reconciliations":                 {page, "2026-11-19", "51", "the channel"},
		page:                               {"Missing in the bill", "SUCCESS 0.99 CNY", "<small>T1</small>", "<small>T2</small>", "wechatpay:19", "fund flow (WeChat Pay)", "Bills of accounts", "PAID 1.00 CNY", "kind=&amp;after=50", page + "/export", "Ask the channel about each once"},
		page + "?kind=amount":              {"SUCCESS 0.99 CNY"},
		page + "?kind=missing_there":       {"PAID 1.00 CNY"},
		page + "?kind=&after=50":           {"To the first page"},
		page + "?kind=colour&after=nobody": {"SUCCESS 0.99 CNY"},
	} {
		got := s.get(t, path)
		for _, text := range want {
			if !strings.Contains(got.body, text) {
				t.Errorf("%s: %d lacks %q", path, got.StatusCode, text)
			}
		}
	}
	const former = "The newest request has no result yet."
	s.get(t, page).has(t, nil, former)
	o.again = true
	s.get(t, page).has(t, []string{former})
	o.again = false
	if got := s.get(t, "/reconciliations/none-of-these"); got.StatusCode != http.StatusNotFound {
		t.Errorf("another id: %d; want 404", got.StatusCode)
	}
	if body := s.get(t, page+"?kind=missing_there").body; strings.Contains(body, "SUCCESS 0.99 CNY") {
		t.Error("the amount is among the orders that the bill lacks")
	}
	sheet := s.get(t, page+"/export")
	if lines := strings.Split(strings.TrimSpace(sheet.body), "\n"); len(lines) != 52 || !strings.HasSuffix(lines[1], `"own-refund"`) || !strings.Contains(lines[1], `"1","amount","wechatpay:19","'=C`) || !strings.Contains(lines[1], `"99","CNY","SUCCESS"`) || strings.Count(lines[2], ",") != strings.Count(lines[0], ",") {
		t.Errorf("the export has %d lines, the first two are %.400q; want 52", len(lines), lines[:2])
	}
	if got := s.post(t, page, page, "reason", ""); got.StatusCode != http.StatusUnprocessableEntity || len(o.settled) != 0 {
		t.Errorf("without a reason: %d, %v", got.StatusCode, o.settled)
	}
	if got := s.post(t, page, page, "reason", "the bill of the 19th"); got.StatusCode != http.StatusSeeOther || len(o.settled) != 1 || o.settled[0].Reason != "the bill of the 19th" {
		t.Errorf("settle: %d, %v; want 303 and one request", got.StatusCode, o.settled)
	}
	if body := s.get(t, page).body; !strings.Contains(body, "The channel is being asked about each order that differs.") {
		t.Error("the page does not say that the channel is being asked")
	}
}

// A day that was not compared is not said to have no differences: its bill may be missing.
func TestADayThatWasNotCompared(t *testing.T) {
	o := &oneReconcile{}
	s := openWith(t, &fake{Store: memory.New()}, Options{Reconciliations: o})
	for _, o.never = range []reconcile.State{reconcile.Waiting, reconcile.Running, reconcile.Failed} {
		s.get(t, "/reconciliations/"+reconcileID).has(t, []string{"Not compared yet."}, "Nothing differs.", `class="tile"`, "<dd>0</dd>")
		s.get(t, "/reconciliations").has(t, []string{">–<"}, ">0<")
	}
}

// The overview leads from a missing bill to its page, to compare the day again: the page leads to
// the form for the same queue, day and kind of bill, whoever may compare.
func TestAMissingBillIsComparedAgain(t *testing.T) {
	o := &oneReconcile{never: reconcile.Failed}
	s := openWith(t, &fake{Store: memory.New()}, Options{Reconciliations: o, Keys: testKeys})
	const page, form = "/reconciliations/" + reconcileID, "/reconciliations/new?bill=fund_flow&date=2026-11-19&queue=orders"
	link := `href="` + html.EscapeString(form) + `">Compare again</a>`
	s.signIn(t, "reader")
	s.get(t, page).has(t, nil, "Compare again")
	s.client = s.browser(t)
	s.signIn(t, "ops")
	s.get(t, page).has(t, []string{link})
	s.get(t, form).has(t, []string{"<option selected>orders</option>", `name="date" value="2026-11-19"`, `<option value="fund_flow" selected>`})
	o.never = reconcile.Waiting // the bill is asked for again anyway
	s.get(t, page).has(t, nil, "Compare again")
}

// The form starts a comparison with the channel's bill, or makes one with a file and the mapping of
// its columns.
func TestStartReconciliation(t *testing.T) {
	o := &oneReconcile{}
	kinds := map[string]string{"orders": "order", "told": "notify"}
	s := openWith(t, &fake{Store: memory.New()}, Options{Reconciliations: o, Keys: testKeys, Kinds: func(name string) string { return kinds[name] }, Queues: func() []string { return []string{"orders", "told"} }})
	const page = "/reconciliations/new"
	s.signIn(t, "reader")
	if got := s.get(t, page); got.StatusCode != http.StatusForbidden {
		t.Errorf("the form for the role read: %d; want 403", got.StatusCode)
	}
	if body := s.get(t, "/reconciliations").body; strings.Contains(body, page) {
		t.Error("the list shows the form to the role read")
	}
	one := "/reconciliations/" + reconcileID
	if body := s.get(t, one).body; strings.Contains(body, "Ask the channel about each once") {
		t.Error("the role read may settle")
	}
	s.client = s.browser(t)
	s.signIn(t, "finance")
	if got := s.post(t, one, one, "reason", "the bill"); got.StatusCode != http.StatusSeeOther || len(o.settled) != 1 || o.settled[0].Who != "finance" {
		t.Errorf("the role decide settles: %d, %v; want 303 and one request", got.StatusCode, o.settled)
	}
	s.client = s.browser(t)
	s.signIn(t, "ops")
	if body := s.get(t, "/reconciliations").body; !strings.Contains(body, page) {
		t.Error("the list does not show the form")
	}
	if body := s.get(t, page).body; !strings.Contains(body, "<option>orders</option>") || strings.Contains(body, "told") || !strings.Contains(body, `type="date"`) {
		t.Errorf("the form: %s", body)
	}
	send := func(token, file string, fields ...string) *reply {
		t.Helper()
		var body bytes.Buffer
		parts := multipart.NewWriter(&body)
		fields = append([]string{"token", token, "queue", "orders", "date", "2026-11-19"}, fields...)
		for i := 0; i < len(fields); i += 2 {
			if err := parts.WriteField(fields[i], fields[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if file != "" {
			part, err := parts.CreateFormFile("file", "bill.csv")
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(part, file)
		}
		parts.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+"/reconciliations", &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", parts.FormDataContentType())
		return s.send(t, r)
	}
	token := s.token(t, page)
	if got := send("forged", "", "from", "channel", "reason", "why"); got.StatusCode != http.StatusForbidden || len(o.asked) != 0 {
		t.Errorf("a forged form: %d, %v; want 403", got.StatusCode, o.asked)
	}
	for want, fields := range map[string][]string{
		"reason":                          {"from", "channel", "reason", ""},
		"Choose the file of the bill":     {"from", "file", "reason", "why"},
		"channel_order_no and amount are": {"from", "file", "reason", "why", "map", "amount=fee"},
	} {
		if got := send(token, "", fields...); got.StatusCode != http.StatusUnprocessableEntity || len(o.asked) != 0 || !strings.Contains(got.body, want) {
			t.Errorf("%v: %d, %v; want 422 that says %q", fields, got.StatusCode, o.asked, want)
		}
	}
	if got := send(token, "", "account", " shop2", "bill", "fund_flow", "from", "channel", "reason", "why", "no_refunds", "1"); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/reconciliations/"+reconcileID ||
		len(o.asked) != 1 || o.asked[0].Queue != "orders" || o.asked[0].Date != "2026-11-19" || o.asked[0].Account != "shop2" || o.asked[0].Bill != reconcile.FundFlow || !o.asked[0].NoRefunds || o.asked[0].By.Reason != "why" || o.asked[0].By.Who != "ops" {
		t.Errorf("the channel's bill: %d, %+v", got.StatusCode, o.asked)
	}
	text := strings.Repeat("order,fee\n1,2\n", 500_000) // most of it is on disk meanwhile
	if got := send(token, text, "from", "file", "reason", "why", "map", "channel_order_no=order\r\namount=fee, units=main"); got.StatusCode != http.StatusSeeOther ||
		o.file != text || o.mapping == nil || o.mapping.Amount != "fee" || !o.mapping.MainUnits {
		t.Errorf("a file: %d, %d bytes, %+v", got.StatusCode, len(o.file), o.mapping)
	}
	if got := send(token, "wrong", "from", "file", "reason", "why"); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "line 3: is wrong") || !strings.Contains(got.body, `value="why"`) {
		t.Errorf("a wrong file: %d %s; want 422, and the form again", got.StatusCode, got.body)
	}
}

// An amount that bellman does not know is empty in the file, as bellman reconcile -o csv writes it.
// A bill's 0 is a zero.
func TestExportedAmounts(t *testing.T) {
	item := reconcile.Item{Difference: bill.Difference{There: &bill.Line{Currency: "CNY"}, Here: &bill.Decided{Currency: "CNY"}}}
	if c := exportedDifference(&item); c[8] != "0" || c[9] != "CNY" || c[16] != "" || c[17] != "" {
		t.Errorf("the bill's amount is %q %q, and bellman's %q %q; want 0 CNY, and none", c[8], c[9], c[16], c[17])
	}
}

package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"log/slog"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// noticed are the rules of a queue whose gateway sends signed notices, and is not polled before an
// order expires.
var noticed = []string{"then: tell", "on_exhausted: close", "schedule: 1h*",
	`notice: {verify: {scheme: hmac_sha256, header: X-Signature, secrets: [gateway-secret-of-32-characters!]}, order: json.out_trade_no, states: wechat_v3}`}

// serveNoticed runs a server that takes notices, until the test is over.
func (d *desk) serveNoticed(t *testing.T) (*client.Client, *server.Server) {
	t.Helper()
	return d.serveNoticedBy(t, d.settings(t, noticed...))
}

// serveNoticedBy does the same with other queues.
func (d *desk) serveNoticedBy(t *testing.T, queues []config.Queue) (*client.Client, *server.Server) {
	t.Helper()
	api, s, _ := serveLogged(t, t.TempDir(), slog.New(slog.NewTextHandler(&d.log, nil)), func(c *config.Config) {
		c.Queues, c.Notices.Listen = queues, "127.0.0.1:0"
	})
	return api, s
}

// paidNotice is a gateway's notice that an order was paid.
func paidNotice(no string, amount int) string {
	return fmt.Sprintf(`{"out_trade_no":%q,"trade_state":"SUCCESS","transaction_id":"42","amount":{"total":%d,"currency":"CNY"},"success_time":"2026-11-20T23:04:05+08:00"}`, no, amount)
}

// notify sends a notice to a server as the gateway does. key is what it signs with.
func notify(t *testing.T, s *server.Server, body, key string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.NoticesAddr()+"/notices/orders", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(key))
	io.WriteString(mac, body)
	req.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	return roundTrip(t, req)
}

const gatewayKey = "gateway-secret-of-32-characters!"

// costly places an order that costs 12.99 CNY.
func costly(t *testing.T, api *client.Client, no string) client.OrderRef {
	t.Helper()
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Amount: 1299, Currency: "CNY"})
	return client.OrderRef{MerchantNo: "M1", OrderNo: no}
}

// results are the results of the notices on an order's page, oldest first.
func results(t *testing.T, api *client.Client, ref client.OrderRef) (all []string) {
	t.Helper()
	o, err := api.Order(t.Context(), ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range o.Tasks {
		if k.Event == "order.notice" {
			all = append(all, k.Reason)
		}
	}
	return all
}

// A notice decides an order before the first query, is told once however often it comes, and is on
// the order's page.
func TestNoticeDecides(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticed(t)
	ref := costly(t, api, "A1")
	for i := range 3 {
		if status, answer := notify(t, s, paidNotice("A1", 1299), gatewayKey); status != 200 || answer != "success" {
			t.Fatalf("notice %d: %d %q", i, status, answer)
		}
	}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "PAID" || events(told) != "order.paid" || d.was("A1") != "" {
		t.Errorf("%s, told %s, asked %q; want PAID, told once, no query", o.OrderState, events(told), d.was("A1"))
	}
	says := told[0].Says
	if says["amount"] != 1299. || says["currency"] != "CNY" || says["transaction_id"] != "42" || says["paid_at"] != "2026-11-20T15:04:05Z" {
		t.Errorf("told %v", says)
	}
	if got := results(t, api, ref); !slices.Equal(got, []string{"applied", "duplicate", "duplicate"}) {
		t.Errorf("notices %q", got)
	}
}

// A notice of another amount makes the order UNKNOWN, and nobody is told that it is paid.
func TestNoticeOfAnotherAmount(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticed(t)
	ref := costly(t, api, "A1")
	if status, answer := notify(t, s, paidNotice("A1", 1), gatewayKey); status != 200 || answer != "success" {
		t.Fatalf("%d %q", status, answer)
	}
	o, told := d.ends(t, api, ref)
	if o.OrderState != "UNKNOWN" || len(told) > 0 || !slices.Equal(results(t, api, ref), []string{"mismatch"}) {
		t.Errorf("%s, told %s, notices %q; want UNKNOWN, nothing told, mismatch", o.OrderState, events(told), results(t, api, ref))
	}
	needs, err := api.Attention(t.Context())
	if err != nil || len(needs.Items) != 1 || needs.Items[0].Kind != "amount_mismatch" || needs.Items[0].OrderNo != "A1" || needs.Items[0].Amounts[0].Amount != 1299 {
		t.Errorf("what needs a person is %+v, %v; want the order, of 1299", needs, err)
	}
}

// Forged notices complete nothing, and cause one query of the order in all.
func TestForgedNotices(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticed(t)
	ref := costly(t, api, "A1")
	for range 20 {
		if status, answer := notify(t, s, paidNotice("A1", 1299), "a key that somebody guessed, 32 c"); status != 400 || answer != "fail" {
			t.Fatalf("%d %q; want 400 fail", status, answer)
		}
	}
	passes(t, "queried", func() bool { return d.was("A1") != "" })
	needs, err := api.Attention(t.Context())
	if err != nil || len(needs.Items) != 1 || needs.Items[0].Kind != "notices_refused" || needs.Items[0].Tasks != 20 || needs.Items[0].Queue != "orders" || needs.Items[0].Why == "" {
		t.Errorf("what needs a person is %+v, %v; want 20 refused notices of the queue", needs, err)
	}
	costly(t, api, "A2") // whatever else were to happen to A1 has happened when this one is decided
	notify(t, s, paidNotice("A2", 1299), gatewayKey)
	d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "A2"})
	o, err := api.Order(t.Context(), ref, 0)
	if err != nil || o.OrderState != "PENDING" || d.was("A1") != "query" || !slices.Equal(results(t, api, ref), []string{"refused"}) {
		t.Errorf("%+v, %v, asked %q, notices %q; want PENDING, one query, one record", o.OrderState, err, d.was("A1"), results(t, api, ref))
	}
}

// A notice that comes before its order is kept, once, and applied when the order exists.
func TestNoticeBeforeOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	api, s := d.serveNoticed(t)
	for i := range 2 {
		if status, answer := notify(t, s, paidNotice("A1", 1299), gatewayKey); status != 200 || answer != "success" {
			t.Fatalf("notice %d: %d %q", i, status, answer)
		}
	}
	ref := costly(t, api, "A1")
	passes(t, "paid", func() bool {
		o, err := api.Order(t.Context(), ref, 0)
		return err == nil && o.OrderState == "PAID"
	})
	if _, told := d.ends(t, api, ref); events(told) != "order.paid" || d.was("A1") != "" {
		t.Errorf("told %s, asked %q; want told once, no query", events(told), d.was("A1"))
	}
}

// Two orders cannot have one number at the channel.
func TestOneNumberTwice(t *testing.T) {
	d := newDesk(t)
	api, _ := d.serveNoticed(t)
	costly(t, api, "A1")
	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M2", OrderNo: "A1"})
	if problem, is := errors.AsType[*client.Problem](err); !is || problem.Status != 409 {
		t.Errorf("%v; want 409", err)
	}
	if _, _, err := api.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M2", OrderNo: "A1", ChannelOrderNo: "M2-A1"}); err != nil {
		t.Errorf("with a number of its own: %v", err)
	}
}

// Notices are listed, and one that another program received is verified in the same way.
func TestNoticesOverTheAPI(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticed(t)
	ref := costly(t, api, "A1")
	body := paidNotice("A1", 1299)
	mac := hmac.New(sha256.New, []byte(gatewayKey))
	io.WriteString(mac, body)
	in := client.HandIn{Headers: map[string]string{"x-signature": hex.EncodeToString(mac.Sum(nil))}, Body: body + " "}
	_, err := api.HandInNotice(t.Context(), ref, in)
	if problem, is := errors.AsType[*client.Problem](err); !is || problem.Status != 422 || len(problem.Errors) != 1 || problem.Errors[0].Location != "body.body" {
		t.Errorf("one byte more: %v; want 422 of body.body", err)
	}
	in.Body = body
	other := costly(t, api, "A2")
	if _, err := api.HandInNotice(t.Context(), other, in); err == nil || !strings.Contains(err.Error(), "the notice is about another order") || len(results(t, api, ref)) != 1 {
		t.Errorf("as a notice of another order: %v, notices %q; want it refused and nothing applied", err, results(t, api, ref))
	}
	out, err := api.HandInNotice(t.Context(), ref, in)
	if err != nil || len(out.Notices) != 1 || out.Notices[0].Result != "applied" || out.Notices[0].State != "PAID" {
		t.Fatalf("%+v, %v; want it applied", out, err)
	}
	notify(t, s, paidNotice("other", 1), gatewayKey)
	for filter, want := range map[client.NoticeFilter]string{
		{}: "held applied refused", {Queue: "orders", OrderNo: "A1"}: "applied refused", {Result: "held"}: "held", {MerchantNo: "M2"}: "", {Queue: "tell"}: "",
	} {
		page, err := api.ListNotices(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range page.Notices {
			got = append(got, n.Result)
			if n.Result == "applied" && (n.Content != body || n.ChannelOrderNo != "A1" || n.Account != "queue:orders") {
				t.Errorf("%+v", n)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %q; want %q", filter, got, want)
		}
	}
	third := costly(t, api, "A3")
	in.Body = paidNotice("A3", 1299) // with the signature of another notice
	if _, err := api.HandInNotice(t.Context(), other, in); err == nil || len(results(t, api, third)) != 0 {
		t.Errorf("a forged notice of A3, handed in as one of A2: %v, notices %q; want it refused, and A3 not queried", err, results(t, api, third))
	}
}

// A signed notice that cannot be read is accepted however often it comes, if it names its order: to
// send it again would help nobody. It decides nothing and causes one query. One that names none is
// refused, because nobody would look.
func TestUnreadableNotice(t *testing.T) {
	d := newDesk(t)
	api, s := d.serveNoticed(t)
	ref := costly(t, api, "A1")
	for _, body := range []string{`{"out_trade_no":"A1","trade_state":"?"}`, `{"out_trade_no":"nobody's","trade_state":"?"}`, `[]`} {
		for i := range 3 {
			want := 200
			if body == `[]` {
				want = 400
			}
			if status, answer := notify(t, s, body, gatewayKey); status != want {
				t.Errorf("%s, time %d: %d %q; want %d", body, i, status, answer, want)
			}
		}
	}
	if !strings.Contains(d.log.String(), `msg="a signed notice cannot be used" queue=orders channel_order_no=nobody's why=`) {
		t.Errorf("nothing is logged of a notice about no order:\n%s", d.log.String())
	}
	passes(t, "queried", func() bool { return d.was("A1") != "" })
	if o, err := api.Order(t.Context(), ref, 0); err != nil || o.OrderState != "PENDING" || !slices.Equal(results(t, api, ref), []string{"refused"}) {
		t.Errorf("%+v, %v, notices %q; want PENDING, refused once", o, err, results(t, api, ref))
	}
	page, err := api.ListNotices(t.Context(), client.NoticeFilter{Result: "refused"})
	named := map[string]string{}
	for _, n := range page.Notices {
		named[n.ChannelOrderNo] = n.Why
	}
	if err != nil || len(page.Notices) > 9 || len(named) != 3 || named["A1"] == "" || named["nobody's"] == "" || !strings.HasPrefix(named[""], "order: ") {
		t.Errorf("refused notices %+v, %v; want all three with their reasons", page.Notices, err)
	}
}

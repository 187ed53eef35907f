package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// A refunder is WeChat Pay's side of refunds, which loses answers.
type refunder struct {
	*provider

	mu       sync.Mutex
	requests map[string][]string // bodies, by number
	queries  map[string]int
	lose     bool              // the answer to each request is lost, though it has its effect
	ends     map[string]string // status after the second query of it, by number
}

// refunds answers as WeChat Pay's API v3 does about refunds.
func (c *refunder) refunds(w http.ResponseWriter, r *http.Request) {
	body := c.wechatAsked(r, "1230000109")
	c.mu.Lock()
	defer c.mu.Unlock()
	no := strings.TrimPrefix(r.URL.Path, "/v3/refund/domestic/refunds/")
	if r.Method == http.MethodPost {
		var asked struct {
			OutRefundNo string `json:"out_refund_no"`
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			c.t.Error(err)
		}
		no = asked.OutRefundNo
		if c.requests[no] = append(c.requests[no], string(body)); c.lose {
			panic(http.ErrAbortHandler)
		}
	} else {
		c.queries[no]++
	}
	status, says := http.StatusOK, ""
	switch state := "PROCESSING"; {
	case len(c.requests[no]) == 0:
		status, says = http.StatusNotFound, `{"code":"RESOURCE_NOT_EXISTS","message":"…"}`
	default:
		if c.queries[no] > 2 {
			state = c.ends[no]
		}
		says = fmt.Sprintf(`{"refund_id":"503","out_refund_no":%q,"out_trade_no":%q,"transaction_id":"42","status":%q,"success_time":"2026-11-20T20:00:00+08:00","amount":{"refund":100,"total":200,"currency":"CNY"}}`,
			no, strings.TrimSuffix(no, "-R1"), state)
	}
	c.wechatSays(w, status, says)
}

// The order that an account knows by the number of a refund is another merchant's. The refund is
// refused: the channel would pay back the other merchant's payment.
func TestRefundOfAnotherMerchantsOrder(t *testing.T) {
	p, d := newProvider(t), newDesk(t)
	private, public := keyFiles(t, p)
	channel := `kind: wechatpay, url: "http://127.0.0.1:1", mch_id: "1230000109", serial: 5157F09E, private_key: "file:` + private + `", platform_keys: {PUB_KEY_ID_01: "file:` + public + `"}`
	api, _ := d.serve(t, d.parse(t, strings.ReplaceAll(`
queues:
  orders: {kind: order, channel: {CHANNEL}, on_exhausted: close, schedule: 1h*}
  refunds: {kind: poll, channel: {CHANNEL, of: refund}, request: channel, schedule: 1h*}
`, "CHANNEL", channel)))
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M2", OrderNo: "100100"})
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "100200", ChannelOrderNo: "C20000"})
	refund := func(merchant, no, channelNo, refNo string) client.CreateTask {
		return client.CreateTask{Queue: "refunds", MerchantNo: merchant, OrderNo: no, ChannelOrderNo: channelNo, RefNo: refNo, Vars: map[string]string{"amount": "100", "total": "100"}}
	}
	for field, in := range map[string]client.CreateTask{
		"body.order_no":         refund("M1", "100100", "", ""), // M1's own 100100 is not known, or was deleted
		"body.channel_order_no": refund("M1", "100200", "100100", "R1"),
	} {
		if _, _, err := api.Create(t.Context(), in); client.StatusOf(err) != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprintf("%+v", err), field) {
			t.Errorf("%+v: %v; want 422 for %s", in, err, field)
		}
	}
	create(t, api, refund("M2", "100100", "", ""))
	create(t, api, refund("M1", "100200", "", ""))
	create(t, api, refund("M1", "100300", "", "")) // of an order that nobody has here
}

// A refund is requested once although the answer is lost, polled, and told to the merchant once.
func TestRefund(t *testing.T) {
	c := &refunder{provider: newProvider(t), requests: map[string][]string{}, queries: map[string]int{}, lose: true,
		ends: map[string]string{"20261120000001-R1": "SUCCESS", "20261120000002-R1": "ABNORMAL"}}
	at := httptest.NewServer(http.HandlerFunc(c.refunds))
	t.Cleanup(at.Close)
	private, public := keyFiles(t, c.provider)
	d := newDesk(t)
	api, _ := d.serve(t, d.parse(t, strings.NewReplacer("PROVIDER", at.URL, "PRIVATE", private, "PUBLIC", public).Replace(`
queues:
  tell: {url: "MERCHANT/notify"}
  refunds:
    kind: poll
    channel: {kind: wechatpay, of: refund, url: "PROVIDER", mch_id: "1230000109", serial: 5157F09E, private_key: "file:PRIVATE", platform_keys: {PUB_KEY_ID_01: "file:PUBLIC"}}
    request: channel
    schedule: 50ms*
    then: {queue: tell, json: {buyer: json.transaction_id}}
`)))

	_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "refunds", MerchantNo: "M1", OrderNo: "20261120000001", URL: "https://m.example", MaxAge: "1h",
		Vars: map[string]string{"amount": "300", "total": "200"}})
	for _, want := range []string{"body.url", "body.max_age", "body.vars.amount"} {
		if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), want) {
			t.Errorf("create says %v; want %s named", err, want)
		}
	}

	for no, want := range map[string]struct{ state, reason, event string }{
		"20261120000001": {"DONE", "done", "poll.done"},
		"20261120000002": {"FAILED_THERE", "failed_there", "poll.failed"},
	} {
		in := client.CreateTask{Queue: "refunds", MerchantNo: "M1", OrderNo: no, Vars: map[string]string{"amount": "100", "total": "200"},
			Notify: &client.Notify{JSON: json.RawMessage(`{"shop":"tea"}`)}}
		created := create(t, api, in)
		if created.RefNo != no+"-R1" || created.PollState != "PENDING" || created.Kind != "poll" || created.Key != "M1/"+no+"/"+no+"-R1" || created.MaxAttempts != nil {
			t.Errorf("created %+v", created)
		}
		if again := create(t, api, in); again.ID != created.ID {
			t.Errorf("created again as %s; want %s", again.ID, created.ID)
		}
		o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no})
		c.mu.Lock()
		requests := slices.Clone(c.requests[no+"-R1"])
		c.mu.Unlock()
		if len(requests) != 1 || requests[0] != `{"amount":{"currency":"CNY","refund":100,"total":200},"out_refund_no":"`+no+`-R1","out_trade_no":"`+no+`"}` {
			t.Errorf("requested %v; want once", requests)
		}
		if len(told) != 1 || told[0].Event != want.event || told[0].Says["state"] != want.state || told[0].Says["ref_no"] != no+"-R1" || told[0].Says["shop"] != "tea" ||
			told[0].Says["amount"] != 100. || told[0].Says["channel_ref_no"] != "503" || told[0].Says["buyer"] != "42" || told[0].Says["finished_at"] != "2026-11-20T12:00:00Z" {
			t.Errorf("told %+v; want %s", told, want.event)
		}
		if o.OrderState != "" {
			t.Errorf("order %s is %s; want no order", no, o.OrderState)
		}
		task, err := api.Task(t.Context(), client.ByID(created.ID))
		if err != nil {
			t.Fatal(err)
		}
		var did []string
		for _, a := range task.AttemptLog {
			did = append(did, strings.TrimSpace(a.Action+" "+a.Reading))
		}
		last := "query " + want.state
		if got := strings.Join(did, ", "); got != "announce, request unknown, query PENDING, query PENDING, "+last {
			t.Errorf("attempts %s; want …, %s", got, last)
		}
		if task.State != "succeeded" || task.Reason != want.reason || task.PollState != want.state || task.RefNo != no+"-R1" || task.Request.Vars["amount"] != "100" || task.Request.Notify == nil {
			t.Errorf("task %+v", task)
		}
	}
	if !strings.Contains(d.log.String(), "ref_no=20261120000002-R1 poll_state=FAILED_THERE") || strings.Contains(d.log.String(), "ref_no=20261120000001-R1 poll_state") {
		t.Errorf("log %s\nwant a person told of the abnormal refund alone", d.log.String())
	}
}

// A gateway of one's own: three expressions are enough to poll, and complete enters what another
// program saw.
func TestPollOfOnesOwn(t *testing.T) {
	d := newDesk(t)
	d.answer = func(no, _ string, n int, r *http.Request) (int, string) {
		if no == "T2" || n < 3 {
			return http.StatusOK, `{"state":"busy"}`
		}
		return http.StatusOK, fmt.Sprintf(`{"state":"arrived","no":%q,"order":%q}`, no, r.URL.Query().Get("order"))
	}
	api, _ := d.serve(t, d.parse(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  transfers:
    kind: poll
    query: {url: "CHANNEL/{ref_no}?order={order_no}&to={vars.to}"}
    states: {done: json.state == "arrived", failed: json.state == "lost", waiting: json.state == "busy"}
    schedule: 20ms*
    then: tell
`))
	create(t, api, client.CreateTask{Queue: "transfers", MerchantNo: "M1", OrderNo: "O1", RefNo: "T1", Vars: map[string]string{"to": "a"}})
	if _, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "O1"}); events(told) != "poll.done" {
		t.Errorf("told %s; want poll.done", events(told))
	}
	task := create(t, api, client.CreateTask{Queue: "transfers", MerchantNo: "M1", OrderNo: "O2", RefNo: "T2", Vars: map[string]string{"to": "a"}})
	if _, err := api.Complete(t.Context(), client.ByID(task.ID), client.CompleteTask{Outcome: "PAID"}); err == nil {
		t.Error("completed as PAID; want an error")
	}
	done, err := api.Complete(t.Context(), client.ByID(task.ID), client.CompleteTask{Outcome: "FAILED_THERE", Reason: "seen in the bank's pages"})
	if err != nil || done.PollState != "FAILED_THERE" {
		t.Errorf("%+v, %v; want FAILED_THERE", done, err)
	}
	if _, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "O2"}); events(told) != "poll.failed" || told[0].Says["ref_no"] != "T2" {
		t.Errorf("told %+v; want poll.failed", told)
	}
	for _, tt := range []struct {
		in   client.CreateTask
		want string
	}{
		{client.CreateTask{Queue: "transfers", MerchantNo: "M1", OrderNo: "O3"}, "ref_no"},
		{client.CreateTask{Queue: "transfers", RefNo: "T3"}, "merchant_no"},
		{client.CreateTask{Queue: "transfers", MerchantNo: "M1", RefNo: "T3"}, "vars.to"},
		{client.CreateTask{Queue: "transfers", MerchantNo: "M1", RefNo: "T3", Event: "poll.mine"}, "event"},
		{client.CreateTask{Queue: "tell", RefNo: "T3"}, "ref_no"},
	} {
		if _, _, err := api.Create(t.Context(), tt.in); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "body."+tt.want) {
			t.Errorf("create %+v: %v; want %s named", tt.in, err, tt.want)
		}
	}
}

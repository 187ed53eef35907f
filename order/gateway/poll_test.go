package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

func pollStates(t *testing.T) *states.Poll {
	t.Helper()
	s, err := states.CompilePollRules(map[string]string{"done": `json.s == "done"`, "failed": `json.s == "failed"`, "waiting": `json.s == "waiting"`, "not_found": "status == 404"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPoll(t *testing.T) {
	var asked []string
	status, body := 200, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(text)))
		if r.Header.Get("X-Signature") == "" && r.Header.Get("Webhook-Signature") == "" {
			t.Error("the request is not signed")
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer s.Close()
	about, err := rule.CompileValue("json.no")
	if err != nil {
		t.Fatal(err)
	}
	options := gateway.PollOptions{
		Query:   gateway.Request{URL: s.URL + "/refunds/{ref_no}?order={order_no}"},
		Request: gateway.Request{URL: s.URL + "/refunds", Body: `{"no":"{ref_no}","order":"{order_no}","fen":{vars.amount}}`},
		States:  pollStates(t), About: about,
		Sign: sign.Config{Scheme: "standard_webhooks", Secrets: []sign.Secret{sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}},
	}
	c, err := gateway.NewPoll(options)
	if err != nil {
		t.Fatal(err)
	}
	o := order.Order{MerchantNo: "M1", OrderNo: "O1", RefNo: "R/1", Vars: map[string]string{"amount": "88"}}
	for _, tt := range []struct {
		status int
		body   string
		want   poll.Reading
		why    string
	}{
		{200, `{"s":"done","no":"R/1"}`, poll.Done, ""},
		{200, `{"s":"failed","no":"R/1"}`, poll.FailedThere, ""},
		{200, `{"s":"waiting","no":"R/1"}`, poll.Waiting, ""},
		{404, `{}`, poll.NotFound, ""},
		{404, `{"no":"R2"}`, poll.QueryError, `about "R2"`},
		{200, `{"s":"done","no":"R2"}`, poll.QueryError, `about "R2"`},
		{200, `{"s":"done"}`, poll.QueryError, "does not say what it is about"},
		{200, `{"s":"new","no":"R/1"}`, poll.QueryError, "no rule matches"},
	} {
		status, body = tt.status, tt.body
		got := c.Query(t.Context(), &o)
		if got.Reading != tt.want || !strings.Contains(got.Error, tt.why) || (tt.why == "") != (got.Error == "") || (got.Result == bellman.Accepted) != (tt.why == "") {
			t.Errorf("%d %s: %v, %v, %q; want %v, %q", tt.status, tt.body, got.Reading, got.Result, got.Error, tt.want, tt.why)
		}
	}
	if asked[0] != "GET /refunds/R%2F1?order=O1" {
		t.Errorf("asked %s", asked[0])
	}
	asked = nil
	for code, want := range map[int]poll.RequestReading{200: poll.RequestAccepted, 201: poll.RequestAccepted, 302: poll.RequestUnknown, 400: poll.RequestRefused,
		404: poll.RequestRefused, 408: poll.RequestUnknown, 409: poll.RequestUnknown, 429: poll.RequestUnknown, 500: poll.RequestUnknown, 503: poll.RequestUnknown} {
		status, body = code, "{}"
		if got := c.(poll.Requester).Request(t.Context(), &o); got.Reading != want {
			t.Errorf("%d: %v; want %v", code, got.Reading, want)
		}
	}
	if asked[0] != `POST /refunds {"no":"R/1","order":"O1","fen":88}` {
		t.Errorf("asked %s", asked[0])
	}
	options.Request.URL = "http://127.0.0.1:1/refunds" // nothing listens on this port
	nobody, err := gateway.NewPoll(options)
	if err != nil {
		t.Fatal(err)
	}
	if got := nobody.(poll.Requester).Request(t.Context(), &o); got.Reading != poll.RequestUnknown || got.Result != bellman.Unreachable {
		t.Errorf("nobody there: %+v", got)
	}
	err = c.(poll.RefChecker).CheckRef(&order.Order{OrderNo: "O1", RefNo: "..", Vars: map[string]string{"amount": "x"}}, true)
	if err == nil || !strings.Contains(err.Error(), "ref_no") || !strings.Contains(err.Error(), "vars.amount") {
		t.Errorf("CheckRef = %v", err)
	}
	if err := c.(poll.RefChecker).CheckRef(&order.Order{OrderNo: "O1", RefNo: "R1"}, false); err != nil {
		t.Errorf("CheckRef = %v; want nil of what is only queried", err)
	}
}

func TestNewPoll(t *testing.T) {
	query := gateway.Request{URL: "http://gw.internal/{ref_no}"}
	for _, tt := range []struct {
		o    gateway.PollOptions
		want string
	}{
		{gateway.PollOptions{Query: query}, "states: is needed"},
		{gateway.PollOptions{States: pollStates(t)}, "query: url: "},
		{gateway.PollOptions{States: pollStates(t), Query: gateway.Request{URL: "http://gw.internal/x"}}, "names no order"},
		{gateway.PollOptions{States: pollStates(t), Query: query, Request: gateway.Request{URL: "http://gw.internal/{order_no}"}}, "request: names no refund"},
		{gateway.PollOptions{States: pollStates(t), Query: query, Request: gateway.Request{Method: "PUSH", URL: "http://gw.internal/{ref_no}"}}, "request: method: "},
	} {
		if _, err := gateway.NewPoll(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewPoll = %v; want %q", err, tt.want)
		}
	}
	c, err := gateway.NewPoll(gateway.PollOptions{States: pollStates(t), Query: query})
	if _, can := c.(poll.Requester); err != nil || can {
		t.Errorf("%v; want a channel that only queries", err)
	}
	// An order has no such number.
	q, err := states.CompileQuery("wechat_v3")
	if err != nil {
		t.Fatal(err)
	}
	k, err := states.CompileClose("wechat_v3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.New(gateway.Options{Query: query, Close: query, States: q, CloseStates: k}); err == nil || !strings.Contains(err.Error(), "{ref_no} is for queues of kind poll") {
		t.Errorf("New = %v", err)
	}
}

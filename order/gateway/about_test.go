package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/rule"
)

// An answer that names another order, or none, says nothing of the one asked for.
func TestAbout(t *testing.T) {
	var status int
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Order", "A1")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer s.Close()
	tests := []struct {
		about, no string
		status    int
		body      string
		want      order.Reading
		result    bellman.Result
		why       string
	}{
		{"json.no", "A1", 200, `{"trade_state":"SUCCESS","no":"A1"}`, order.Paid, bellman.Accepted, ""},
		{"json.no", "A1", 200, `{"trade_state":"SUCCESS","no":"A2"}`, order.QueryError, bellman.Refused, `the answer is about the order "A2"`},
		{"json.no", "A1", 200, `{"trade_state":"CLOSED","no":"A2"}`, order.QueryError, bellman.Refused, `the answer is about the order "A2"`},
		{"json.no", "A1", 200, `{"trade_state":"NOTPAY","no":"A2"}`, order.QueryError, bellman.Refused, `the answer is about the order "A2"`},
		{"json.no", "A1", 200, `{"trade_state":"NOTPAY","no":""}`, order.QueryError, bellman.Refused, `the answer is about the order ""`},
		{"json.no", "A1", 200, `{"trade_state":"SUCCESS"}`, order.QueryError, bellman.Refused, "the answer does not say which order it is about"},
		{"json.no", "A1", 200, `{"trade_state":"SUCCESS","no":["A1"]}`, order.QueryError, bellman.Refused, "neither text nor a whole number"},
		{"json.no", "1234567890123456789", 200, `{"trade_state":"SUCCESS","no":1234567890123456789}`, order.Paid, bellman.Accepted, ""},
		{"json.no", "1234567890123456789", 200, `{"trade_state":"SUCCESS","no":1234567890123456788}`, order.QueryError, bellman.Refused, "is about the order"},
		{"json.no", "A1", 404, `{"code":"ORDER_NOT_EXIST"}`, order.NotFound, bellman.Accepted, ""},
		{"json.no", "A1", 404, `{"code":"ORDER_NOT_EXIST","no":"A2"}`, order.QueryError, bellman.Refused, `is about the order "A2"`},
		{"json.no", "A1", 500, `{"code":"SYSTEM_ERROR","no":"A2"}`, order.QueryError, bellman.ErrorStatus, "SYSTEM_ERROR"},
		{`headers["x-order"]`, "A1", 200, `{"trade_state":"SUCCESS"}`, order.Paid, bellman.Accepted, ""},
		{`headers["x-order"]`, "A2", 200, `{"trade_state":"SUCCESS"}`, order.QueryError, bellman.Refused, `is about the order "A1"`},
		{`json.id == "c-" + vars.mch ? order_no : json.id`, "A1", 200, `{"trade_state":"SUCCESS","id":"c-1\"9"}`, order.Paid, bellman.Accepted, ""},
		{"", "A1", 200, `{"trade_state":"SUCCESS","no":"A2"}`, order.Paid, bellman.Accepted, ""},
	}
	for _, tt := range tests {
		o := (&shop{Server: s}).options(t)
		if tt.about != "" {
			var err error
			if o.About, err = rule.CompileValue(tt.about); err != nil {
				t.Fatal(err)
			}
		}
		status, body = tt.status, tt.body
		got := channel(t, o).Query(t.Context(), of(tt.no))
		if got.Reading != tt.want || got.Result != tt.result || !strings.Contains(got.Error, tt.why) || tt.why == "" && got.Error != "" {
			t.Errorf("about %q, order %s, %d %s: %v, %v, %q; want %v, %v, %q", tt.about, tt.no, tt.status, tt.body,
				got.Reading, got.Result, got.Error, tt.want, tt.result, tt.why)
		}
		if tt.want == order.QueryError && got.Taken != nil {
			t.Errorf("about %q, order %s, %s: taken %v; want nothing", tt.about, tt.no, tt.body, got.Taken)
		}
	}
	o := (&shop{Server: s}).options(t)
	o.Reverse = gateway.Request{URL: s.URL + "/orders/{order_no}/reverse"}
	var err error
	if o.About, err = rule.CompileValue("json.no"); err != nil {
		t.Fatal(err)
	}
	status, body = 200, `{"trade_state":"SUCCESS","no":"A2"}`
	if got := channel(t, o).Query(t.Context(), of("A1")); got.Reading != order.QueryError {
		t.Errorf("of a channel that reverses: %v; want QUERY_ERROR", got.Reading)
	}
}

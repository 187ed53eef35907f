package states_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
)

// own are the rules of a gateway of one's own.
var own = map[string]string{
	"PAID":          `json.state == "paid"`,
	"PAID_REFUNDED": `json.refunded > 0`,
	"CLOSED":        `json.state in ["closed", "both"]`,
	"REVOKED":       `json.state == "revoked"`,
	"FAILED":        `json.state == "failed" || json.state == "both"`,
	"PENDING":       `status == 200 && json.state != ""`,
	"NOT_FOUND":     `json_field("code", "eq", "no_such_order")`,
	"QUERY_ERROR":   `headers["x-cache"] == "stale"`,
}

func TestQueryRules(t *testing.T) {
	tests := []struct {
		status int
		header string // X-Cache
		body   string
		want   order.Reading
		why    string
	}{
		{200, "", `{"state":"paid"}`, paid, ""},
		{200, "", `{"state":"paid","refunded":0}`, paid, ""},
		{200, "", `{"state":"paid","refunded":5}`, back, ""},
		{200, "", `{"state":"waiting","refunded":5}`, back, ""},
		{200, "", `{"state":"closed"}`, order.Closed, ""},
		{200, "", `{"state":"revoked"}`, order.Revoked, ""},
		{200, "", `{"state":"failed"}`, order.Failed, ""},
		{200, "", `{"state":"waiting"}`, open, ""},
		{200, "", `{"state":"waiting","code":"no_such_order"}`, open, ""},
		{200, "", `{"code":"no_such_order"}`, none, ""},
		{404, "", `{"code":"no_such_order"}`, none, ""},
		{404, "", `{"code":"no_such_route"}`, qerr, "no rule matches"},
		{200, "", `{}`, qerr, "no rule matches"},
		{200, "", `{"state":"both"}`, qerr, "contradict each other: [CLOSED FAILED PENDING]"},
		{200, "", `{"state":"closed","refunded":5}`, qerr, "contradict each other: [PAID_REFUNDED CLOSED PENDING]"},
		{200, "stale", `{"state":"paid"}`, qerr, "the rule for QUERY_ERROR matches"},
		{200, "fresh", `{"state":"paid"}`, paid, ""},
		{200, "", `{"state":"paid","refunded":"x"}`, qerr, "PAID_REFUNDED: rule: no such overload"},
		{200, "", `<html>`, qerr, "not JSON"},
		{200, "", ``, qerr, "not JSON"},
		{200, "", strings.Repeat(" ", 65537), qerr, "64 KiB"},
		{500, "", `{"state":"paid"}`, qerr, "HTTP status 500 decides nothing"},
		{404, "", `{"state":"closed"}`, qerr, "HTTP status 404 decides nothing"},
		{202, "", `{"state":"closed"}`, qerr, "HTTP status 202 decides nothing"},
		{202, "", `{"code":"no_such_order"}`, none, ""},
		{302, "", `{"state":"paid"}`, qerr, "HTTP status 302 decides nothing"},
		{429, "", `{"state":"paid"}`, qerr, "HTTP status 429 decides nothing"},
	}
	q, err := states.CompileQueryRules(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		a := order.Answer{Status: tt.status, Body: []byte(tt.body)}
		if tt.header != "" {
			a.Header = map[string]string{"x-cache": tt.header}
		}
		got := q.Read(a, 0)
		if got.Reading != tt.want || (tt.why == "") != (got.Error == "") || !strings.Contains(got.Error, tt.why) {
			t.Errorf("%d %.60q %s = %v, %q; want %v, %q", tt.status, tt.body, tt.header, got.Reading, got.Error, tt.want, tt.why)
		}
		if got.Throttled != (tt.status == 429) {
			t.Errorf("%d: throttled is %t", tt.status, got.Throttled)
		}
	}
}

func TestCloseRules(t *testing.T) {
	c, err := states.CompileCloseRules(map[string]string{
		"closed":         `json.result == "closed" || json.result == "both"`,
		"already_closed": `json.result == "was"`,
		"paid_hint":      `json.result == "paid" || json.result == "both"`,
		"in_flight":      `json.result == "paying" || status == 504`,
		"not_exist":      `json.result == "none"`,
		"unknown":        `json.maintenance == true`,
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		status int
		body   string
		want   order.CloseReading
		why    string
	}{
		{200, `{"result":"closed"}`, done, ""},
		{200, `{"result":"was"}`, already, ""},
		{400, `{"result":"was"}`, already, ""},
		{400, `{"result":"paid"}`, hint, ""},
		{200, `{"result":"paying"}`, flight, ""},
		{404, `{"result":"none"}`, notExist, ""},
		{504, `{}`, flight, ""},
		{504, ``, unknown, "not JSON"},
		{200, `{"result":"both"}`, unknown, "contradict each other: [paid_hint closed]"},
		{200, `{"result":"closed","maintenance":true}`, unknown, "the rule for unknown matches"},
		{200, `{"result":"?"}`, unknown, "no rule matches"},
		{500, `{"result":"closed"}`, unknown, "HTTP status 500 closes nothing"},
		{400, `{"result":"closed"}`, unknown, "HTTP status 400 closes nothing"},
		{202, `{"result":"closed"}`, unknown, "HTTP status 202 closes nothing"},
	}
	for _, tt := range tests {
		got := c.Read(order.Answer{Status: tt.status, Body: []byte(tt.body)})
		if got.Reading != tt.want || (tt.why == "") != (got.Error == "") || !strings.Contains(got.Error, tt.why) {
			t.Errorf("%d %s = %v, %q; want %v, %q", tt.status, tt.body, got.Reading, got.Error, tt.want, tt.why)
		}
	}
}

func TestMistakes(t *testing.T) {
	names := []struct{ name, want string }{
		{"", `no preset is called "": want one of wechat_v2, wechat_v3, alipay, unionpay,`},
		{"wechat", "want one of"},
		{"wechat_v3 30m", "only unionpay takes anything"},
		{"unionpay_back 30m", "only unionpay takes anything"},
		{"unionpay 30", `want "unionpay 30m"`},
		{"unionpay -30m", `want "unionpay 30m"`},
	}
	for _, tt := range names {
		if _, err := states.CompileQuery(tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CompileQuery(%q): %v; want %q", tt.name, err, tt.want)
		}
		if _, err := states.CompileClose(tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CompileClose(%q): %v; want %q", tt.name, err, tt.want)
		}
	}
	rules := []struct{ name, text, want string }{
		{"", "", "no rules"},
		{"SUCCESS", `status == 200`, `"SUCCESS" is no state`},
		{"paid", `status == 200`, `"paid" is no state`},
		{"PAID", `statuss == 200`, "PAID: rule: column 1"},
		{"PAID", ``, "PAID: rule: no text"},
	}
	for _, tt := range rules {
		given := map[string]string{tt.name: tt.text}
		if tt.name == "" {
			given = nil
		}
		if _, err := states.CompileQueryRules(given); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CompileQueryRules(%v): %v; want %q", given, err, tt.want)
		}
	}
	if _, err := states.CompileCloseRules(nil); err == nil {
		t.Error("CompileCloseRules(nil): no error")
	}
	if _, err := states.CompileCloseRules(map[string]string{"PAID": "true"}); err == nil || !strings.Contains(err.Error(), "no state of a close") {
		t.Errorf("CompileCloseRules of PAID: %v", err)
	}
}

// No answer says nothing, and one that its receiver found wrong is not read.
func TestUnanswered(t *testing.T) {
	tests := []struct {
		answer order.Answer
		close  order.CloseReading
		why    string
	}{
		{order.Answer{Result: bellman.TimedOut, Error: "timeout"}, flight, "timeout"},
		{order.Answer{Result: bellman.TimedOut, Status: 200, Body: []byte(v3Paid), Error: "timeout"}, flight, "timeout"},
		{order.Answer{Result: bellman.Unreachable, Error: "refused"}, unknown, "refused"},
		{order.Answer{Result: bellman.Blocked, Error: "private address"}, unknown, "private address"},
		{order.Answer{Result: bellman.Refused, Status: 200, Body: []byte(v3Paid), Error: "signature"}, unknown, "signature"},
		{order.Answer{Body: []byte(v3Paid)}, unknown, "no answer"},
		{order.Answer{}, unknown, "no answer"},
	}
	q, err := states.CompileQuery("wechat_v3")
	if err != nil {
		t.Fatal(err)
	}
	c, err := states.CompileClose("wechat_v3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		if a := q.Read(tt.answer, 0); a.Reading != qerr || a.Taken != nil || a.Error != tt.why || a.Result != tt.answer.Result {
			t.Errorf("query of %v = %v, %v, %v, %q", tt.answer.Result, a.Reading, a.Taken, a.Result, a.Error)
		}
		if a := c.Read(tt.answer); a.Reading != tt.close || a.Error != tt.why || a.Result != tt.answer.Result {
			t.Errorf("close of %v = %v, %v, %q; want %v", tt.answer.Result, a.Reading, a.Result, a.Error, tt.close)
		}
	}
	kept := q.Read(order.Answer{Status: 200, Error: "cut", Throttled: true, RetryAfter: time.Second}, 0)
	if kept.Error != "cut" || !kept.Throttled || kept.RetryAfter != time.Second {
		t.Errorf("what the answer says itself is lost: %+v", kept.Answer)
	}
}

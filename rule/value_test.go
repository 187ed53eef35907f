package rule_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/rule"
)

var (
	paidAnswer = &rule.Answer{
		Status: 200,
		Body: []byte(`{"trade_state":"SUCCESS","transaction_id":"4200000001","amount":{"total":100,"currency":"CNY"},
			"goods":[{"id":1,"n":2.5},{"id":9007199254740993,"n":null}],"ok":true,"html":"<b>&\"\u2028"}`),
		Header: http.Header{"Request-Id": {"08F1"}},
	}
	paidFacts = rule.Facts{
		OrderNo: "20261120000001", MerchantNo: "M1001", State: "PAID",
		Vars:  map[string]string{"shop": "12"},
		Taken: map[string]any{"transaction_id": "4200000001", "amount": int64(100), "rate": 0.5},
	}
)

func TestValues(t *testing.T) {
	tests := []struct{ text, want string }{
		{`order_no`, `"20261120000001"`},
		{`{"order_no": order_no, "merchant_no": merchant_no, "state": order_state, "amount": json.amount.total, "transaction_id": json.transaction_id}`,
			`{"amount":100,"merchant_no":"M1001","order_no":"20261120000001","state":"PAID","transaction_id":"4200000001"}`},
		{`taken.transaction_id`, `"4200000001"`},
		{`{"a": taken.amount, "r": taken.rate, "shop": vars.shop}`, `{"a":100,"r":0.5,"shop":"12"}`},
		{`taken`, `{"amount":100,"rate":0.5,"transaction_id":"4200000001"}`},
		{`vars`, `{"shop":"12"}`},
		{`headers`, `{"request-id":"08F1"}`},
		{`"shop" in vars ? vars.shop : ""`, `"12"`},
		{`has(json.none) ? json.none : null`, `null`},
		{`has(vars.none) ? vars.none : null`, `null`},
		{`has(vars.shop) ? vars.shop : null`, `"12"`},
		{`"none" in vars ? vars["none"] + "ms" : null`, `null`},
		{`"shop" in vars ? vars["shop"] + "ms" : null`, `"12ms"`},
		{`status == 200 ? null : order_no`, `null`},
		{`has(vars.none) ? vars.none : status == 200 ? order_no : null`, `"20261120000001"`},
		{`{"a": status == 200 ? {"b": order_no} : null, "c": status == 201 ? [order_no] : null}`, `{"a":{"b":"20261120000001"},"c":null}`},
		{`null == null ? null : null`, `null`},
		{`has(vars.none) ? vars.none : ""`, `""`},
		{`status`, `200`},
		{`status == 200`, `true`},
		{`json.amount`, `{"currency":"CNY","total":100}`},
		{`json.goods`, `[{"id":1,"n":2.5},{"id":9007199254740993,"n":null}]`},
		{`json.html`, `"\u003cb\u003e\u0026\"\u2028"`},
		{`[order_no, status, json.ok, null]`, `["20261120000001",200,true,null]`},
		{`[[1, [order_no]], {"a": {"b": [json.amount.total]}}]`, `[[1,["20261120000001"]],{"a":{"b":[100]}}]`},
		{`json.ok == true ? {"paid": order_no} : {"paid": ""}`, `{"paid":"20261120000001"}`},
		{`{"yuan": double(json.amount.total) / 100.0}`, `{"yuan":1}`},
		{`minor("9.90", "CNY")`, `990`},
		{`minor("9.95", "CNY")`, `995`}, // int(9.95 * 100.0) is 994
		{`{"amount": minor(json.goods[0].n, "CNY")}`, `{"amount":250}`},
		{`minor(json.amount.total, json.amount.currency)`, `10000`},
		{`minor("500", "JPY")`, `500`},
		{`{}`, `{}`},
		{`[]`, `[]`},
		{`uint(1)`, `1`},
		{`"NO" + order_no`, `"NO20261120000001"`},
		{`json.goods.exists(g, g.id == 1)`, `true`},
	}
	for _, tt := range tests {
		v, err := rule.CompileValue(tt.text)
		if err != nil {
			t.Errorf("CompileValue(%q): %v", tt.text, err)
			continue
		}
		if v.String() != tt.text {
			t.Errorf("String() = %q, want %q", v, tt.text)
		}
		value, err := v.Evaluate(paidAnswer, paidFacts)
		got, _ := json.Marshal(value)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestValueWithoutFacts(t *testing.T) {
	v, err := rule.CompileValue(`{"o": order_no, "v": vars, "t": taken, "b": body}`)
	if err != nil {
		t.Fatal(err)
	}
	value, err := v.Evaluate(&rule.Answer{}, rule.Facts{})
	if got, _ := json.Marshal(value); err != nil || string(got) != `{"b":"","o":"","t":{},"v":{}}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestValueErrors(t *testing.T) {
	compile := []struct{ text, want string }{
		{" ", "no text"},
		{strings.Repeat("x", rule.MaxText+1), "want at most 2048"},
		{`attempt`, "undeclared reference to 'attempt'"},
		{`orderno`, "known are status, body, json, headers, order_no, merchant_no, order_state, vars, taken"},
		{`{"a": 1, "a": 2}`, `the field "a" is there twice`},
		{`{order_no: 1}`, "written out"},
		{`{1: 1}`, "written out"},
		{`{"a": json}.a`, "a map can only be the result"},
		{`{"a": json}.exists(k, k == "a")`, "a map can only be the result"},
		{`{"a": [json, json].exists(x, x == 1)}`, "constants only"},
		{`{"a": {"b": json} == json}`, "a map can only be the result"},
		{`json == json`, "one side of == must be known"},
		{`minor(json.money, "XYZ")`, `minor: there is no currency "XYZ": want one of ISO 4217 such as CNY`},
		{`minor(json.money, "cny")`, "such as CNY"},
		{`[1].map(x, x)`, "known functions are"},
		{`b"x"`, "is not JSON"},
		{`type(json)`, "is not JSON"},
		{`timestamp("2026-11-20T00:00:00Z")`, "is not for rules"},
		{`body.split("").join(",")`, "is not for rules"},
		{`{"a": `, "column 6"},
		{`json.all(a, json.all(b, json.all(c, json.all(d, a + 1 == 2))))`, "nest fewer loops"},
	}
	for _, tt := range compile {
		if v, err := rule.CompileValue(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CompileValue(%.60q) = %v, %v; want an error with %q", tt.text, v, err, tt.want)
		}
	}
	long := `{"t":"` + strings.Repeat("x", rule.MaxValue/2) + `"}`
	evaluate := []struct{ text, body, want string }{
		{`json.none`, `{}`, "no such key: none"},
		{`vars.none`, `{}`, "no such key: none"},
		{`json.a[3]`, `{"a":[]}`, "index out of bounds: 3"},
		{`json.a`, `<xml/>`, "not JSON"},
		{`[json, json]`, long, "longer than 65536 bytes"},
		{`json`, `["` + strings.Repeat("<", 12_000) + `"]`, "longer than 65536 bytes"},
		{`json`, strings.Repeat("[", 101) + strings.Repeat("]", 101), "nests deeper than 100"},
		{`1.0 / 0.0`, ``, "not JSON"},
		{`int(json.a)`, `{"a":"x"}`, "conversion"},
		{`minor("1", json.a)`, `{"a":"RMB"}`, `minor: there is no currency "RMB"`},
		{`json.all(x, json.all(y, x + 1 > 0 && y + 1 > 0))`, "[" + strings.Repeat("1,", 30_000) + "1]", "stopped"},
	}
	for _, tt := range evaluate {
		v, err := rule.CompileValue(tt.text)
		if err != nil {
			t.Errorf("CompileValue(%q): %v", tt.text, err)
			continue
		}
		got, err := v.Evaluate(&rule.Answer{Status: 200, Body: []byte(tt.body)}, rule.Facts{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %.30q = %.60v, %v; want an error with %q", tt.text, tt.body, got, err, tt.want)
		}
	}
}

// The error for a missing field differs from that for an answer that cannot be read.
func TestErrMissing(t *testing.T) {
	tests := []struct {
		body    string
		missing bool
	}{
		{`{}`, true},
		{`{"data":null}`, true},
		{`{"data":{}}`, true},
		{`{"data":{"state":[]}}`, true},
		{``, false},
		{`<html>`, false},
		{`{"data":{"state":["x"]}}`, false},
	}
	r, err := rule.Compile(`json.data.state[0] == "OK"`)
	if err != nil {
		t.Fatal(err)
	}
	v, err := rule.CompileValue(`json.data.state[0]`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		a := &rule.Answer{Body: []byte(tt.body)}
		if _, err := r.Accepts(a); errors.Is(err, rule.ErrMissing) != tt.missing {
			t.Errorf("Accepts(%s): %v; want ErrMissing: %t", tt.body, err, tt.missing)
		}
		if _, err := v.Evaluate(a, rule.Facts{}); errors.Is(err, rule.ErrMissing) != tt.missing {
			t.Errorf("Evaluate(%s): %v; want ErrMissing: %t", tt.body, err, tt.missing)
		}
	}
}

// Every text that compiles gives JSON of bounded length, in bounded time, and the same when
// repeated.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`{"a": json, "b": [json, body]}`, `json.a[0]`, `taken.x + vars.y`, `status == 200 ? {"a": 1} : {"a": order_no}`,
		`[json, [json, [json, [json]]]]`, `1.0 / double(json.a)`, `headers`,
	} {
		f.Add(text, `{"a":[0,"\u0000<>",{}]}`, "v")
	}
	f.Fuzz(func(t *testing.T, text, body, fact string) {
		start := spent(t)
		v, err := rule.CompileValue(text)
		if err != nil {
			return
		}
		a := &rule.Answer{Status: 200, Body: []byte(body)}
		facts := rule.Facts{OrderNo: fact, Vars: map[string]string{"y": fact}, Taken: map[string]any{"x": fact}}
		value, err := v.Evaluate(a, facts)
		if err != nil && strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s: %v", text, err)
		}
		got, bad := json.Marshal(value)
		if bad != nil || len(got) > rule.MaxValue {
			t.Errorf("%s: %d bytes, %v", text, len(got), bad)
		}
		value, _ = v.Evaluate(a, facts)
		if again, _ := json.Marshal(value); string(again) != string(got) {
			t.Errorf("%s: %s, and repeated %s; want the same", text, got, again)
		}
		if took := spent(t) - start; took > 3*time.Second {
			t.Errorf("%s of %d bytes took %v; want less", text, len(body), took)
		}
	})
}

func BenchmarkValue(b *testing.B) {
	v, err := rule.CompileValue(`{"order_no": order_no, "state": order_state, "amount": json.amount.total}`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Evaluate(paidAnswer, paidFacts); err != nil {
			b.Fatal(err)
		}
	}
}

// An amount that is no whole number of the smallest unit is an error, never rounded.
func TestMinorRefuses(t *testing.T) {
	for _, text := range []string{`minor("9.905", "CNY")`, `minor(9.905, "CNY")`, `minor("-1", "CNY")`, `minor("1e2", "CNY")`, `minor("", "CNY")`, `minor(json.ok, "CNY")`} {
		v, err := rule.CompileValue(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Evaluate(paidAnswer, paidFacts); err == nil || !strings.Contains(err.Error(), "is no amount in") {
			t.Errorf("%s = %v, %v; want an error", text, got, err)
		}
	}
}

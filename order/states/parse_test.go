package states

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/order"
)

// ParseJSON reads what parseTokens reads, and refuses with the same words.
func FuzzParseJSON(f *testing.F) {
	for _, body := range []string{
		`{}`, ` {"a":1} `, `{"a":{"b":"x:\"y","c":[{"d":1.50},{"d":null}]},"e":true,"中":":"}`, `{"a":[]}`, `{"a\u003a":"\\"}`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":1}}`, `{"a":{"b":1},"a":{"c":1}}`, `{"a":":","a":""}`, `{"a":[{"b":1},{"b":1,"b":2}]}`,
		`{"a":1}x`, `{"a":1}{}`, `{"a":1`, `{"a"}`, `{"a":01}`, `{"\`, `{"a":[1,],"b":{,}}`, `{"a":-}`, `{"a":1.}`, `{"a":1e+}`, `{"a":-0.5E-07}`, "{\"a\":\"\n\"}", `[1]`, `"a"`, `null`, ``, " ", "{\"\xff\":1,\"\xfe\":2}",
		`{"a":` + strings.Repeat("[", 97) + `1` + strings.Repeat("]", 97) + `}`, `{"a":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`,
		`{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `{"a":` + strings.Repeat("[", 98) + `1` + strings.Repeat("]", 98) + `}`,
		`{"a":` + strings.Repeat("[", 99) + `1` + strings.Repeat("]", 99) + `}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := ParseJSON(body)
		want, wrong := parseTokens(body)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("%q: %v; want %v", body, err, wrong)
		}
		if !reflect.DeepEqual(filled(got), filled(want)) {
			t.Fatalf("%q: %v; want %v", body, got, want)
		}
	})
}

// filled makes no difference between a list that is empty and none.
func filled(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, in := range v {
			v[name] = filled(in)
		}
	case []any:
		for i, in := range v {
			v[i] = filled(in)
		}
		if len(v) == 0 {
			return []any(nil)
		}
	}
	return value
}

// A value in braces may hold & and =. A brace that was never opened ends nothing.
func TestParseForm(t *testing.T) {
	for body, want := range map[string]map[string]any{
		"a=1&b=":          {"a": "1", "b": ""},
		"a={b=1&c=2}&d=3": {"a": "{b=1&c=2}", "d": "3"},
		"a=[1&2]&d={":     nil,
		"a=x}&b=1":        {"a": "x}", "b": "1"},
		"a=1&a=2":         nil,
		"a":               nil,
		"":                nil,
		"a=" + strings.Repeat("x", order.MaxBody-3): {"a": strings.Repeat("x", order.MaxBody-3)},
		"a=" + strings.Repeat("x", order.MaxBody-2): nil, // it may have been cut
	} {
		if got, err := ParseForm([]byte(body)); (err == nil) != (want != nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseForm(%.40q) = %.40v, %v; want %.40v", body, got, err, want)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	body := []byte(`{"transaction_id":"4200002123","amount":{"payer_total":1250,"total":1250,"currency":"CNY","payer_currency":"CNY"},"mchid":"1900000109",` +
		`"out_trade_no":"20261120000001","trade_state":"SUCCESS","trade_state_desc":"支付成功","bank_type":"CMC","appid":"wxd678efh567hg6787","trade_type":"NATIVE",` +
		`"success_time":"2026-11-20T20:00:00+08:00","attach":"","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"}}`)
	for name, parse := range map[string]func([]byte) (map[string]any, error){"ParseJSON": ParseJSON, "tokens": parseTokens} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

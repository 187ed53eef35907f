package rule_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/rule"
)

// Every text that compiles judges every answer in bounded time, and gives the same result when
// repeated.
func FuzzRule(f *testing.F) {
	bodies := []string{"success", " success\n", "", `{"code":0,"data":{"items":[{"id":1}]}}`, "<xml><return_code>SUCCESS</return_code></xml>", "\xff\xfe"}
	for i, text := range []string{
		"success_text", "wechat_v2", "payermax",
		`status == 200 && body.trim() == "success"`,
		`json.data.items.exists(i, i.id == 1) || headers["a"] == "b"`,
		`json_field("data.items.0.id", "in", [1, "1"]) && attempt < 3`,
		`json_field("code", "regex", "^0$") ? text_contains("x") : body.matches("[a-z]+")`,
		`body.split(",").all(x, x.size() < 10 && !x.endsWith("0"))`,
		`has(json.a) && double(json.code) / 2.0 > -1.0`,
		`string(json.code).substring(1).lowerAscii().reverse().charAt(0) == "é"`,
	} {
		f.Add(text, 200, bodies[i%len(bodies)], "v", 1)
	}
	f.Fuzz(func(t *testing.T, text string, status int, body, header string, attempt int) {
		start := spent(t)
		r, err := rule.Compile(text)
		if err != nil {
			if r != nil || strings.Contains(err.Error(), "internal error") {
				t.Fatalf("Compile(%q) = %v, %v", text, r, err)
			}
			return
		}
		a := &rule.Answer{Status: status, Body: []byte(body), Header: http.Header{"A": {header}}, Attempt: attempt}
		got, err := r.Accepts(a)
		if got && err != nil {
			t.Errorf("%s: accepted although there is the error %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s: %v", text, err)
		}
		again, err2 := r.Accepts(a)
		if got != again || (err == nil) != (err2 == nil) {
			t.Errorf("%s: %t, %v; and repeated %t, %v; want the same", text, got, err, again, err2)
		}
		if took := spent(t) - start; took > 3*time.Second {
			t.Errorf("%s of %d bytes took %v; want less", text, len(body), took)
		}
	})
}

// An accepted answer has the word at the required place, and no document type.
func FuzzWechatV2(f *testing.F) {
	for _, tt := range presetRows["wechat_v2"] {
		f.Add(tt.body)
	}
	r, err := rule.Compile("wechat_v2")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := r.Accepts(&rule.Answer{Status: 200, Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if got && (!strings.Contains(body, "return_code") || !strings.Contains(body, "xml")) {
			t.Errorf("%q is accepted; want it rejected", body)
		}
	})
}

// RetryAfter is bounded, and only two statuses have one.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"120", "-5", "99999999999999999999", "Fri, 20 Nov 2026 12:01:30 GMT", "soon", "1.5"} {
		f.Add(503, value)
		f.Add(200, value)
	}
	f.Fuzz(func(t *testing.T, status int, value string) {
		got, ok := rule.RetryAfter(status, http.Header{"Retry-After": {value}}, noon)
		if got < 0 || got > rule.MaxRetryAfter || !ok && got != 0 || ok && status != 429 && status != 503 {
			t.Errorf("RetryAfter(%d, %q) = %v, %t; want a bounded time, and none for other statuses", status, value, got, ok)
		}
	})
}

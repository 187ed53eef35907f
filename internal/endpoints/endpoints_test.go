package endpoints_test

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/endpoints"
)

func TestHostsOfEndpoints(t *testing.T) {
	known := []figures.Endpoint{{Endpoint: "https://m.example:443"}, {Endpoint: "http://m.example:8080"}, {Endpoint: "http://[::1]:80"}, {Endpoint: "bare"}}
	for host, want := range map[string]string{
		"m.example":                  "https://m.example:443 http://m.example:8080",
		"M.Example:8080":             "http://m.example:8080",
		"::1":                        "http://[::1]:80",
		"bare":                       "bare",
		"other.example":              "https://other.example:443 http://other.example:80",
		"other.example:8443":         "https://other.example:8443 http://other.example:8443",
		"fe80::1":                    "https://[fe80::1]:443 http://[fe80::1]:80",
		"other example":              "",
		"user@other.example":         "",
		"other.example/path":         "",
		"":                           "",
		"https://New.example":        "https://new.example:443",
		"http://new.example":         "http://new.example:80",
		"https://new.example:8443":   "https://new.example:8443",
		"https://new.example/path":   "",
		"https://user@new.example":   "",
		"https://new.example?x":      "",
		"https://":                   "",
		"amqp://connection.internal": "amqp://connection.internal",
		"wechatpay:1900000001":       "wechatpay:1900000001",
		"alipay:2021000000000000":    "alipay:2021000000000000",
		"antom:SANDBOX_5X":           "antom:SANDBOX_5X",
		"stripe:acct_1":              "stripe:acct_1",
		"wechatpay:8443":             "https://wechatpay:8443 http://wechatpay:8443",
	} {
		if got := strings.Join(endpoints.Named(host, known, true, false), " "); got != want {
			t.Errorf("Named(%q) = %q; want %q", host, got, want)
		}
	}
	for name, of := range map[string][]figures.Endpoint{"orders": known, "bare": known} {
		if got := strings.Join(endpoints.Named(name, of, false, true), " "); got != name {
			t.Errorf("of a queue, Named(%q) = %q; want it alone", name, got)
		}
	}
	want := "http://m.example:8080 https://m.example:8080"
	if got := strings.Join(endpoints.Named("m.example:8080", known, false, false), " "); got != want {
		t.Errorf("where others may know more, Named = %q; want %q", got, want)
	}
}

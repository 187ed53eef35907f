package api

import (
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

// A key may hold anything, and comes with its slashes escaped or not.
func TestKeysInPaths(t *testing.T) {
	m := make1(t, Options{})
	for _, key := range []string{"k", "M1001/20261120000001/paid", "a//b", "/a/", ".", "..", "a/../b", "a b+c", "100%", "%2F", "支付/1", "cancel", "x/cancel", "?q#f", "keys/keys/k"} {
		for _, queue := range []string{"q", "team/q", "keys", "..."} {
			added := m.fake.Add(t.Context(), &bellman.Task{Queue: queue, Key: key, URL: "http://m/n"})
			id := added[0].ID.String()
			path := "/v1/queues/" + url.PathEscape(queue) + "/keys/" + escape(key)
			if w := m.do("GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), id) {
				t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
			}
			if w := m.do("POST", path+"/cancel", `{"reason":"x"}`); w.Code != 200 || !strings.Contains(w.Body.String(), id) {
				t.Errorf("POST %s/cancel: %d %s", path, w.Code, w.Body)
			}
			if called := m.fake.called(); called != `cancel "" "x"` {
				t.Errorf("POST %s/cancel called %s", path, called)
			}
		}
	}
	for raw, key := range map[string]string{
		"/v1/queues/q/keys/M1001/20261120000001/paid": "M1001/20261120000001/paid",
		"/v1/queues/q/keys/a//b":                      "a//b",
		"/v1/queues/q/keys/a/../b":                    "a/../b",
		"/v1/queues/q/keys/x/cancel":                  "x/cancel",
	} {
		id, err := m.fake.Lookup(t.Context(), "q", key)
		if err != nil {
			t.Fatal(err)
		}
		if w := m.do("GET", raw, ""); w.Code != 200 || !strings.Contains(w.Body.String(), id.String()) {
			t.Errorf("GET %s: %d %s", raw, w.Code, w.Body)
		}
		if w := m.do("POST", raw+"/complete", ""); w.Code != 200 || !strings.Contains(w.Body.String(), id.String()) {
			t.Errorf("POST %s/complete: %d %s", raw, w.Code, w.Body)
		}
		if called := m.fake.called(); called != `complete "" "" "callback"` {
			t.Errorf("POST %s/complete called %s", raw, called)
		}
	}
}

func TestHostsOfEndpoints(t *testing.T) {
	known := []bellman.EndpointInfo{{Endpoint: "https://m.example:443"}, {Endpoint: "http://m.example:8080"}, {Endpoint: "http://[::1]:80"}, {Endpoint: "bare"}}
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
	} {
		if got := strings.Join(named(host, known, true, false), " "); got != want {
			t.Errorf("named(%q) = %q; want %q", host, got, want)
		}
	}
	for name, of := range map[string][]bellman.EndpointInfo{"orders": known, "bare": known} {
		if got := strings.Join(named(name, of, false, true), " "); got != name {
			t.Errorf("of a queue, named(%q) = %q; want it alone", name, got)
		}
	}
	want := "http://m.example:8080 https://m.example:8080"
	if got := strings.Join(named("m.example:8080", known, false, false), " "); got != want {
		t.Errorf("where others may know more, named = %q; want %q", got, want)
	}
}

package api

import (
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
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
		id, err := store.Lookup(t.Context(), m.fake, "q", key)
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

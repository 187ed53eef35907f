package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
)

var testKeys = []access.Key{
	{Name: "order-service", Role: access.Submit, SHA256: hash("s-key")},
	{Name: "dashboard", Role: access.Read, SHA256: hash("r-key")},
	{Name: "ops", Role: access.Operate, SHA256: hash("o-key")},
	{Name: "finance", Role: access.Decide, SHA256: hash("d-key")},
	{Name: "root", Role: access.Admin, SHA256: hash("a-key")},
}

// calls are all calls, and the roles that may make them: s, r, o, d, a. "any" means every role, and
// a caller without a key.
var calls = []struct{ method, path, body, may string }{
	{"POST", "/v1/tasks", `{"queue":"q","url":"http://m/n"}`, "sa"},
	{"POST", "/v1/tasks/batch", `{"tasks":[{"queue":"q","url":"http://m/n"}]}`, "sa"},
	{"GET", "/v1/tasks/{id}", "", "sroda"},
	{"GET", "/v1/queues/q/keys/k/1", "", "sroda"},
	{"GET", "/v1/orders/M1/1", "", "sroda"},
	{"GET", "/v1/orders/M1/1?settle=1s", "", "soda"},
	{"POST", "/v1/orders/M1/1/complete", `{"outcome":"PAID"}`, "sa"},
	{"POST", "/v1/orders/M1/1/decide", `{"outcome":"PAID","reason":"seen at the bank"}`, "da"},
	{"POST", "/v1/orders/M1/1/cancel", "", "soa"},
	{"POST", "/v1/orders/settle", `{"orders":[{"merchant_no":"M1","order_no":"1"}]}`, "soda"},
	{"POST", "/v1/orders/M1/1/notice", `{"body":"x"}`, "sa"},
	{"GET", "/v1/notices", "", "roda"},
	{"GET", "/v1/orders", "", "roda"},
	{"GET", "/v1/tasks", "", "roda"},
	{"GET", "/v1/resends", "", "roda"},
	{"GET", "/v1/resends/{id}", "", "roda"},
	{"GET", "/v1/queues", "", "roda"},
	{"GET", "/v1/endpoints", "", "roda"},
	{"GET", "/v1/stats", "", "roda"},
	{"GET", "/v1/events?nothing=1", "", "roda"},
	{"GET", "/v1/audit", "", "roda"},
	{"GET", "/metrics", "", "roda"},
	{"POST", "/v1/tasks/{id}/resend", "", "oa"},
	{"POST", "/v1/tasks/{id}/cancel", "", "oa"},
	{"POST", "/v1/tasks/{id}/complete", "", "oa"},
	{"POST", "/v1/tasks/{id}/reschedule", `{"delay":"1m"}`, "oa"},
	{"POST", "/v1/queues/q/keys/k/1/resend", "", "oa"},
	{"POST", "/v1/queues/q/keys/k/1/cancel", "", "oa"},
	{"POST", "/v1/queues/q/keys/k/1/complete", "", "oa"},
	{"POST", "/v1/queues/q/keys/k/1/reschedule", `{"delay":"1m"}`, "oa"},
	{"POST", "/v1/resends", `{"filter":{"queue":"q"}}`, "oa"},
	{"POST", "/v1/resends/{id}/cancel", "", "oa"},
	{"POST", "/v1/queues/q/pause", "", "oa"},
	{"POST", "/v1/queues/q/resume", "", "oa"},
	{"POST", "/v1/endpoints/http:%2F%2Fm:80/pause", "", "oa"},
	{"POST", "/v1/endpoints/http:%2F%2Fm:80/resume", "", "oa"},
	{"POST", "/v1/backup", `{"dir":"/copies/1"}`, "a"},
	{"GET", "/v1/nodes", "", "roda"},
	{"GET", "/v1/sources", "", "roda"},
	{"GET", "/v1/alarms", "", "roda"},
	{"GET", "/v1/attention", "", "roda"},
	{"GET", "/v1/links", "", "roda"},
	{"POST", "/v1/links", `{"merchant_no":"M1"}`, "oa"},
	{"POST", "/v1/links/{id}/revoke", "", "oa"},
	{"GET", "/v1/reconciliations", "", "roda"},
	{"POST", "/v1/reconciliations", `{"queue":"q","date":"2026-11-21"}`, "oa"},
	{"POST", "/v1/reconciliations/file?queue=q&date=2026-11-21", "a,b", "oa"},
	{"GET", "/v1/reconciliations/1", "", "roda"},
	{"GET", "/v1/reconciliations/1/differences", "", "roda"},
	{"POST", "/v1/reconciliations/1/settle", "", "oda"},
	{"GET", "/v1/merchants", "", "roda"},
	{"GET", "/v1/merchants/M1", "", "roda"},
	{"GET", "/v1/merchants/M1/stats", "", "roda"},
	{"POST", "/v1/merchants/M1/test", "", "oa"},
	{"POST", "/v1/merchants/M1/pause", "", "oa"},
	{"POST", "/v1/merchants/M1/resume", "", "oa"},
	{"PUT", "/v1/merchants/M1", "{}", "a"},
	{"DELETE", "/v1/merchants/M1", "", "a"},
	{"GET", "/v1/merchant-export", "", "a"},
	{"POST", "/v1/merchants/batch", `{"merchants":[{}]}`, "a"},
	{"POST", "/v1/merchants/reseal", "", "a"},
	{"POST", "/v1/merchants/M1/secrets", `{"secret":"s"}`, "a"},
	{"GET", "/v1/accounts", "", "roda"},
	{"GET", "/v1/accounts/shop1", "", "roda"},
	{"PUT", "/v1/accounts/shop1", "{}", "a"},
	{"DELETE", "/v1/accounts/shop1", "", "a"},
	{"GET", "/v1/account-export", "", "a"},
	{"POST", "/v1/accounts/batch", `{"accounts":[{}]}`, "a"},
	{"POST", "/v1/accounts/shop1/secrets", "{}", "a"},
	{"GET", "/healthz", "", "any"},
	{"GET", "/readyz", "", "any"},
	{"GET", "/openapi.json", "", "any"},
}

// A task says which key created it, alone or in a batch; the same asked for with another key stays
// the first one's.
func TestCreatedBy(t *testing.T) {
	m := make1(t, Options{Keys: testKeys})
	for _, tt := range []struct{ key, path, body, want string }{
		{"s", "/v1/tasks", `{"queue":"q","key":"1","url":"http://m/n"}`, "order-service"},
		{"a", "/v1/tasks", `{"queue":"q","key":"1","url":"http://m/n"}`, "order-service"},
		{"a", "/v1/tasks", `{"queue":"q","key":"2","url":"http://m/n"}`, "root"},
		{"s", "/v1/tasks/batch", `{"tasks":[{"queue":"q","key":"3","url":"http://m/n"}]}`, "order-service"},
	} {
		w := m.do("POST", tt.path, tt.body, "Authorization: Bearer "+tt.key+"-key")
		if want := `"created_by":"` + tt.want + `"`; w.Code >= 300 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s %s with the key %s: %d %s; want %s", tt.path, tt.body, tt.key, w.Code, w.Body, want)
		}
	}
}

// A span is begun only for callers that may create tasks.
func TestStrangersHaveNoSpans(t *testing.T) {
	spans := 0
	m := make1(t, Options{Keys: testKeys, Traced: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { spans++; next.ServeHTTP(w, r) })
	}})
	for _, tt := range []struct {
		header       string
		status, want int
	}{
		{"", 401, 0}, {"Authorization: Bearer a guess", 401, 0}, {"Authorization: Bearer r-key", 403, 0}, {"Authorization: Bearer s-key", 201, 1},
	} {
		for _, path := range []string{"/v1/tasks", "/v1/tasks/batch"} {
			spans = 0
			body, status := `{"queue":"q","url":"http://m/n"}`, tt.status
			if path == "/v1/tasks/batch" {
				body = `{"tasks":[` + body + `]}`
			}
			if path == "/v1/tasks/batch" && status == 201 {
				status = 200
			}
			w := m.do("POST", path, body, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tt.header)
			if w.Code != status || spans != tt.want {
				t.Errorf("POST %s, %q: %d and %d spans; want %d and %d", path, tt.header, w.Code, spans, status, tt.want)
			}
		}
	}
}

func metricsHandler(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("up 1\n")) }

func TestRoles(t *testing.T) {
	m := make1(t, Options{Keys: testKeys, Metrics: http.HandlerFunc(metricsHandler)})
	m.guesses.Most = 1000 // more than are tried here
	own := &bellman.Task{Queue: "q", Key: "k/1", URL: "http://m/n"}
	own.SetCreatedBy("order-service")
	added := m.fake.Add(t.Context(), own)
	id := added[0].ID.String()
	rows := map[string]bool{}
	for _, c := range calls {
		path := strings.ReplaceAll(c.path, "{id}", id)
		rows[m.pattern(c.method, path)] = true
		for _, role := range []string{"s", "r", "o", "d", "a"} {
			w := m.do(c.method, path, c.body, "Authorization: Bearer "+role+"-key")
			if may := c.may == "any" || strings.Contains(c.may, role); may == (w.Code == 403 || w.Code == 401) {
				t.Errorf("%s %s with role %s: %d; want allowed: %t", c.method, path, role, w.Code, may)
			}
			if w.Code == 403 {
				problemOf(t, w)
			}
		}
		for _, header := range []string{"", "Bearer", "Bearer wrong", "Basic cy1rZXk=", "Bearer " + fmt.Sprintf("%x", hash("a-key")), "a-key"} {
			w := m.do(c.method, path, c.body, "Authorization: "+header)
			if open := c.may == "any"; open != (w.Code != 401) {
				t.Errorf("%s %s with %q: %d; want open: %t", c.method, path, header, w.Code, open)
			}
			if w.Code == 401 {
				problemOf(t, w)
				if w.Header().Get("WWW-Authenticate") == "" {
					t.Errorf("%s %s: 401 without WWW-Authenticate", c.method, path)
				}
			}
		}
	}
	for _, path := range documented {
		if !rows[path] {
			t.Errorf("%s is documented, and calls does not say who may make it", path)
		}
	}
}

// pattern returns the documented path of a request, such as GET /v1/tasks/{id}.
func (m *made) pattern(method, path string) string {
	r := httptest.NewRequest(method, path, nil)
	if keyed := keyPath(r); keyed != nil {
		r = keyed
	}
	_, pattern := m.mux.Handler(r)
	return pattern
}

func TestWhoIsKept(t *testing.T) {
	m := make1(t, Options{Keys: testKeys})
	id := m.fake.Add(t.Context(), &bellman.Task{Queue: "q", URL: "http://m/n"})[0].ID.String()
	if w := m.do("POST", "/v1/tasks/"+id+"/cancel", `{"reason":"twice"}`, "Authorization: bearer o-key"); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got, want := m.fake.called(), `cancel "ops" "twice"`; got != want {
		t.Errorf("called %s; want %s", got, want)
	}
}

func TestKeysAreChecked(t *testing.T) {
	for name, keys := range map[string][]access.Key{
		"no name":      {{Name: "", Role: access.Read, SHA256: hash("x")}},
		"name twice":   {{Name: "a", Role: access.Read, SHA256: hash("x")}, {Name: "a", Role: access.Read, SHA256: hash("y")}},
		"no such role": {{Name: "a", Role: "root", SHA256: hash("x")}},
	} {
		if _, err := New(Options{Engine: newFake(), Reader: newFake(), Keys: keys}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Without keys a page of a stranger must not get in through the browser.
func TestStrangersPages(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		keys    []access.Key
		status  int
	}{
		{"by address", []string{"Host: 127.0.0.1:2355"}, nil, 201},
		{"by IPv6 address", []string{"Host: [::1]:2355"}, nil, 201},
		{"by localhost", []string{"Host: localhost:2355"}, nil, 201},
		{"by another name", []string{"Host: evil.example:2355"}, nil, 403},
		{"by another name with a key", []string{"Host: bellman.internal", "Authorization: Bearer s-key"}, testKeys, 201},
		{"from another origin", []string{"Origin: https://evil.example", "Content-Type: text/plain"}, nil, 403},
		{"cross-site", []string{"Sec-Fetch-Site: cross-site"}, nil, 403},
		{"same origin", []string{"Sec-Fetch-Site: same-origin"}, nil, 201},
		{"any content type", []string{"Content-Type: application/x-www-form-urlencoded"}, nil, 201},
	}
	for _, tt := range tests {
		m := make1(t, Options{Keys: tt.keys})
		if w := m.do("POST", "/v1/tasks", `{"queue":"q","url":"http://m/n"}`, tt.headers...); w.Code != tt.status {
			t.Errorf("%s: %d %s; want %d", tt.name, w.Code, w.Body, tt.status)
		}
	}
}

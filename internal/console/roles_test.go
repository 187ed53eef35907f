package console

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store/memory"
)

// pageRoles are all pages and forms that take a session, as console.go registers them, and who may
// have them: the roles read, operate, decide and admin.
var pageRoles = map[string]string{
	"GET /{$}": "roda", "GET /live": "roda", "GET /search": "roda", "GET /search/typed": "roda", "POST /search/forget": "roda",
	"GET /tasks": "roda", "GET /tasks.csv": "roda", "GET /tasks/picked": "oa", "POST /tasks/picked": "oa",
	"GET /tasks/{id}": "roda", "GET /tasks/{id}/attempts/{number}": "roda", "GET /tasks/{id}/live": "roda", "POST /tasks/{id}": "oda",
	"GET /orders": "roda", "GET /orders/live": "roda", "POST /orders": "oda",
	"GET /queues": "roda", "POST /queues": "oa", "GET /endpoints": "roda", "POST /endpoints": "oa",
	"GET /nodes": "roda", "GET /audit": "roda", "GET /design": "roda", "/": "roda",
	"GET /resends": "roda", "POST /resends": "oa", "GET /resends/new": "oa", "GET /resends/{id}": "roda", "GET /resends/{id}/live": "roda", "POST /resends/{id}": "oa",
	"GET /reconciliations": "roda", "POST /reconciliations": "oa", "GET /reconciliations/new": "oa", "GET /reconciliations/{id}": "roda",
	"GET /reconciliations/{id}/export": "roda", "POST /reconciliations/{id}": "oda",
	"GET /accounts": "roda", "POST /accounts": "a", "GET /accounts/show": "roda", "POST /accounts/show": "a", "GET /accounts/edit": "a",
	"GET /accounts/import": "a", "POST /accounts/import": "a", "GET /accounts/export": "a",
	"GET /merchants": "roda", "POST /merchants": "a", "GET /merchants/show": "roda", "POST /merchants/show": "oa", "GET /merchants/edit": "a",
	"GET /merchants/import": "a", "POST /merchants/import": "a", "GET /merchants/export": "a",
	"GET /links": "roda", "POST /links": "oa", "GET /links/new": "oa", "GET /links/{id}": "roda", "POST /links/{id}": "oa",
}

var (
	pagesOf = regexp.MustCompile(`c\.page(?:Of)?\("([^"]*)"(?: ?\+ ?(\w+))?, `)
	pathsOf = map[string]string{"pickedPath": pickedPath, "reconcilesPath": reconcilesPath, "importPath": importPath, "importAccountPath": importAccountPath}
)

// No page is shown, and no form accepted, without a session, its role, and its token.
func TestRolesOfEveryPage(t *testing.T) {
	source, err := os.ReadFile("console.go")
	if err != nil {
		t.Fatal(err)
	}
	all := pagesOf.FindAllStringSubmatch(string(source), -1)
	for _, m := range all {
		if pattern := m[1] + pathsOf[m[2]]; pageRoles[pattern] == "" {
			t.Errorf("pageRoles does not say who may have %s", pattern)
		}
	}
	if len(all) != len(pageRoles) {
		t.Errorf("console.go registers %d patterns, and pageRoles has %d", len(all), len(pageRoles))
	}
	s := openWith(t, &fake{Store: memory.New()}, Options{
		Keys: testKeys, Merchants: struct{ merchant.Desk }{}, Accounts: struct{ account.Desk }{}, Resends: struct{ resend.Desk }{},
		Reconciliations: struct{ reconcile.Desk }{}, Links: struct{ Links }{},
	})
	at := func(pattern string) (method, path string) {
		method, path, found := strings.Cut(pattern, " ")
		if !found {
			method, path = http.MethodGet, "/nothing"
		}
		return method, strings.NewReplacer("{$}", "", "{id}", "01a21b62-f70a-7001-a0bf-a20dd332f513", "{number}", "1").Replace(path)
	}
	for pattern := range pageRoles {
		method, path := at(pattern)
		got := s.do(t, method, path, url.Values{"token": {s.token(t, "/signin")}})
		if live := strings.HasSuffix(path, "/live"); !live && got.StatusCode != http.StatusSeeOther && got.StatusCode != http.StatusUnauthorized || live && got.body != sessionOver {
			t.Errorf("%s without a session: %d %.200s", pattern, got.StatusCode, got.body)
		}
	}
	for role, who := range map[string]string{"r": "reader", "o": "ops", "d": "finance", "a": "root"} {
		s.client = s.browser(t)
		s.signIn(t, who)
		token := s.token(t, "/design")
		for pattern, may := range pageRoles {
			method, path := at(pattern)
			form := url.Values{"token": {token}}
			want := "This takes the role"
			switch {
			case strings.Contains(may, role) && method == http.MethodGet:
				continue // other tests look at the pages
			case strings.Contains(may, role):
				form, want = url.Values{"token": {"another"}}, "This form is out of date"
			}
			if got := s.do(t, method, path, form); got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, want) {
				t.Errorf("%s by %s: %d %.200s; want 403, %s", pattern, who, got.StatusCode, got.body, want)
			}
		}
	}
}

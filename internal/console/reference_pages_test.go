package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
)

// A Reference is a page of the scene in one language, as the browser gets it.
type Reference struct {
	Name, Lang string
	Body       []byte
}

// References are all pages of the scene in all languages, for somebody who may do everything. They
// are the same in each run, but for hidden fields.
func References(t *testing.T) (all []Reference) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(SceneNow))
		s := openScene(t, Options{Keys: []access.Key{{Name: "li.wei", Role: access.Admin, SHA256: hash("li.wei-key")}}})
		empty := open(t)
		defer empty.server.Close()
		session := signedIn(t, s.Console, "li.wei")
		for _, lang := range []string{"en", "zh-CN"} {
			for _, p := range s.references() {
				all = append(all, Reference{p[0], lang, pageOf(t, s.Console, lang, p[1], session)})
			}
			all = append(all, Reference{"signin", lang, pageOf(t, s.Console, lang, "/signin", nil)}, Reference{"first-run", lang, pageOf(t, empty.Console, lang, "/", nil)})
		}
		s.Stop()
	})
	return all
}

// pageOf is a page as a browser with these cookies gets it.
func pageOf(t *testing.T, c *Console, lang, path string, cookies []*http.Cookie) []byte {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Language", lang)
	w := answerOf(c, r, cookies)
	if w.Code != http.StatusOK && w.Code != http.StatusNotFound && w.Code != http.StatusForbidden {
		t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// answerOf is the answer to a request with cookies.
func answerOf(c *Console, r *http.Request, cookies []*http.Cookie) *httptest.ResponseRecorder {
	r.Host = "127.0.0.1:2355"
	for _, cookie := range cookies {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

// signedIn are the cookies of somebody who signed in.
func signedIn(t *testing.T, c *Console, name string) []*http.Cookie {
	t.Helper()
	form := answerOf(c, httptest.NewRequest(http.MethodGet, "/signin", nil), nil)
	cookies := form.Result().Cookies()
	token := tokenOf.FindStringSubmatch(form.Body.String())[1]
	r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader(url.Values{"token": {token}, "name": {name}, "key": {name + "-key"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got := answerOf(c, r, cookies)
	if got.Code != http.StatusSeeOther {
		t.Fatalf("signing in: %d %s", got.Code, got.Body)
	}
	return append(cookies, got.Result().Cookies()...)
}

// references are the names and paths of the scene's pages.
func (s *scene) references() [][2]string {
	links, _ := sceneLinks{}.List(context.Background(), "", 0)
	jobs, _ := sceneResends{}.List(context.Background(), 0)
	return [][2]string{
		{"overview", "/"}, {"tasks", "/tasks"}, {"tasks-filtered", "/tasks?state=pending&status=429&kind=notify"}, {"tasks-none", "/tasks?merchant_no=nobody"},
		{"task-waiting", "/tasks/" + s.waiting.String()}, {"task-accepted", "/tasks/" + s.accepted.String()}, {"task-failed", "/tasks/" + s.failed.String()}, {"task-unreachable", "/tasks/" + s.unreachable.String()},
		{"task-cancelled", "/tasks/" + s.mended.String()}, {"attempt", "/tasks/" + s.waiting.String() + "/attempts/1"}, {"picked", "/tasks/picked?id=" + s.failed.String() + "&id=" + s.waiting.String()},
		{"orders", "/orders"}, {"order-closed", "/orders?merchant_no=M100237&order_no=20261120174803001"}, {"order-paid", "/orders?merchant_no=M100237&order_no=20261120181733019"},
		{"order-unknown", "/orders?merchant_no=M100237&order_no=20261120170209006"}, {"order-pending", "/orders?merchant_no=M100237&order_no=20261120182011044"},
		{"queues", "/queues"}, {"endpoints", "/endpoints"}, {"endpoint", "/endpoints?name=" + url.QueryEscape("https://api.books.example:443")},
		{"merchants", "/merchants"}, {"merchant", "/merchants/show?no=M100237"}, {"merchant-edit", "/merchants/edit?no=M100237"}, {"merchant-import", "/merchants/import"},
		{"accounts", "/accounts"}, {"account", "/accounts/show?account=shop1"}, {"account-edit", "/accounts/edit?account=shop1"},
		{"links", "/links"}, {"link", "/links/" + links[0].ID.String()}, {"link-new", "/links/new?merchant_no=M100237"}, {"shared", sharedPath + links[0].Token}, {"shared-missing", sharedPath + "none"},
		{"resends", "/resends"}, {"resend", "/resends/" + jobs[0].ID.String()}, {"resend-new", "/resends/new?merchant_no=M100655"},
		{"reconciliations", "/reconciliations"}, {"reconciliation", "/reconciliations/2026-11-19-5b1d09c2e4f7a683"}, {"reconciliation-new", "/reconciliations/new"},
		{"audit", "/audit"}, {"nodes", "/nodes"}, {"design", "/design"}, {"search", "/search?q=202611201"}, {"search-none", "/search?q=nothing-like-this"}, {"missing", "/nowhere"},
	}
}

// ServeAsset serves the files that the pages load.
func ServeAsset(w http.ResponseWriter, r *http.Request) { serveAsset(w, r) }

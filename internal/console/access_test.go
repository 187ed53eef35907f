package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/store/memory"
)

var t0 = time.Date(2026, 11, 20, 15, 4, 5, 120_000_000, time.UTC)

func TestWithoutKeysItIsOpenAndSaysSo(t *testing.T) {
	s := open(t)
	got := s.get(t, "/tasks")
	if got.StatusCode != http.StatusOK || !strings.Contains(got.body, "No keys are configured") {
		t.Errorf("GET /tasks = %d, without the note that it is open", got.StatusCode)
	}
	if got := s.get(t, "/tasks", "Accept-Language: zh-CN"); !strings.Contains(got.body, "未配置密钥") || !strings.Contains(got.body, `<html lang="zh-CN">`) {
		t.Errorf("the note is not there in Chinese")
	}
}

func TestWithoutKeysAForeignNameIsRefused(t *testing.T) {
	s := open(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/tasks", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("Host evil.example: %d; want 403", answer.StatusCode)
	}
}

func TestSignIn(t *testing.T) {
	s := open(t, testKeys...)
	if got := s.get(t, "/tasks?state=failed"); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/signin?to=%2Ftasks%3Fstate%3Dfailed" {
		t.Fatalf("without a session: %d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	for _, tt := range []struct {
		name, key string
		want      int
	}{
		{"ops", "reader-key", http.StatusUnauthorized},
		{"nobody", "ops-key", http.StatusUnauthorized},
		{"ops", "", http.StatusUnauthorized},
		{"shop", "shop-key", http.StatusForbidden},
	} {
		if got := s.post(t, "/signin", "/signin", "name", tt.name, "key", tt.key); got.StatusCode != tt.want {
			t.Errorf("signing in as %s with %s: %d; want %d", tt.name, tt.key, got.StatusCode, tt.want)
		}
	}
	got := s.post(t, "/signin", "/signin", "name", "ops", "key", "ops-key", "to", "/tasks?state=failed")
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/tasks?state=failed" {
		t.Fatalf("signing in: %d to %q", got.StatusCode, got.Header.Get("Location"))
	}
	for _, c := range got.Cookies() {
		if c.Name == sessionCookie && (!c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/") {
			t.Errorf("the session's cookie is %v; want HttpOnly, SameSite=Strict, Path=/", c)
		}
	}
	if got := s.get(t, "/tasks"); got.StatusCode != http.StatusOK || !strings.Contains(got.body, ">ops<") {
		t.Errorf("with a session: %d", got.StatusCode)
	}
	if got := s.post(t, "/tasks", "/signout"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("signing out: %d", got.StatusCode)
	}
	if got := s.get(t, "/tasks"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after signing out: %d; want to be asked to sign in", got.StatusCode)
	}
}

func TestASessionIsRotatedAtSignIn(t *testing.T) {
	s := open(t, testKeys...)
	s.signIn(t, "reader")
	at, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	value := func() string {
		for _, c := range s.client.Jar.Cookies(at) {
			if c.Name == sessionCookie {
				return c.Value
			}
		}
		return ""
	}
	first := value()
	form := url.Values{"token": {s.token(t, "/tasks")}, "name": {"ops"}, "key": {"ops-key"}}
	if got := s.do(t, http.MethodPost, "/signin", form); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in again: %d", got.StatusCode)
	}
	if second := value(); second == first || second == "" {
		t.Errorf("the cookie is %q after signing in again; want another than %q", second, first)
	}
	if s.goesOn(t.Context(), first, netip.Addr{}) {
		t.Error("the first session still goes on")
	}
}

func TestSignInIsLimited(t *testing.T) {
	s := open(t, testKeys...)
	token := s.token(t, "/signin")
	try := func(key string) *reply {
		return s.do(t, http.MethodPost, "/signin", url.Values{"token": {token}, "name": {"ops"}, "key": {key}})
	}
	for range maxAttempts {
		if got := try("wrong"); got.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a wrong key: %d; want 401", got.StatusCode)
		}
	}
	got := try("ops-key")
	if got.StatusCode != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("after %d wrong ones: %d, Retry-After %q; want 429", maxAttempts, got.StatusCode, got.Header.Get("Retry-After"))
	}
}

func TestAttemptsAreForgottenAfterTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := access.Limit{Most: maxAttempts, Window: attemptWindow}
		address := func(remote string) netip.Prefix {
			return access.Network(access.Proxies(nil).From(&http.Request{RemoteAddr: remote}))
		}
		for range maxAttempts {
			if wait := a.Enter(address("[2001:db8::1]:99"), ""); wait != 0 {
				t.Fatalf("wait %v before the limit", wait)
			}
		}
		if wait := a.Enter(address("[2001:db8::2]:99"), ""); wait != attemptWindow {
			t.Errorf("an address of the same network waits %v; want %v", wait, attemptWindow)
		}
		if wait := a.Enter(address("192.0.2.1:1"), ""); wait != 0 {
			t.Errorf("another address waits %v", wait)
		}
		time.Sleep(attemptWindow)
		if wait := a.Enter(address("[2001:db8::1]:99"), ""); wait != 0 {
			t.Errorf("after the window: wait %v", wait)
		}
	})
}

// task is one on which everything can be tried.
func (s *site) task(t testing.TB) *bellman.Task {
	return s.fake.add(t, &bellman.Task{Queue: "pay", Key: "k1", URL: "http://m.example/n", Schedule: "0s, 15s*2, 30s"}, t0)
}

func TestRoles(t *testing.T) {
	for _, tt := range []struct {
		who string
		see int
		act int
	}{
		{"reader", http.StatusOK, http.StatusForbidden},
		{"ops", http.StatusOK, http.StatusSeeOther},
		{"root", http.StatusOK, http.StatusSeeOther},
	} {
		s := open(t, testKeys...)
		page := "/tasks/" + s.task(t).ID.String()
		s.signIn(t, tt.who)
		got := s.get(t, page)
		if got.StatusCode != tt.see {
			t.Errorf("%s sees %s: %d; want %d", tt.who, page, got.StatusCode, tt.see)
		}
		if shown := strings.Contains(got.body, `name="action"`); shown != (tt.act == http.StatusSeeOther) {
			t.Errorf("%s is shown the actions: %t", tt.who, shown)
		}
		if got := s.post(t, page, page, "action", "once", "reason", "test"); got.StatusCode != tt.act {
			t.Errorf("%s resends: %d; want %d", tt.who, got.StatusCode, tt.act)
		}
		if called := s.fake.called(); (called == "") != (tt.act == http.StatusForbidden) {
			t.Errorf("%s resends: the engine was asked %q", tt.who, called)
		}
	}
}

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// The role is looked at before a form is read: an import may be 8 MiB long.
func TestTheRoleComesBeforeTheForm(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Keys: testKeys, Merchants: struct{ merchant.Desk }{}})
	s.signIn(t, "ops")
	home, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "http://"+home.Host+importPath, unreadable{t})
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	for _, c := range s.client.Jar.Cookies(home) {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.Console.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "admin") {
		t.Errorf("an import by the role operate: %d; want 403, and the role that it takes", w.Code)
	}
}

// A form that is too long is refused as that, and not as one of another page.
func TestFormsAreNotTooLong(t *testing.T) {
	s := open(t)
	got := s.post(t, "/queues", "/queues", "name", strings.Repeat("x", 70<<10), "action", "pause", "reason", "why")
	if got.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "longer than 64 KiB") || s.fake.called() != "" {
		t.Errorf("70 KiB: %d %.300s; want 413, with the most that it may be", got.StatusCode, got.body)
	}
}

func TestFormsAreOurs(t *testing.T) {
	s := open(t, testKeys...)
	page := "/tasks/" + s.task(t).ID.String()
	s.signIn(t, "ops")
	mine := s.token(t, page)
	other := open(t, testKeys...)
	other.signIn(t, "ops")
	form := func(token string) url.Values {
		return url.Values{"token": {token}, "action": {"cancel"}, "reason": {"test"}}
	}
	for _, tt := range []struct {
		name   string
		form   url.Values
		header []string
	}{
		{"no token", form(""), nil},
		{"another session's token", form(other.token(t, "/tasks")), nil},
		{"a page of another site", form(mine), []string{"Sec-Fetch-Site: cross-site"}},
		{"another origin", form(mine), []string{"Origin: https://evil.example"}},
	} {
		if got := s.do(t, http.MethodPost, page, tt.form, tt.header...); got.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d; want 403", tt.name, got.StatusCode)
		}
	}
	if called := s.fake.called(); called != "" {
		t.Errorf("the engine was asked: %s", called)
	}
	if got := s.do(t, http.MethodPost, page, form(mine), "Origin: "+s.server.URL); got.StatusCode != http.StatusSeeOther {
		t.Errorf("our own form: %d; want 303", got.StatusCode)
	}
}

func TestALinkFromElsewhereIsAskedAgain(t *testing.T) {
	s := open(t, testKeys...)
	got := s.get(t, "/tasks?state=failed", "Sec-Fetch-Site: cross-site")
	if got.StatusCode != http.StatusOK || !strings.Contains(got.body, `http-equiv="refresh"`) {
		t.Errorf("a link from another site: %d; want a page that asks again, with the cookie", got.StatusCode)
	}
}

func TestLocal(t *testing.T) {
	for _, to := range []string{"", "x", "//evil.example", "/\\evil.example", "https://evil.example/", "/a\nb", "javascript:alert(1)"} {
		if got := local(to); got != "/" {
			t.Errorf("local(%q) = %q; want /", to, got)
		}
	}
	if got := local("/tasks?state=failed"); got != "/tasks?state=failed" {
		t.Errorf("local = %q", got)
	}
}

func TestHeaders(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/tasks", "/nothing", "/signin"} {
		h := s.get(t, path).Header
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: Content-Security-Policy %q", path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, h)
		}
	}
}

func TestBadKeys(t *testing.T) {
	for _, keys := range [][]access.Key{
		{{Name: "", Role: access.Read, SHA256: hash("k")}},
		{{Name: "a", Role: access.Read, SHA256: hash("k")}, {Name: "a", Role: access.Read, SHA256: hash("l")}},
		{{Name: "a", Role: "boss", SHA256: hash("k")}},
	} {
		if _, err := New(Options{Keys: keys}); err == nil {
			t.Errorf("New with keys %v: no error", keys)
		}
	}
}

// The foot of a page leads nowhere that a session is no key to.
func TestTheFootOfAPage(t *testing.T) {
	closed := open(t, testKeys...)
	closed.signIn(t, "ops")
	for s, want := range map[*site]bool{open(t): true, closed: false} {
		if got := strings.Contains(s.get(t, "/tasks").body, `href="/metrics"`); got != want {
			t.Errorf("with keys %t: a link to the metrics is %t; want %t", !want, got, want)
		}
	}
}

// Who comes by a name that is not this machine's is told so in the language of the browser.
func TestAForeignNameIsToldInItsLanguage(t *testing.T) {
	s := open(t)
	for lang, want := range map[string]string{"en": "and not to evil.example: configure keys", "zh-CN": "不响应 evil.example：请配置密钥"} {
		r := httptest.NewRequest(http.MethodGet, "http://evil.example/tasks", nil)
		r.Header.Set("Accept-Language", lang)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Header().Get("Content-Type"), "charset=utf-8") {
			t.Errorf("in %s: %d %s; want 403 with %q", lang, w.Code, w.Body, want)
		}
	}
}

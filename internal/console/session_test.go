package console

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// value is what a browser has as the cookie of its session.
func (s *site) value(t testing.TB) string {
	t.Helper()
	at, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.client.Jar.Cookies(at) {
		if c.Name == sessionCookie {
			return c.Value
		}
	}
	return ""
}

// keep gives the browser a cookie.
func (s *site) keep(t testing.TB, name, value string) {
	t.Helper()
	at, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.client.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// A session and its forms are valid at all nodes, end at all nodes together, and outlive the
// process that made the session.
func TestSessionsAreGoodAtAllNodes(t *testing.T) {
	store, secret := &fake{Store: memory.New()}, newOwn()
	a := openWith(t, store, Options{Keys: testKeys, Secret: secret})
	b := openWith(t, store, Options{Keys: testKeys, Secret: secret})
	page := "/tasks/" + a.task(t).ID.String()
	a.signIn(t, "ops")
	b.keep(t, sessionCookie, a.value(t))
	if got := b.get(t, page); got.StatusCode != http.StatusOK || !strings.Contains(got.body, ">ops<") {
		t.Fatalf("the session of another node: %d; want the page", got.StatusCode)
	}
	form := url.Values{"token": {a.token(t, page)}, "action": {"once"}, "reason": {"test"}}
	if got := b.do(t, http.MethodPost, page, form); got.StatusCode != http.StatusSeeOther {
		t.Errorf("a form of another node: %d; want it taken", got.StatusCode)
	}
	if got := b.post(t, page, "/signout"); got.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing out: %d", got.StatusCode)
	}
	if got := a.get(t, page); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after signing out at the other node: %d; want to be asked to sign in", got.StatusCode)
	}
	if a.goesOn(t.Context(), a.value(t), netip.Addr{}) {
		t.Error("a page that is open goes on after signing out at the other node")
	}
	stranger := openWith(t, store, Options{Keys: testKeys}) // with a secret of its own
	a.signIn(t, "ops")
	stranger.keep(t, sessionCookie, a.value(t))
	if got := stranger.get(t, page); got.StatusCode != http.StatusSeeOther {
		t.Errorf("a session signed with another secret: %d; want to be asked to sign in", got.StatusCode)
	}
}

// What a key may do, and that there is one, is looked up at each use.
func TestAKeyThatChanges(t *testing.T) {
	store, secret := &fake{Store: memory.New()}, newOwn()
	before := openWith(t, store, Options{Keys: testKeys, Secret: secret})
	page := "/tasks/" + before.task(t).ID.String()
	before.signIn(t, "ops")
	for _, tt := range []struct {
		name string
		keys []access.Key
		see  int
		acts bool
	}{
		{"as it was", testKeys, http.StatusOK, true},
		{"it may only read now", []access.Key{{Name: "ops", Role: access.Read, SHA256: hash("ops-key")}}, http.StatusOK, false},
		{"it may only submit now", []access.Key{{Name: "ops", Role: access.Submit, SHA256: hash("ops-key")}}, http.StatusForbidden, false},
		{"removed", []access.Key{{Name: "root", Role: access.Admin, SHA256: hash("root-key")}}, http.StatusSeeOther, false},
		{"another key under its name", []access.Key{{Name: "ops", Role: access.Operate, SHA256: hash("new-key")}}, http.StatusSeeOther, false},
	} {
		s := openWith(t, store, Options{Keys: tt.keys, Secret: secret})
		s.keep(t, sessionCookie, before.value(t))
		got := s.get(t, page)
		if acts := strings.Contains(got.body, `name="action"`); got.StatusCode != tt.see || acts != tt.acts {
			t.Errorf("%s: %d, with the actions %t; want %d, %t", tt.name, got.StatusCode, acts, tt.see, tt.acts)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := testKeys
		c := &Console{o: Options{Secret: newOwn(), Records: memory.New()}}
		c.keys.Store(&keys)
		key := c.o.Secret.Key(sessionPurpose)
		alive := func(value string) bool {
			s, _, err := c.find(t.Context(), value)
			if err != nil {
				t.Fatal(err)
			}
			return s != nil
		}
		// use asks for a page, and returns the cookie that the browser has then.
		use := func(value string, header ...string) string {
			r := httptest.NewRequest("GET", "/tasks", nil)
			r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
			if len(header) > 0 {
				r.Header.Set(header[0], "true")
			}
			w := httptest.NewRecorder()
			if q, err := c.request(w, r); err != nil || q.visitor.Who != "ops" {
				return ""
			}
			for _, k := range w.Result().Cookies() {
				if k.Name == sessionCookie {
					return k.Value
				}
			}
			return value
		}
		var err error
		if c.byCode, err = allLanguages(); err != nil {
			t.Fatal(err)
		}
		begin := func() string { return newSession(&keys[2], time.Now()).cookie(key) }

		idle := begin()
		time.Sleep(idleTime - time.Second)
		if !alive(idle) {
			t.Fatal("it ended before it was idle")
		}
		if polled := use(idle, "HX-Request"); polled != idle {
			t.Error("what a page asks for by itself is counted as a use")
		}
		used := use(idle)
		time.Sleep(time.Second)
		if alive(idle) || c.goesOn(t.Context(), idle, netip.Addr{}) {
			t.Error("it goes on after it was idle")
		}
		if !alive(used) || !c.goesOn(t.Context(), used, netip.Addr{}) {
			t.Error("a use did not keep it")
		}
		busy := begin()
		began := time.Now()
		for busy != "" {
			time.Sleep(idleTime / 2)
			busy = use(busy)
		}
		if age := time.Since(began); age != absoluteTime {
			t.Errorf("a busy session ended at age %v; want %v", age, absoluteTime)
		}

		// That it was ended is kept for as long as it would have gone on.
		for range 3 {
			if err := c.end(t.Context(), begin()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(absoluteTime + time.Second)
		last := begin()
		if err := c.end(t.Context(), last); err != nil || alive(last) {
			t.Errorf("the last session goes on, %v", err)
		}
		if ended, err := c.readEnded(t.Context()); err != nil || len(ended) != 1 {
			t.Errorf("%d ended sessions are kept, %v; want the last alone", len(ended), err)
		}
	})
}

// Whoever changes a cookie has none.
func TestACookieIsSigned(t *testing.T) {
	key := newOwn().Key(sessionPurpose)
	value := newSession(&testKeys[1], time.Now()).cookie(key)
	if s := readSession(value, key); s == nil || s.who != "reader" {
		t.Fatalf("read back: %+v", s)
	}
	for i := range len(value) - 1 { // the last character has bits that say nothing
		changed := []byte(value)
		if changed[i]++; readSession(string(changed), key) != nil {
			t.Fatalf("with character %d changed it is still good", i)
		}
	}
	for _, value := range []string{"", "x", value[:20], value + "AAAA", strings.Repeat("A", 5000)} {
		if readSession(value, key) != nil {
			t.Errorf("%.20q is a session", value)
		}
	}
	if readSession(value, newOwn().Key(sessionPurpose)) != nil {
		t.Error("it is good under another secret")
	}
}

// Who cannot be asked whether a session was ended lets nobody in.
func TestASessionWithoutTheStore(t *testing.T) {
	s := open(t, testKeys...)
	s.signIn(t, "ops")
	s.o.Records = broken{s.fake}
	if got := s.get(t, "/tasks"); got.StatusCode != http.StatusInternalServerError || strings.Contains(got.body, "ops") {
		t.Errorf("while the store does not answer: %d %s", got.StatusCode, got.body)
	}
}

// broken are records that cannot be read.
type broken struct{ Records }

func (broken) Docs(context.Context, store.DocFilter, int) ([]store.Doc, error) {
	return nil, errors.New("the store is broken")
}

// A form that is sent after the session ended does nothing, says so, and leads back to its page.
func TestAFormAfterTheSession(t *testing.T) {
	s := open(t, testKeys...)
	s.signIn(t, "ops")
	page := "/tasks/" + s.task(t).ID.String() + "?x=1"
	form := url.Values{"token": {s.token(t, page)}, "action": {"once"}, "reason": {"test"}}
	if err := s.SetKeys([]access.Key{{Name: "ops", Role: access.Operate, SHA256: hash("another-key")}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ referer, to string }{
		{s.server.URL + page, page},
		{"https://evil.example/tasks", "/"},
		{"", "/"},
	} {
		got := s.do(t, http.MethodPost, page, form, "Referer: "+tt.referer)
		if got.StatusCode != http.StatusUnauthorized || !strings.Contains(got.body, "nothing was done") || !strings.Contains(got.body, `name="to" value="`+tt.to+`"`) {
			t.Errorf("a form from %q: %d %s; want 401, that nothing was done, and the way to %s", tt.referer, got.StatusCode, got.body, tt.to)
		}
	}
	if called := s.fake.called(); called != "" {
		t.Errorf("the engine was asked: %s", called)
	}
	if got := s.get(t, "/signin"); !strings.Contains(got.body, "Your session has ended.") {
		t.Errorf("the page to sign in does not say that the session ended: %s", got.body)
	}
	s.client = s.browser(t)
	if got := s.get(t, "/signin"); strings.Contains(got.body, "ended") {
		t.Error("the page to sign in says that a session ended, and there was none")
	}
}

// The language and the colours can be changed on the page of a form that was refused. The browser
// then goes to the page with the form, and at the sign-in it keeps where the visitor was going.
func TestTheLookAfterARefusedForm(t *testing.T) {
	s := open(t, testKeys...)
	leads := func(got *reply, status int, want string) {
		t.Helper()
		_, look, _ := strings.Cut(got.body, `action="/look"`)
		_, look, _ = strings.Cut(look, `name="to" value="`)
		if to, _, _ := strings.Cut(look, `"`); got.StatusCode != status || to != want {
			t.Errorf("%s %s: %d, and the look leads to %q; want %d, and %q", got.Request.Method, got.Request.URL, got.StatusCode, to, status, want)
		}
	}
	form := url.Values{"token": {s.token(t, "/signin")}, "name": {"ops"}, "key": {"wrong"}, "to": {"/tasks?state=failed"}}
	leads(s.do(t, http.MethodPost, "/signin", form, "Referer: "+s.server.URL+"/signin"), http.StatusUnauthorized, "/signin?to=%2Ftasks%3Fstate%3Dfailed")
	s.signIn(t, "ops")
	const page = "/queues?name=pay"
	leads(s.get(t, page), http.StatusOK, page)
	form = url.Values{"token": {s.token(t, page)}, "name": {"pay"}, "action": {"pause"}}
	leads(s.do(t, http.MethodPost, "/queues", form, "Referer: "+s.server.URL+page), http.StatusUnprocessableEntity, page)
	leads(s.do(t, http.MethodPost, "/queues", form, "Referer: https://evil.example"+page), http.StatusUnprocessableEntity, "/")
}

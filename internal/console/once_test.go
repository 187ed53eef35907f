package console

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

var onceOf = regexp.MustCompile(`name="once" value="([^"]+)"`)

// form is what the first form of a page that changes something sends.
func (s *site) form(t testing.TB, page string, values ...string) url.Values {
	t.Helper()
	body := s.get(t, page).body
	token, once := tokenOf.FindStringSubmatch(body), onceOf.FindStringSubmatch(body)
	if token == nil || once == nil {
		t.Fatalf("no form on %s that is known again", page)
	}
	form := url.Values{"token": {token[1]}, "once": {once[1]}}
	for i := 0; i+1 < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return form
}

// A form that is sent twice, at any node, acts once and leads to the same page. Another action from
// the same page is done.
func TestAFormActsOnce(t *testing.T) {
	store, secret := &fake{Store: memory.New()}, newOwn()
	a := openWith(t, store, Options{Keys: testKeys, Secret: secret})
	b := openWith(t, store, Options{Keys: testKeys, Secret: secret})
	task := a.task(t).ID.String()
	page := "/tasks/" + task
	a.signIn(t, "ops")
	b.keep(t, sessionCookie, a.value(t))
	form := a.form(t, page, "action", "once", "reason", "the merchant asks")
	for i, s := range []*site{a, b, a} {
		got := s.do(t, http.MethodPost, page, form)
		if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != page {
			t.Errorf("sent %d times: %d to %q; want it led to %s", i+1, got.StatusCode, got.Header.Get("Location"), page)
		}
		want := "One attempt is being made now."
		if i > 0 {
			want = "It was done when this was first sent, and was not done again."
		}
		if next := s.get(t, page); !strings.Contains(next.body, want) {
			t.Errorf("sent %d times: the page does not say %q", i+1, want)
		}
	}
	if got, want := store.called(), `resend `+task+` once "ops" "the merchant asks"`; got != want {
		t.Errorf("sent three times, the engine was asked %s; want %s", got, want)
	}
	for name, value := range map[string]string{"action": "restart", "reason": "another", "again": "1"} {
		other := url.Values{}
		maps.Copy(other, form)
		other.Set(name, value)
		for range 2 {
			a.do(t, http.MethodPost, page, other)
		}
		if got := store.called(); strings.Count(got, "resend") != 1 {
			t.Errorf("with another %s, twice: the engine was asked %q; want it once", name, got)
		}
	}

	// What was refused may be sent again as it was.
	refused := a.form(t, "/queues", "name", "pay", "action", "pause", "reason", "why")
	store.fail = bellman.ErrConflict
	if got := a.do(t, http.MethodPost, "/queues", refused); got.StatusCode != http.StatusConflict {
		t.Errorf("refused: %d", got.StatusCode)
	}
	store.fail = nil
	store.called()
	if got := b.do(t, http.MethodPost, "/queues", refused); got.StatusCode != http.StatusSeeOther || !strings.Contains(store.called(), "pause queue pay") {
		t.Errorf("what was refused, again: %d; want it done", got.StatusCode)
	}

	// A form without its id is one that nobody knows again; a token it needs all the same.
	for range 2 {
		a.post(t, page, page, "action", "once", "reason", "by a script")
	}
	if got := store.called(); strings.Count(got, "resend") != 2 {
		t.Errorf("without an id, twice: the engine was asked %q", got)
	}
	form.Set("token", "x")
	if got := a.do(t, http.MethodPost, page, form); got.StatusCode != http.StatusForbidden {
		t.Errorf("known, without its token: %d; want 403", got.StatusCode)
	}
}

// A form whose action has no message leads a second submission to where it led the first, at once.
func TestAFormWithoutAMessageActsOnce(t *testing.T) {
	s := open(t, testKeys...)
	s.signIn(t, "reader")
	s.get(t, "/search?q=text")
	form := s.form(t, "/search?q=")
	for i := range 2 {
		if got := s.do(t, http.MethodPost, "/search/forget", form); got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/tasks" {
			t.Errorf("sent %d times: %d to %q; want it led to /tasks", i+1, got.StatusCode, got.Header.Get("Location"))
		}
	}
}

// A slow engine is one whose attempts by hand take a while, whoever asks goes away or not.
type slow struct {
	*fake
	takes time.Duration
	err   error
}

func (s *slow) Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error) {
	s.note("resend")
	select {
	case <-time.After(s.takes):
		return nil, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubbled is a console in a bubble, and a way to send it a form; it needs no network.
func bubbled(t *testing.T, s *slow) (c *Console, page string, send func(ctx context.Context, once string) *httptest.ResponseRecorder) {
	t.Helper()
	c, err := New(Options{Engine: s, Reader: s, Records: s, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	task := s.add(t, &bellman.Task{Queue: "pay", URL: "https://m.example/n"}, time.Now())
	page = "/tasks/" + task.ID.String()
	visit := strings.Repeat("v", 43)
	return c, page, func(ctx context.Context, once string) *httptest.ResponseRecorder {
		form := url.Values{"token": {c.token(visit)}, "once": {once}, "action": {"once"}, "reason": {"r"}}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1"+page, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: visitCookie, Value: visit})
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w
	}
}

// formAt is the id of the nth form of a page that was made at a time.
func formAt(at time.Time, n byte) string {
	id := bellman.FirstID(at)
	id[15] = n
	return id.String()
}

// A second click, which ends the first request, gets what the first did.
func TestASecondClickWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &slow{fake: &fake{Store: memory.New()}, takes: 3 * time.Second}
		_, page, send := bubbled(t, engine)
		once := formAt(time.Now(), 1)
		first, leave := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() { send(first, once) })
		time.Sleep(time.Second)
		leave()
		both.Go(func() {
			if got := send(t.Context(), once); got.Code != http.StatusSeeOther || got.Header().Get("Location") != page {
				t.Errorf("the second: %d to %q; want it led to %s", got.Code, got.Header().Get("Location"), page)
			}
		})
		both.Wait()
		if got := engine.called(); got != "resend" {
			t.Errorf("the engine was asked %q; want it once", got)
		}
	})
}

// Of what nobody knows whether it was done, a second form says so, and does nothing.
func TestWhatIsNotKnownIsNotDoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &slow{fake: &fake{Store: memory.New()}, err: bellman.ErrUnknown}
		_, _, send := bubbled(t, engine)
		once := formAt(time.Now(), 1)
		if got := send(t.Context(), once); got.Code != http.StatusServiceUnavailable {
			t.Errorf("no certain answer: %d; want 503", got.Code)
		}
		engine.err = nil
		if got := send(t.Context(), once); got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "look whether it was done before you do it again") {
			t.Errorf("again: %d %s; want it told to look", got.Code, got.Body)
		}
		if got := engine.called(); got != "resend" {
			t.Errorf("the engine was asked %q; want it once", got)
		}
	})
}

// Forms are known for as long as they can be sent, and no longer.
func TestFormsGetOutOfDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &slow{fake: &fake{Store: memory.New()}}
		_, _, send := bubbled(t, engine)
		kept := func() int {
			docs, err := engine.Docs(t.Context(), store.DocFilter{Kind: sentKind}, 1000)
			if err != nil {
				t.Fatal(err)
			}
			return len(docs)
		}
		once := formAt(time.Now(), 0)
		for n := range byte(3) {
			send(t.Context(), formAt(time.Now(), n+1))
		}
		time.Sleep(formTime)
		if got := send(t.Context(), once); got.Code != http.StatusSeeOther || kept() != 4 {
			t.Errorf("a form of a day ago: %d, and %d are known; want it done, and 4", got.Code, kept())
		}
		engine.called()
		time.Sleep(time.Minute)
		for what, id := range map[string]string{"older": once, "of tomorrow": formAt(time.Now().Add(time.Hour), 0), "none": "x"} {
			if got := send(t.Context(), id); got.Code != http.StatusForbidden || engine.called() != "" {
				t.Errorf("a form that is %s: %d; want it refused", what, got.Code)
			}
		}
		time.Sleep(time.Hour)
		if send(t.Context(), formAt(time.Now(), 0)); kept() != 1 {
			t.Errorf("%d forms are known; want the newest alone", kept())
		}
	})
}

// Each form that changes something is one that is known again.
func TestEveryFormIsKnownAgain(t *testing.T) {
	again := regexp.MustCompile(`^/(look|signin|signout|reconciliations)$|^{{.Action}}$`) // the same again changes nothing
	one := regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	action := regexp.MustCompile(`action="([^"]*)"`)
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		data, err := pageFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range one.FindAllStringSubmatch(string(data), -1) {
			to := action.FindStringSubmatch(m[1])
			if !strings.Contains(m[1], `method="post"`) || again.MatchString(to[1]) {
				continue
			}
			if found++; !strings.Contains(m[2], `{{template "part.sent" .}}`) {
				t.Errorf("%s: the form of %s acts twice when it is sent twice", file, to[1])
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d forms were found", found)
	}
}

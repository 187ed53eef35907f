package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/engine/figures"
)

// What is done with an order by hand: each with a reason, and with who did it.
func TestOrderActions(t *testing.T) {
	s := open(t, testKeys...)
	_, order := s.story(t)
	s.signIn(t, "ops")
	page := "/orders?merchant_no=M1001&order_no=B-1"
	for _, tt := range []struct {
		action, outcome, reason string
		status                  int
		called                  string
	}{
		{"settle", "", "the merchant asks", http.StatusSeeOther, `settle ` + order.ID.String() + ` "ops" "the merchant asks"`},
		{"settle", "", " ", http.StatusUnprocessableEntity, ""},
		{"complete", "PAID", "seen in the bank's pages", http.StatusSeeOther, `complete ` + order.ID.String() + ` "PAID" "ops" "seen in the bank's pages"`},
		{"complete", "", "no outcome", http.StatusUnprocessableEntity, ""},
		{"complete", "UNKNOWN", "nobody can have seen that", http.StatusUnprocessableEntity, ""},
		{"complete", "PAID", "", http.StatusUnprocessableEntity, ""},
		{"delete", "", "x", http.StatusUnprocessableEntity, ""},
	} {
		got := s.post(t, page, "/orders", "merchant_no", "M1001", "order_no", "B-1", "action", tt.action, "outcome", tt.outcome, "reason", tt.reason)
		if called := s.fake.called(); got.StatusCode != tt.status || called != tt.called {
			t.Errorf("%s as %q because %q: %d, and the engine was asked %q; want %d, %q", tt.action, tt.outcome, tt.reason, got.StatusCode, called, tt.status, tt.called)
		}
		if to := got.Header.Get("Location"); got.StatusCode == http.StatusSeeOther && to != "/orders?merchant_no=M1001&order_no=B-1" {
			t.Errorf("%s leads to %s", tt.action, to)
		}
		if got.StatusCode != http.StatusSeeOther && tt.reason != "" && !strings.Contains(got.body, `value="`+strings.TrimSpace(tt.reason)+`"`) && !strings.Contains(got.body, "nobody can") && tt.reason != " " {
			t.Errorf("%s as %q: the reason that was typed is lost", tt.action, tt.outcome)
		}
	}
	if got := s.post(t, page, "/orders", "merchant_no", "M1001", "order_no", "none", "action", "settle", "reason", "x"); got.StatusCode != http.StatusNotFound {
		t.Errorf("an order that there is not: %d; want 404", got.StatusCode)
	}
	s = open(t, testKeys...)
	s.story(t)
	s.signIn(t, "reader")
	got := s.do(t, http.MethodPost, "/orders", url.Values{"token": {s.token(t, page)}, "merchant_no": {"M1001"}, "order_no": {"B-1"}, "action": {"complete"}, "outcome": {"PAID"}, "reason": {"x"}})
	if called := s.fake.called(); got.StatusCode != http.StatusForbidden || called != "" {
		t.Errorf("who may only read completes: %d, and the engine was asked %q", got.StatusCode, called)
	}
}

// A notice is completed without an outcome, an order's own task with one.
func TestATaskIsCompleted(t *testing.T) {
	s := open(t, testKeys...)
	_, order := s.story(t)
	notice := s.task(t)
	s.signIn(t, "ops")
	for _, tt := range []struct {
		id, outcome string
		status      int
	}{
		{notice.ID.String(), "", http.StatusSeeOther},
		{notice.ID.String(), "PAID", http.StatusUnprocessableEntity},
		{order.ID.String(), "CLOSED", http.StatusSeeOther},
		{order.ID.String(), "", http.StatusUnprocessableEntity},
	} {
		page := "/tasks/" + tt.id
		got := s.post(t, page, page, "action", "complete", "outcome", tt.outcome, "when", "10m", "reason", "told by telephone")
		want := ""
		if tt.status == http.StatusSeeOther {
			want = `complete ` + tt.id + ` "` + tt.outcome + `" "ops" "told by telephone"`
		}
		if called := s.fake.called(); got.StatusCode != tt.status || called != want {
			t.Errorf("completing %s as %q: %d, and the engine was asked %q; want %d, %q", tt.id, tt.outcome, got.StatusCode, called, tt.status, want)
		}
	}
}

// What was done is said once, on the page that follows: by no address, which says it of
// what nobody did.
func TestWhatWasDoneIsSaidOnce(t *testing.T) {
	s := open(t)
	task := s.task(t)
	page := "/tasks/" + task.ID.String()
	says := func(path, text string, want bool, header ...string) {
		t.Helper()
		if got := s.get(t, path, header...); strings.Contains(got.body, text) != want {
			t.Errorf("%s says %q: %t; want %t", path, text, !want, want)
		}
	}
	do := func(action string) {
		t.Helper()
		got := s.post(t, page, page, "action", action, "reason", "test")
		if to := got.Header.Get("Location"); to != page {
			t.Fatalf("%s leads to %q; want %q", action, to, page)
		}
	}
	says(page+"?done=cancel", "The task is cancelled.", false)
	do("cancel")
	says("/tasks", "The task is cancelled.", false)
	says(page, "The task is cancelled.", false, "HX-Request: true")
	says(page, "The task is cancelled.", true)
	says(page, "The task is cancelled.", false)

	do("once")
	says(page, "One attempt is being made now.", true)
	s.fake.held = map[string]*figures.Pause{"pay": {Reason: "the bank rests", At: t0}}
	do("once")
	says(page, "An attempt is made when the pause ends.", true)
}

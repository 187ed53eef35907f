package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
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
		if to := got.Header.Get("Location"); got.StatusCode == http.StatusSeeOther && to != "/orders?merchant_no=M1001&order_no=B-1&done="+tt.action {
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

package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/order"
)

// What is done with an order by hand: each with a reason, and with who did it. Deciding takes a
// role of its own.
func TestOrderActions(t *testing.T) {
	s := open(t, testKeys...)
	_, order := s.story(t)
	s.signIn(t, "finance")
	page := "/orders?merchant_no=M1001&order_no=B-1"
	for _, tt := range []struct {
		action, outcome, reason string
		status                  int
		called                  string
	}{
		{"settle", "", "the merchant asks", http.StatusSeeOther, `settle ` + order.ID.String() + ` "finance" "the merchant asks"`},
		{"settle", "", " ", http.StatusUnprocessableEntity, ""},
		{"complete", "PAID", "seen in the bank's pages", http.StatusSeeOther, `decide ` + order.ID.String() + ` "PAID" "finance" "seen in the bank's pages"`},
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
	for _, who := range []string{"reader", "ops", "finance", "root"} {
		s = open(t, testKeys...)
		s.story(t)
		s.signIn(t, who)
		may := who == "finance" || who == "root"
		shown := strings.Contains(s.get(t, page).body, `value="complete"`)
		form := url.Values{"token": {s.token(t, page)}, "merchant_no": {"M1001"}, "order_no": {"B-1"}, "action": {"complete"}, "outcome": {"PAID"}, "reason": {"x"}}
		got := s.do(t, http.MethodPost, "/orders", form)
		if called := s.fake.called(); shown != may || (got.StatusCode == http.StatusSeeOther) != may || strings.HasPrefix(called, "decide ") != may || !may && (got.StatusCode != http.StatusForbidden || called != "") {
			t.Errorf("%s decides: shown %t, %d, and the engine was asked %q; want allowed: %t", who, shown, got.StatusCode, called, may)
		}
		if who == "ops" && !strings.Contains(got.body, "decide") {
			t.Errorf("ops is not told which role it takes: %s", got.body)
		}
	}
}

// An order may have several tasks, such as one at each of two channels. The page says how the
// pending one stands, and a decision is about that one.
func TestDecisionOfAnOrderWithSeveralTasks(t *testing.T) {
	s := open(t, testKeys...)
	add := func(key string, amount int64, state string, at time.Duration) *bellman.Task {
		task := &bellman.Task{Queue: "orders", Key: key, MerchantNo: "M1", OrderNo: "two"}
		var log []bellman.Attempt
		if state != "PENDING" {
			task.Status = bellman.Status{State: bellman.Succeeded, Reason: strings.ToLower(state), Finished: t0}
			log = []bellman.Attempt{{Started: t0}}
		}
		return s.fake.add(t, ordered(t, task, order.Standing{State: state}, order.Ask{Amount: amount, Currency: "CNY"}), t0.Add(at), log...)
	}
	pending := add("first", 111, "PENDING", 0)
	add("second", 222, "CLOSED", time.Second)
	s.signIn(t, "finance")
	page := orderAddress("M1", "two")
	if got := s.get(t, page).body; !strings.Contains(got, "1.11 CNY") || strings.Contains(got, "2.22 CNY") {
		t.Error("the facts of the page are not those of the pending task")
	}
	decide := func() *reply {
		return s.post(t, page, "/orders", "merchant_no", "M1", "order_no", "two", "action", "complete", "outcome", "CLOSED", "reason", "nobody paid")
	}
	got, called := decide(), s.fake.called()
	if want := `decide ` + pending.ID.String() + ` "CLOSED" "finance" "nobody paid"`; got.StatusCode != http.StatusSeeOther || called != want {
		t.Errorf("%d, and the engine was asked %q; want %q", got.StatusCode, called, want)
	}
	add("third", 333, "PENDING", 2*time.Second)
	if got, called := decide(), s.fake.called(); got.StatusCode != http.StatusUnprocessableEntity || called != "" || !strings.Contains(got.body, "Several tasks of this order are not decided yet") {
		t.Errorf("with two pending tasks: %d, and the engine was asked %q; want 422, and to choose one", got.StatusCode, called)
	}
}

// A notice is completed without an outcome, by who operates; an order's own task is decided with
// one, by who decides.
func TestATaskIsCompleted(t *testing.T) {
	s := open(t, testKeys...)
	_, own := s.story(t)
	notice := s.task(t)
	body, err := (&order.Ask{Notice: &order.Told{Result: order.NoticeHeld, Of: order.OfPayment, Reading: "PAID", OrderNo: "unclaimed"}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	held := s.fake.add(t, &bellman.Task{Queue: "orders", Kind: bellman.KindOrder, OrderNo: "unclaimed", Event: order.EventNotice, Body: body,
		Status: bellman.Status{State: bellman.Failed, Reason: "max_age", Finished: t0, Data: []byte(`{"alerted":true}`)}}, t0)
	for _, tt := range []struct {
		who, id, outcome string
		status           int
		called           string
	}{
		{"ops", notice.ID.String(), "", http.StatusSeeOther, "complete"},
		{"ops", notice.ID.String(), "PAID", http.StatusUnprocessableEntity, ""},
		{"ops", held.ID.String(), "", http.StatusSeeOther, "complete"},
		{"ops", held.ID.String(), "PAID", http.StatusUnprocessableEntity, ""},
		{"finance", held.ID.String(), "", http.StatusForbidden, ""},
		{"ops", own.ID.String(), "CLOSED", http.StatusForbidden, ""},
		{"finance", own.ID.String(), "CLOSED", http.StatusSeeOther, "decide"},
		{"finance", own.ID.String(), "", http.StatusUnprocessableEntity, ""},
		{"finance", notice.ID.String(), "", http.StatusForbidden, ""},
		{"root", own.ID.String(), "CLOSED", http.StatusSeeOther, "decide"},
	} {
		s.client = s.browser(t)
		s.signIn(t, tt.who)
		page := "/tasks/" + tt.id
		if shown := strings.Contains(s.get(t, page, "Accept-Language: en").body, "Payment handled"); shown != (tt.who == "ops" && tt.id == held.ID.String()) {
			t.Errorf("%s sees the button of a payment without an order at %s: %t", tt.who, tt.id, shown)
		}
		form := url.Values{"token": {s.token(t, page)}, "action": {"complete"}, "outcome": {tt.outcome}, "when": {"10m"}, "reason": {"told by telephone"}}
		got := s.do(t, http.MethodPost, page, form)
		want := ""
		if tt.called != "" {
			want = tt.called + ` ` + tt.id + ` "` + tt.outcome + `" "` + tt.who + `" "told by telephone"`
		}
		if called := s.fake.called(); got.StatusCode != tt.status || called != want {
			t.Errorf("%s completes %s as %q: %d, and the engine was asked %q; want %d, %q", tt.who, tt.id, tt.outcome, got.StatusCode, called, tt.status, want)
		}
	}
	s.client = s.browser(t)
	s.signIn(t, "finance")
	for _, action := range []string{"once", "restart", "cancel", "reschedule"} {
		page := "/tasks/" + own.ID.String()
		form := url.Values{"token": {s.token(t, page)}, "action": {action}, "when": {"10m"}, "reason": {"x"}}
		got := s.do(t, http.MethodPost, page, form)
		if called := s.fake.called(); got.StatusCode != http.StatusForbidden || called != "" {
			t.Errorf("finance does %s: %d, and the engine was asked %q; want 403", action, got.StatusCode, called)
		}
		if strings.Contains(s.get(t, page).body, `value="`+action+`"`) {
			t.Errorf("finance is shown %s", action)
		}
	}
}

// Who may only decide orders gets the form of an order that is not decided, and none at a notice
// that waits for its order: nothing of it can be decided.
func TestNoEmptyForm(t *testing.T) {
	s := open(t, testKeys...)
	body, err := (&order.Ask{Notice: &order.Told{Result: order.NoticeHeld, Of: order.OfPayment, Reading: "PAID", OrderNo: "waits"}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	held := s.fake.add(t, &bellman.Task{Queue: "orders", OrderNo: "waits", Event: order.EventNotice, Body: body}, t0)
	own := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "open"}, order.Standing{State: "PENDING"}, order.Ask{}), t0)
	s.signIn(t, "finance")
	for id, want := range map[string]bool{held.ID.String(): false, own.ID.String(): true} {
		page := s.get(t, "/tasks/"+id).body
		if form, button := strings.Contains(page, `action="/tasks/`+id+`"`), strings.Contains(page, `value="complete"`); form != want || button != want {
			t.Errorf("the page of %s has a form: %t, and a button: %t; want %t", id, form, button, want)
		}
	}
}

// The result of an action is shown once, on the next page. No address shows the result of an action
// that was not made.
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
	says(page+"?done=cancel", "Cancelled: no further attempt is made.", false)
	do("cancel")
	says("/tasks", "Cancelled: no further attempt is made.", false)
	says(page, "Cancelled: no further attempt is made.", false, "HX-Request: true")
	says(page, "Cancelled: no further attempt is made.", true)
	says(page, "Cancelled: no further attempt is made.", false)

	do("once")
	says(page, "One attempt is being made now.", true)
	s.fake.held = map[string]*figures.Pause{"pay": {Reason: "the bank rests", At: t0}}
	do("once")
	says(page, "An attempt is made when the pause ends.", true)
}

package console

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store/memory"
)

// has reports what a page lacks or has too much.
func (r *reply) has(t *testing.T, wants []string, not ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s lacks %q: %s", r.Request.URL, want, r.body[max(strings.Index(r.body, "<main"), 0):])
		}
	}
	for _, unwanted := range not {
		if strings.Contains(r.body, unwanted) {
			t.Errorf("%s says %q", r.Request.URL, unwanted)
		}
	}
}

// An action on the ticked tasks needs a role and a reason, is one batch of the audit record, and
// says for which tasks it was not possible. Submitted twice, it happens once.
func TestActOnSome(t *testing.T) {
	s := open(t, testKeys...)
	var ids []string
	for i := range 3 {
		ids = append(ids, s.fake.add(t, &bellman.Task{Queue: "pay", OrderNo: fmt.Sprint("O", i), URL: "http://m.example/"}, t0.Add(time.Duration(i)*time.Second)).ID.String())
	}
	over := s.fake.add(t, &bellman.Task{Queue: "pay", OrderNo: "over", URL: "http://m.example/", Status: bellman.Status{State: bellman.Succeeded, Finished: t0}}, t0, bellman.Attempt{Started: t0}).ID.String()
	s.signIn(t, "reader")
	s.get(t, "/tasks").has(t, []string{"O1"}, `name="id"`)
	if got := s.get(t, pickedPath+"?id="+ids[0]); got.StatusCode != http.StatusForbidden {
		t.Errorf("a reader gets the page of the selected: %d", got.StatusCode)
	}
	s.client = s.browser(t)
	s.signIn(t, "ops")
	s.get(t, "/tasks").has(t, []string{`form="pick" name="id" value="` + ids[1] + `"`, `<form id="pick" action="/tasks/picked">`})
	page := pickedPath + "?" + url.Values{"id": {ids[0], ids[1], over}}.Encode()
	s.get(t, page).has(t, []string{"Act on these 3", "the schedule goes on as it was"})
	s.fake.called()
	form := url.Values{"token": {s.token(t, page)}, "once": {(*view)(nil).Once()}, "id": {ids[0], ids[1], over}, "action": {"cancel"}}
	if got := s.do(t, http.MethodPost, pickedPath, form); got.StatusCode != http.StatusUnprocessableEntity || s.fake.called() != "" {
		t.Errorf("without a reason: %d, and %q was done", got.StatusCode, s.fake.called())
	}
	form.Set("reason", "the shop has closed")
	s.fake.ended = over
	first := s.do(t, http.MethodPost, pickedPath, form)
	did := s.fake.called()
	if first.StatusCode != http.StatusSeeOther || strings.Count(did, "cancel") != 3 || !strings.Contains(did, `"ops" "the shop has closed" batch/`) {
		t.Fatalf("%d, and %q was done; want three cancels of one batch", first.StatusCode, did)
	}
	after := s.get(t, first.Header.Get("Location"))
	after.has(t, []string{"Done for 2. Not possible for 1", "/audit?job=batch"})
	if again := s.do(t, http.MethodPost, pickedPath, form); again.Header.Get("Location") != first.Header.Get("Location") || strings.Contains(s.fake.called(), "cancel") {
		t.Errorf("sent again it leads to %q", again.Header.Get("Location"))
	}
	form = url.Values{"token": {s.token(t, page)}, "id": {over}, "action": {"cancel"}, "reason": {"r"}}
	if got := s.do(t, http.MethodPost, pickedPath, form); got.StatusCode != http.StatusConflict {
		t.Errorf("possible for none: %d; want 409", got.StatusCode)
	}
	gone := bellman.NewID().String() // deleted after it was ticked
	form = url.Values{"token": {s.token(t, page)}, "id": {ids[0], gone}, "action": {"cancel"}, "reason": {"r"}}
	got := s.do(t, http.MethodPost, pickedPath, form)
	if after := s.get(t, got.Header.Get("Location")); after.StatusCode != http.StatusOK || !strings.Contains(after.body, "Done for 1. Not possible for 1") {
		t.Errorf("one of two was deleted meanwhile: %d, then %d; want to be told what was done", got.StatusCode, after.StatusCode)
	}
	many := url.Values{}
	for range pageRows + 1 {
		many.Add("id", bellman.NewID().String())
	}
	if got := s.get(t, pickedPath+"?"+many.Encode()); got.StatusCode != http.StatusNotFound {
		t.Errorf("more than a page: %d; want 404", got.StatusCode)
	}
}

// Selected tasks are not completed together: each has an outcome of its own, and deciding an order
// takes a role of its own.
func TestSelectedTasksAreNotCompleted(t *testing.T) {
	s := open(t, testKeys...)
	_, own := s.story(t)
	notice := s.task(t)
	for _, who := range []string{"ops", "root"} {
		s.client = s.browser(t)
		s.signIn(t, who)
		for _, id := range []string{own.ID.String(), notice.ID.String()} {
			for _, outcome := range []string{"", "PAID"} {
				form := url.Values{"token": {s.token(t, pickedPath+"?id="+id)}, "id": {id}, "action": {"complete"}, "when": {outcome}, "outcome": {outcome}, "reason": {"r"}}
				s.fake.called()
				got := s.do(t, http.MethodPost, pickedPath, form)
				if called := s.fake.called(); got.StatusCode != http.StatusUnprocessableEntity || called != "" {
					t.Errorf("%s completes %s as %q: %d, and %q was done; want 422", who, id, outcome, got.StatusCode, called)
				}
			}
		}
	}
}

// A quick filter keeps whom the list is about, replaces the rest, and counts today from midnight in
// the viewer's zone.
func TestQuickFilters(t *testing.T) {
	s := open(t)
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	day, got := "", ""
	for day != time.Now().In(shanghai).Format(time.DateOnly) { // once more if it becomes midnight
		day = time.Now().In(shanghai).Format(time.DateOnly)
		got = s.get(t, "/tasks?merchant_no=M1&state=succeeded&status=500&quick=failed_today&zone=Asia/Shanghai").Header.Get("Location")
	}
	want := "/tasks?" + url.Values{"merchant_no": {"M1"}, "state": {"failed"}, "finished_from": {day}, "zone": {"Asia/Shanghai"}}.Encode()
	if got != want {
		t.Errorf("failed today leads to %q; want %q", got, want)
	}
	for no, ended := range map[string]time.Duration{"failed-today": 0, "failed-before": 48 * time.Hour} { // both were created before: a schedule takes a day
		finished := time.Now().Add(-ended)
		s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: no, URL: "http://m.example/",
			Status: bellman.Status{State: bellman.Failed, Finished: finished}}, finished.Add(-24*time.Hour-4*time.Minute), bellman.Attempt{Started: finished, Result: bellman.ErrorStatus, Status: 500})
	}
	s.get(t, got).has(t, []string{"failed-today"}, "failed-before")
	for _, f := range quickFilters {
		to := s.get(t, "/tasks?quick="+f.Name).Header.Get("Location")
		if page := s.get(t, to); page.StatusCode != http.StatusOK || strings.Contains(page.body, "bar bad") {
			t.Errorf("%s leads to %s, %d", f.Name, to, page.StatusCode)
		}
	}
}

// An order of a registered account is at the account's channel, on its page and in the filter, if
// its queue has accounts of several channels.
func TestChannelOfAnAccountsOrder(t *testing.T) {
	s := open(t)
	task := ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "A"}, order.Standing{State: "PENDING"}, order.Ask{Account: "shop1"})
	task.Endpoint = "wechatpay:1900000001"
	s.fake.add(t, task, t0)
	if got := flat(s.get(t, orderAddress("M1", "A"), "Accept-Language: en").body); !strings.Contains(got, "Channel wechatpay Account shop1") {
		t.Errorf("the page does not say the channel: %s", got)
	}
	for query, want := range map[string]string{"": "<option>wechatpay</option>", "?channel=wechatpay": "<option selected>wechatpay</option>", "?channel=antom": "<option selected>antom</option>"} {
		if got := s.get(t, "/orders"+query).body; !strings.Contains(got, want) {
			t.Errorf("/orders%s has no %q", query, want)
		}
	}
}

// Orders are filtered by state, channel, account and amount, step by step, and the page says how
// much each costs.
func TestOrderFilters(t *testing.T) {
	s := open(t)
	s.o.Channels = func(queue string) string { return map[string]string{"orders": "wechatpay"}[queue] }
	add := func(no, state, account string, amount int64, currency string) {
		o := order.Standing{State: state}
		if state != "PENDING" {
			o.Decided = t0
		}
		s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: no}, o, order.Ask{Account: account, Amount: amount, Currency: currency}), t0)
	}
	add("A", "PAID", "shop1", 8888, "CNY")
	add("B", "PENDING", "shop2", 8889, "CNY")
	add("C", "UNKNOWN", "", 0, "")
	add("D", "CLOSED", "shop1", 90, "JPY")
	for query, want := range map[string]string{
		"":                                       "ABCD",
		"order_state=UNKNOWN":                    "C",
		"order_state=PAID&account=shop1":         "A",
		"account=shop1":                          "AD",
		"channel=wechatpay":                      "ABCD",
		"channel=alipay":                         "",
		"least=88.88&most=88.88":                 "A",
		"least=88.89":                            "BD",
		"most=88.885":                            "A",
		"most=89":                                "AB",
		"least=0":                                "ABD",
		"merchant_no=M2":                         "",
		"merchant_no=M1&from=2100-01-01T00%3A00": "",
	} {
		got := s.get(t, "/orders?"+query)
		numbers := ""
		for _, no := range []string{"A", "B", "C", "D"} {
			if strings.Contains(got.body, "order_no="+no+`"`) {
				numbers += no
			}
		}
		if got.StatusCode != http.StatusOK || numbers != want {
			t.Errorf("/orders?%s: %d with %q; want %q", query, got.StatusCode, numbers, want)
		}
	}
	s.get(t, "/orders").has(t, []string{"88.88 CNY", "90 JPY", "wechatpay", "shop2"})
	for query, why := range map[string]string{"order_state=paid": "is no state of an order: want one of PENDING, PAID", "least=much": "is no amount: want one such as 88.88"} {
		if got := s.get(t, "/orders?"+query); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, why) {
			t.Errorf("/orders?%s: %d; want %q", query, got.StatusCode, why)
		}
	}
	s.get(t, "/orders?merchant_no=M1&order_no=A").has(t, []string{"88.88 CNY", "wechatpay", "shop1", "Notices of the channel", "Refunds and transfers", "Duplicate payments"})
}

// An order's page makes one attempt of the newest notification, for those who may.
func TestAnOrdersNotificationIsResent(t *testing.T) {
	s := open(t, testKeys...)
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "A"}, order.Standing{State: "PAID", Decided: t0}, order.Ask{}), t0)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "A", URL: "http://m.example/"}, t0.Add(time.Second))
	newest := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "A", URL: "http://m.example/"}, t0.Add(2*time.Second)).ID.String()
	page := "/orders?merchant_no=M1&order_no=A"
	s.signIn(t, "finance")
	if got := s.post(t, page, "/orders", "merchant_no", "M1", "order_no", "A", "action", "once", "reason", "r"); got.StatusCode != http.StatusForbidden {
		t.Errorf("decide alone resends: %d", got.StatusCode)
	}
	s.client = s.browser(t)
	s.signIn(t, "ops")
	s.fake.called()
	if got := s.post(t, page, "/orders", "merchant_no", "M1", "order_no", "A", "action", "once"); got.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: %d", got.StatusCode)
	}
	if got := s.post(t, page, "/orders", "merchant_no", "M1", "order_no", "A", "action", "once", "reason", "the shop asks"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if did := s.fake.called(); did != "resend "+newest+` once "ops" "the shop asks"` {
		t.Errorf("done: %q; want one attempt of %s", did, newest)
	}
}

// A text that nothing equals finds what begins with it, in the registries' figures and among the
// newest tasks.
func TestSearchByTheBeginning(t *testing.T) {
	f := &fake{Store: memory.New(), endpoints: []figures.Endpoint{{Endpoint: "https://notify.shop.example:443"}}}
	s := openWith(t, f, Options{})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "20261120-7", URL: "http://m.example/"}, t0)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", Key: "key/1", URL: "http://m.example/"}, t0.Add(time.Second))
	s.get(t, "/search?q=20261120").has(t, []string{"These begin with it", "20261120-7"}, "key/1")
	s.get(t, "/search?q=key").has(t, []string{"key/1"})
	s.get(t, "/search?q=notify.sh").has(t, []string{"https://notify.shop.example:443"})
	s.get(t, "/search?q=rder").has(t, []string{`href="/tasks?queue=orders"`})
	s.get(t, "/search?q=nowhere-like").has(t, []string{"Nothing has this"})
	if got := s.get(t, "/search?q=notify.shop.example").Header.Get("Location"); got != "/tasks?url_host=notify.shop.example" {
		t.Errorf("a whole host leads to %q", got)
	}
}

// Searches are remembered in a cookie of bounded size, newest first and each once, until the
// visitor forgets them or signs out.
func TestRecentSearches(t *testing.T) {
	s := open(t, testKeys...)
	s.signIn(t, "ops")
	for i := range 12 {
		s.get(t, fmt.Sprintf("/search?q=text-%d", i))
	}
	s.get(t, "/search?q=text-7")
	s.get(t, "/search?q="+strings.Repeat("x", longRecent+1))
	page := s.get(t, "/tasks")
	var recent []string
	for _, m := range regexp.MustCompile(`<option value="([^"]+)" label="Recent search">`).FindAllStringSubmatch(page.body, -1) {
		recent = append(recent, m[1])
	}
	if want := []string{"text-7", "text-11", "text-10", "text-9", "text-8", "text-6", "text-5", "text-4"}; !slices.Equal(recent, want) {
		t.Errorf("remembered: %q; want %q", recent, want)
	}
	if got := s.post(t, "/search?q=", "/search/forget"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("forget: %d", got.StatusCode)
	}
	s.get(t, "/tasks").has(t, nil, "Recent search")
	s.get(t, "/search?q=again")
	s.post(t, "/tasks", "/signout")
	s.signIn(t, "ops")
	s.get(t, "/tasks").has(t, nil, "Recent search")
}

// A server without tasks shows the command of the first notification, at the address by which it
// was reached, and never a key. With the first task the command is gone.
func TestTheFirstNotification(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/", "/tasks"} {
		s.get(t, path).has(t, []string{"Send the first notification", "curl -i -X POST &#39;" + s.server.URL + "/v1/tasks&#39;", `{&#34;queue&#34;:&#34;pay&#34;`, "bellman key new"}, "BELLMAN_KEY")
	}
	s.fake.add(t, &bellman.Task{Queue: "pay", URL: "http://m.example/"}, t0)
	s.get(t, "/").has(t, nil, "Send the first notification")
	keyed := open(t, testKeys...)
	keyed.signIn(t, "root")
	keyed.get(t, "/tasks").has(t, []string{"Authorization: Bearer $BELLMAN_KEY"}, "root-key", "bellman key new")
}

// Each page names its environment in its colour; merchants do not see it.
func TestEnvironment(t *testing.T) {
	for colour, tone := range map[string]string{"": "", "grey": "", "blue": " wait", "green": " ok", "orange": " warn", "red": " bad"} {
		c, err := New(Options{Engine: &fake{Store: memory.New()}, Reader: memory.New(), Records: memory.New(), Name: "production <1>", Colour: colour})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/signin"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
			if c.ServeHTTP(w, r); w.Code == http.StatusOK && (!strings.Contains(w.Body.String(), `class="top env`+tone+`"`) || !strings.Contains(w.Body.String(), ">production &lt;1&gt;</span>")) {
				t.Errorf("%s in %q lacks its environment: %s", path, colour, bytes.TrimSpace(w.Body.Bytes()))
			}
		}
		c.Stop()
	}
}

// The page of an overdue task says that its endpoint delays it.
func TestWhyATaskIsLate(t *testing.T) {
	s := open(t)
	s.fake.endpoints = []figures.Endpoint{{Endpoint: "https://other.example:443", Breaker: "closed"}, {Endpoint: "https://m.example:443", Breaker: "open", Waiting: 7, SuccessRate: -1}}
	task := s.fake.add(t, &bellman.Task{Queue: "pay", URL: "https://m.example/", Endpoint: "https://m.example:443"}, t0)
	s.get(t, "/tasks/"+task.ID.String()).has(t, []string{"Late because of its endpoint:", "https://m.example:443"})
	fine := s.fake.add(t, &bellman.Task{Queue: "pay", URL: "https://other.example/", Endpoint: "https://other.example:443"}, t0.Add(time.Second))
	s.get(t, "/tasks/"+fine.ID.String()).has(t, nil, "Late because of its endpoint:")
	of := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", Endpoint: "merchant:M1"}, t0.Add(2*time.Second))
	s.fake.guided = map[string]bellman.Route{"M1": {URL: "https://m.example/", Endpoint: "https://m.example:443"}}
	s.get(t, "/tasks/"+of.ID.String()).has(t, []string{"Late because of its endpoint:"})
}

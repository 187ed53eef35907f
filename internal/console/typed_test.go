package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store/memory"
)

// offered returns the groups of what the search box offers, each with its results: "orders: A B".
func offered(page string) (groups []string) {
	for _, group := range strings.Split(page, `<div role="group"`)[1:] {
		name := regexp.MustCompile(`id="finds-(\w+)"`).FindStringSubmatch(group)[1] + ":"
		for _, m := range regexp.MustCompile(`role="option"[^>]*href="([^"]+)"><span>([^<]+)</span>`).FindAllStringSubmatch(group, -1) {
			name += " " + m[2]
		}
		groups = append(groups, name)
	}
	return groups
}

// As somebody types, the box offers what equals or begins with the text, by type, each with its
// page.
func TestTypedResultsHaveTypes(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New(), endpoints: []figures.Endpoint{{Endpoint: "https://notify.a1.example:443"}}}, Options{})
	s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "A1"}, order.Standing{State: "PAID", Decided: t0}, order.Ask{}), t0)
	told := s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: "A1", Event: order.EventNotice}, order.Standing{}, order.Ask{Notice: &order.Told{Result: "applied"}}), t0.Add(time.Second))
	task := s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "A1", Key: "A1/paid", URL: "http://m.example/"}, t0.Add(2*time.Second))
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", OrderNo: "B7", URL: "http://m.example/"}, t0.Add(3*time.Second))
	for text, want := range map[string]string{
		"A1":                     "tasks: A1|notices: A1|orders: A1|endpoints: https://notify.a1.example:443",
		"A1/paid":                "tasks: A1",
		" " + task.ID.String():   "tasks: A1",
		"B":                      "", // too short to search the newest tasks
		"B7x":                    "",
		"M1":                     "tasks: B7 A1|notices: A1|orders: A1",
		"orde":                   "queues: orders",
		strings.Repeat("x", 401): "",
	} {
		got := s.get(t, query("/search/typed", "q", text))
		if groups := strings.Join(offered(got.body), "|"); got.StatusCode != http.StatusOK || groups != want {
			t.Errorf("%q offers %d %q; want %q", text, got.StatusCode, groups, want)
		}
	}
	s.get(t, "/search/typed?q=A1").has(t, []string{`href="/orders?merchant_no=M1&amp;order_no=A1"`, `href="/tasks/` + told.ID.String() + `"`, `href="/tasks/` + task.ID.String() + `"`, "M1 · Paid", "Results: 4", `hx-swap-oob`}, "<html")
	for i := range typedRows {
		s.get(t, "/search/typed?q=many").has(t, nil, "the newest 5")
		s.fake.add(t, &bellman.Task{Queue: "pay", OrderNo: "many", URL: "http://m.example/"}, t0.Add(time.Duration(10+i)*time.Second))
	}
	s.get(t, "/search/typed?q=many").has(t, []string{"Tasks · the newest 5"})
	s.get(t, "/search?q=B7")
	if groups := offered(s.get(t, "/search/typed?q=").body); strings.Join(groups, "|") != "recent: B7" {
		t.Errorf("without a text: %q; want what was searched for", groups)
	}
}

// Only some searches run at once as somebody types. A browser that asks for another text does not
// wait for them.
func TestTypedSearchesWait(t *testing.T) {
	s := open(t)
	for range mostTyped {
		s.Console.typing <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	s.Console.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/search/typed?q=A", nil).WithContext(ctx))
	if w.Body.Len() > 0 {
		t.Errorf("a search that nobody waits for answered %s", w.Body)
	}
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		s.Console.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/search/typed?q=A", nil))
		done <- w.Code
	}()
	<-s.Console.typing
	if code := <-done; code != http.StatusOK {
		t.Errorf("a search that waited: %d", code)
	}
}

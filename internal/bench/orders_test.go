package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

func TestOrderIsWhatTheClientSends(t *testing.T) {
	c := &channel{load: 7, placed: make([]placed, 3), merchants: "http://127.0.0.1:1/paid"}
	var got client.CreateTask
	if err := json.Unmarshal(c.appendOrder(nil, 2), &got); err != nil {
		t.Fatal(err)
	}
	merchant, key := c.key(2)
	if got.Queue != "orders" || got.MerchantNo != "M0838" || got.OrderNo != "000700000002" || got.Notify == nil ||
		got.Notify.URL != c.merchants || merchant != got.MerchantNo || key != "M0838/000700000002" {
		t.Errorf("create = %+v, of merchant %s, key %s; want that of the client", got, merchant, key)
	}
}

// visit gives a request to a channel, as a server would, and returns the answer.
func visit(c *channel, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func query(c *channel, order int) *httptest.ResponseRecorder {
	no := orderNoOf(c.load, order)
	return visit(c, http.MethodGet, "/orders/"+string(no[:]), "")
}

func told(c *channel, order int, state string) {
	no := orderNoOf(c.load, order)
	visit(c, http.MethodPost, "/paid", fmt.Sprintf(`{"merchant_no":"M0001","order_no":"%s","order_state":"%s"}`, no[:], state))
}

func TestChannelAnswers(t *testing.T) {
	c := &channel{load: 7, placed: make([]placed, 2), pays: 2}
	for i, want := range []string{"NOTPAY", "SUCCESS", "SUCCESS"} {
		begun := time.Now()
		var got struct {
			No    string `json:"out_trade_no"`
			State string `json:"trade_state"`
		}
		err := json.Unmarshal(query(c, 1).Body.Bytes(), &got)
		if err != nil || got.No != "000700000001" || got.State != want {
			t.Errorf("query %d: %+v, %v; want %s", i+1, got, err, want)
		}
		if took := time.Since(begun); took < answersIn {
			t.Errorf("query %d was answered after %v; want %v", i+1, took, answersIn)
		}
	}
	c.paid.Store(true)
	if got := query(c, 0).Body.String(); !strings.Contains(got, `"SUCCESS"`) {
		t.Errorf("answer after the payment: %s; want PAID", got)
	}
}

func TestBrokenOrdersAreNoticed(t *testing.T) {
	r := &run{scenario: "test"}
	c := &channel{load: 7, placed: make([]placed, 5), all: make(chan struct{})}
	query(c, 0)
	told(c, 0, "PAID")
	query(c, 1) // no merchant is notified
	query(c, 2)
	told(c, 2, "PAID")
	told(c, 2, "PAID") // notified twice
	c.placed[3].begin(time.Now())
	query(c, 3) // while the other query is not answered
	told(c, 3, "CLOSED")
	told(c, 3, "PAID")
	told(c, 4, "PAID") // notified without a query
	told(c, 5, "PAID") // no such order
	visit(c, http.MethodGet, "/orders/1", "")
	visit(c, http.MethodPost, "/orders/000700000000/close", "")
	visit(c, http.MethodPost, "/paid", `{}`)
	r.checkChannel(c)
	want := []string{
		"test: 1 orders never asked about",
		"test: 1 orders whose end was never told",
		"test: 1 notifications more than one of an order",
		"test: 1 notifications of something else than PAID",
		"test: 1 questions about an order while one was not answered yet",
		"test: 4 requests about no order, or for a close",
	}
	if got := r.report.Failures; !slices.Equal(got, want) {
		t.Errorf("failures = %q; want %q", got, want)
	}
	select {
	case <-c.all:
		t.Error("all orders count as ended, although one merchant was not notified")
	default:
	}
	told(c, 1, "PAID")
	select {
	case <-c.all:
	default:
		t.Error("all merchants were notified, and the run does not end")
	}
}

func TestOnSchedule(t *testing.T) {
	start := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	p := &placed{sent: start, kept: start.Add(3 * time.Millisecond)}
	at := func(ms int) client.Time { return client.Time{Time: start.Add(time.Duration(ms) * time.Millisecond)} }
	log := func(change func(a []client.Attempt)) []client.Attempt {
		a := []client.Attempt{
			{Number: 1, Action: "query", Due: at(1002), Started: at(1010), TookMS: 6},
			{Number: 2, Action: "query", Due: at(2011), Started: at(2011), TookMS: 5},
		}
		change(a)
		return a
	}
	tests := []struct {
		name   string
		change func(a []client.Attempt)
		polls  int
		want   bool
	}{
		{"as it should be", func([]client.Attempt) {}, 2, true},
		{"one is missing", func([]client.Attempt) {}, 3, false},
		{"one too many", func([]client.Attempt) {}, 1, false},
		{"first too soon", func(a []client.Attempt) { a[0].Due = at(998) }, 2, false},
		{"first too late", func(a []client.Attempt) { a[0].Due = at(1006) }, 2, false},
		{"gap too short", func(a []client.Attempt) { a[1].Due = at(2009) }, 2, false},
		{"gap too long", func(a []client.Attempt) { a[1].Due = at(2019) }, 2, false},
		{"same due time", func(a []client.Attempt) { a[1].Due = a[0].Due }, 2, false},
		{"a number is left out", func(a []client.Attempt) { a[1].Number = 3 }, 2, false},
		{"a close", func(a []client.Attempt) { a[1].Action = "close" }, 2, false},
	}
	for _, tt := range tests {
		if got := p.onSchedule(log(tt.change), time.Second, tt.polls); got != tt.want {
			t.Errorf("%s: onSchedule() = %t; want %t", tt.name, got, tt.want)
		}
	}
}

func TestShares(t *testing.T) {
	r := &run{scenario: "test"}
	c := &channel{placed: make([]placed, 100)}
	before := make([]int, len(c.placed))
	for i := range c.placed {
		times := 2 + i%3 // of them one before
		for k := range times {
			c.placed[i].at = append(c.placed[i].at, int64(k)*int64(4*time.Second))
		}
		before[i] = 1
	}
	r.shares(c, before)
	for _, want := range []struct {
		name  string
		value float64
	}{
		{"questions an order, p1", 1},
		{"questions an order, p50", 2},
		{"questions an order, p99", 3},
	} {
		if f, ok := r.report.Figure("test", want.name); !ok || f.Value != want.value {
			t.Errorf("%s = %v, %t; want %v", want.name, f.Value, ok, want.value)
		}
	}
	if f, _ := r.report.Figure("test", "between two questions, p50"); f.Value < 3990 || f.Value > 4010 {
		t.Errorf("time between two queries: %v ms; want 4000", f.Value)
	}
	if f, _ := r.report.Figure("test", "questions an order, p99"); f.Met == nil || *f.Met {
		t.Errorf("with three times as many queries for some orders as for others: %+v; want the goal not met", f)
	}
}

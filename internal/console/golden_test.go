package console

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// unsteady is what differs from run to run.
var unsteady = regexp.MustCompile(`(name="(?:token|once)" value=")[^"]+|(/assets/)[0-9a-f]+`)

// golden compares a page's main part with the one that is kept.
func golden(t *testing.T, name, page string) {
	t.Helper()
	_, page, _ = strings.Cut(page, `<main id="main">`)
	page, _, _ = strings.Cut(page, `</main>`)
	page = unsteady.ReplaceAllString(page, "${1}${2}X")
	lines := strings.Split(page, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			kept = append(kept, l)
		}
	}
	page = strings.Join(kept, "\n") + "\n"
	file := filepath.Join("testdata", "golden", name+".html")
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if page == string(want) {
		return
	}
	old := strings.Split(string(want), "\n")
	for i, l := range strings.Split(page, "\n") {
		if i >= len(old) || old[i] != l {
			t.Errorf("%s, line %d:\n%s\nwant:\n%s\n(go test -update ./internal/console writes it anew: look at what changed)", file, i+1, l, append(old, "")[min(i, len(old))])
			return
		}
	}
	t.Errorf("%s is longer than the page", file)
}

// story fills a store with what people look at.
func (s *site) story(t testing.TB) (notice, placed *bellman.Task) {
	t.Helper()
	notice = s.fake.add(t, &bellman.Task{
		Queue: "pay", Key: "M1001/A-1/paid", MerchantNo: "M1001", OrderNo: "A-1", Event: "payment.succeeded",
		URL: "https://shop:pw@m.example/notify?token=abc", Header: map[string]string{"Content-Type": "application/json", "Authorization": "Bearer x"},
		Body: []byte(`{"order_no":"A-1","amount":990.10,"secret":"s"}`), Schedule: "0s, 15s*2, 30s", Success: "success_text", Timeout: 5 * time.Second,
		Status: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Step: 1, Finished: t0.Add(15*time.Second + 41*time.Millisecond)},
	}, t0,
		bellman.Attempt{Due: t0, Started: t0.Add(2 * time.Millisecond), Took: 41 * time.Millisecond, Result: bellman.Refused, Status: 200, Response: `<b>busy</b>`, Node: "vm/1"},
		bellman.Attempt{Due: t0.Add(15 * time.Second), Started: t0.Add(15 * time.Second), Took: 41 * time.Millisecond, Result: bellman.Accepted, Status: 200, Response: "success", Node: "vm/1"},
	)
	query := bellman.Attempt{Action: "query", Reading: "PENDING", Result: bellman.Accepted, Status: 200, Response: `{"trade_state":"NOTPAY"}`, Took: 20 * time.Millisecond}
	at := func(a bellman.Attempt, s int) bellman.Attempt {
		a.Due = t0.Add(time.Duration(s) * time.Second)
		a.Started = a.Due
		return a
	}
	end := t0.Add(1801 * time.Second)
	asked := order.Ask{Vars: map[string]string{"appid": "wx1"}, Notify: order.Notify{JSON: []byte(`{"shop":"tea"}`)}}
	placed = s.fake.add(t, ordered(t, &bellman.Task{Queue: "orders", Key: "M1001/B-1", MerchantNo: "M1001", OrderNo: "B-1", Event: "order.watch", Schedule: "order_poll",
		Status: bellman.Status{State: bellman.Succeeded, Reason: "closed", Finished: end}}, order.Standing{State: "CLOSED"}, asked), t0.Add(time.Second),
		at(query, 4), at(query, 7), at(query, 1800),
		at(bellman.Attempt{Action: "close", Reading: "closed", Result: bellman.Accepted, Status: 204, Took: time.Second}, 1800))
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "orders/M1001/B-1/decided", MerchantNo: "M1001", OrderNo: "B-1", Event: "order.closed", URL: "http://m.example/n", Schedule: "0s, 1s",
		Status: bellman.Status{State: bellman.Succeeded, Reason: "accepted", Finished: end}}, end,
		bellman.Attempt{Due: end, Started: end, Result: bellman.Accepted, Status: 200, Response: "success"})
	return notice, placed
}

func TestGolden(t *testing.T) {
	s := open(t)
	notice, order := s.story(t)
	for name, path := range map[string]string{
		"task":    "/tasks/" + notice.ID.String(),
		"query":   "/tasks/" + order.ID.String(),
		"tasks":   "/tasks?merchant_no=M1001&status=200",
		"order":   "/orders?merchant_no=M1001&order_no=B-1",
		"search":  "/search?q=A-1",
		"missing": "/tasks/0192f3a4-5b6c-7d8e-9f01-23456789abcd",
	} {
		got := s.get(t, path, "Accept-Language: en")
		if name == "search" { // one task: it is shown at once
			if want := "/tasks/" + notice.ID.String(); got.Header.Get("Location") != want {
				t.Errorf("GET %s leads to %q; want %q", path, got.Header.Get("Location"), want)
			}
			continue
		}
		golden(t, name, got.body)
		golden(t, name+".zh", s.get(t, path, "Accept-Language: zh-CN").body)
	}
}

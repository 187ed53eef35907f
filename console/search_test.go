package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/memory"
)

func TestSearchShowsWhatATextMayMean(t *testing.T) {
	s := open(t)
	s.fake.add(t, &bellman.Task{Queue: "pay", Key: "X", URL: "http://m.example/"}, t0)
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "X", URL: "http://m.example/"}, t0.Add(time.Second))
	got := s.get(t, "/search?q=X")
	for _, want := range []string{"Tasks with this key", "Tasks of this merchant"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := s.get(t, "/search?q="+strings.Repeat("x", 401)); got.StatusCode != http.StatusOK || !strings.Contains(got.body, "Nothing has this") {
		t.Errorf("a text that is too long: %d", got.StatusCode)
	}
	if got := s.get(t, "/search?q="); got.Header.Get("Location") != "/tasks" {
		t.Errorf("no text leads to %q", got.Header.Get("Location"))
	}
}

func TestHostOf(t *testing.T) {
	for text, want := range map[string]string{
		"m.example": "m.example", "m.example:8443": "m.example:8443", "https://m.example/notify?x=1": "m.example",
		"https://u:p@m.example:8443/": "m.example:8443", "127.0.0.1": "127.0.0.1", "localhost:8080": "localhost:8080", "[::1]:80": "[::1]:80",
		"M1001": "", "20261120000001": "", "M1001/A-1": "", "a b": "", "http://": "",
	} {
		if got := hostOf(text); got != want {
			t.Errorf("hostOf(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestReadWish(t *testing.T) {
	w := readWish(url.Values{"merchant_no": {"M1"}, "state": {"failed"}, "status": {"500"}, "kind": {"notify"}, "from": {"2026-11-20T23:00"}, "to": {"2026-11-21"}, "zone": {"Asia/Shanghai"}})
	if len(w.Wrong) > 0 || w.MerchantNo != "M1" || *w.State != bellman.Failed || w.Status != 500 || !w.Picky() ||
		!w.CreatedFrom.Equal(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)) || !w.CreatedTo.Equal(time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", w)
	}
	again, err := url.Parse(w.Address("/tasks"))
	if err != nil {
		t.Fatal(err)
	}
	if back := readWish(again.Query()); back.Address("/tasks") != w.Address("/tasks") {
		t.Errorf("the address %s is read as %s", w.Address("/tasks"), back.Address("/tasks"))
	}
	for name, value := range map[string]string{"state": "done", "status": "99", "kind": "x", "result": "x", "from": "yesterday", "key": strings.Repeat("x", 401)} {
		w := readWish(url.Values{name: {value}})
		if len(w.Wrong) != 1 || w.Wrong[0] != name || !w.Empty() {
			t.Errorf("%s=%.20s is wrong in %v, and left is %v; want it told, and left out", name, value, w.Wrong, w.values)
		}
	}
	for _, zone := range []string{"Asia/Shangai", strings.Repeat("x", 401)} { // what is meant by a time cannot be known
		w := readWish(url.Values{"zone": {zone}, "from": {"2026-11-20T23:00"}, "to": {"2026-11-21T01:00:00Z"}})
		if !slices.Equal(w.Wrong, []string{"zone", "from"}) || !w.CreatedFrom.IsZero() || w.CreatedTo.IsZero() || w.Get("zone") != "" {
			t.Errorf("the zone %.20q: %+v; want it and the time in it told, and left out", zone, w)
		}
	}
}

// A zone that there is not is told by the list, and refused by all that acts on many.
func TestAnUnknownZone(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Resends: &manyResends{}})
	s.fake.add(t, &bellman.Task{Queue: "pay", MerchantNo: "M1", URL: "http://m.example/"}, t0)
	const filter = "?merchant_no=M1&from=2026-11-20T03%3A30&zone=Asia%2FShangai"
	list := s.get(t, "/tasks"+filter).body
	if !strings.Contains(list, "cannot be read: Time zone, Created from") || strings.Contains(list, "/resends/new") {
		t.Errorf("the list does not say that the zone was left out, or offers to resend what was not asked for: %s", list)
	}
	for _, path := range []string{"/tasks.csv", "/resends/new"} {
		if got := s.get(t, path+filter); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Time zone") {
			t.Errorf("%s: %d; want 422, and which field", path, got.StatusCode)
		}
	}
	got := s.post(t, "/tasks", "/resends", "merchant_no", "M1", "from", "2026-11-20T03:30", "zone", "Asia/Shangai", "mode", "once", "rate", "50", "reason", "test")
	if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "Time zone") {
		t.Errorf("the job: %d %s; want 422, and which field", got.StatusCode, got.body)
	}
}

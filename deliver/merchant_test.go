package deliver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
)

// book is a registry of merchants in a map. The merchant with the name lost cannot be read.
type book map[string]Merchant

func (b book) Merchant(_ context.Context, no string) (Merchant, error) {
	if no == "lost" {
		return Merchant{}, errors.New("no connection")
	}
	return b[no], nil
}

// The address of a merchant's task is its own URL, otherwise the merchant's, otherwise the queue's.
// A task without any of them is rejected.
func TestMerchantAddress(t *testing.T) {
	c, err := NewClient(Options{Transport: echo{}})
	if err != nil {
		t.Fatal(err)
	}
	known := book{"M1": {Known: true, URL: "https://m1.example/n", Schedule: "0s, 1h", Timeout: time.Second, Concurrency: 3}, "M2": {Known: true}, "M3": {Known: true, URL: "http://10.0.0.1/"}}
	tests := []struct {
		no, url, home, endpoint string // endpoint: the task's value before Check
		becomes, goes           string
		wrong                   string
	}{
		{no: "M1", becomes: "merchant:M1", goes: "https://m1.example:443"},
		{no: "M1", home: "https://home.example/", becomes: "merchant:M1", goes: "https://m1.example:443"},
		{no: "M1", url: "https://own.example/", becomes: "https://own.example:443"},
		{no: "M2", home: "https://home.example/", becomes: "https://home.example:443"},
		{no: "M2", wrong: "merchant M2 has no notify_url"},
		{no: "none", wrong: "there is no merchant none"},
		{no: "none", endpoint: "merchant:none", becomes: "merchant:none"}, // a caller may have set it on purpose
		{no: "M2", home: "https://home.example/", endpoint: "merchant:M2", becomes: "merchant:M2", goes: "https://home.example:443"},
		{no: "M3", wrong: "10.0.0.1"},
		{no: "lost", wrong: "no connection"},
		{no: "lost", endpoint: "merchant:lost", becomes: "merchant:lost"},
	}
	for _, tt := range tests {
		h, err := c.Handler(Rules{URL: tt.home, Merchants: known})
		if err != nil {
			t.Fatal(err)
		}
		task := &bellman.Task{ID: bellman.NewID(), MerchantNo: tt.no, URL: tt.url, Endpoint: tt.endpoint}
		err = h.Check(task)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%+v: Check() = %v; want an error with the text", tt, err)
			}
			continue
		}
		g, _ := h.Route(t.Context(), task) // for the merchant lost there is no route
		if err != nil || task.Endpoint != tt.becomes || g.Endpoint != tt.goes {
			t.Errorf("%+v: %v; endpoint %q, routed to %q", tt, err, task.Endpoint, g.Endpoint)
		}
		if told := tt.no == "M1" && tt.url == ""; told != (g.URL == "https://m1.example/n") || !told && g.URL != "" {
			t.Errorf("%+v: the route has the URL %q; want the merchant's only if the task has none", tt, g.URL)
		}
		if limited := tt.goes == "https://m1.example:443"; limited != (g.Concurrency == 3) {
			t.Errorf("%+v: the route has %+v; want the merchant's concurrency only at the merchant's address", tt, g)
		}
	}
}

// If a merchant's task cannot be sent, the verdict names the reason and says nothing about the
// endpoint.
func TestMerchantUnsent(t *testing.T) {
	c, err := NewClient(Options{Transport: echo{}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Handler(Rules{Merchants: book{"M1": {Known: true, URL: "https://m1.example/", Unable: errors.New("master key 1a2b3c4d is missing")}}})
	if err != nil {
		t.Fatal(err)
	}
	for no, want := range map[string]string{"M1": "1a2b3c4d", "none": "there is no merchant none", "lost": "no connection"} {
		task := &bellman.Task{ID: bellman.NewID(), MerchantNo: no, Endpoint: bellman.MerchantEndpoint(no), Method: "POST"}
		v := h.Attempt(t.Context(), task, 1)
		if !v.Unsent || v.Next != bellman.Again || v.Result != bellman.Unreachable || !strings.Contains(v.Error, want) {
			t.Errorf("attempt for %s: %+v; want it unsent, because of %q", no, v, want)
		}
	}
}

// Precedence of the success rule: the task's own, then the merchant's, then the default that Check
// filled in.
func TestMerchantRule(t *testing.T) {
	c, err := NewClient(Options{Transport: echo{}}) // echo answers success
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Handler(Rules{Merchants: book{"M1": {Known: true, URL: "https://m1.example/", Success: `body == "thanks"`}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		lent bellman.Inherited
		want bellman.Result
	}{{0, bellman.Accepted}, {bellman.InheritedSchedule, bellman.Accepted}, {bellman.InheritedSuccess, bellman.Refused}} {
		task := &bellman.Task{ID: bellman.NewID(), MerchantNo: "M1", Method: "POST", Success: "success_text", Inherited: tt.lent}
		if v := h.Attempt(t.Context(), task, 1); v.Result != tt.want {
			t.Errorf("inherited %d: %v; want %v", tt.lent, v.Result, tt.want)
		}
	}
}

// answering answers as the path of the task's URL says.
type answering struct{}

func (answering) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.URL.Path {
	case "/hangs":
		<-r.Context().Done()
		return nil, r.Context().Err()
	case "/fails":
		return &http.Response{StatusCode: 500, Body: http.NoBody, Request: r}, nil
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("success")), Request: r}, nil
}

// Every attempt reports whether the merchant accepted it, unless nothing was sent or the attempt
// was cut off.
func TestMerchantAttempted(t *testing.T) {
	c, err := NewClient(Options{Transport: answering{}})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	h, err := c.Handler(Rules{
		Merchants: book{"M1": {Known: true, URL: "https://m1.example/"}, "M2": {Known: true, Unable: errors.New("a master key is missing")}},
		Attempted: func(no string, accepted bool) { told = append(told, fmt.Sprint(no, " ", accepted)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	late, done := context.WithTimeout(t.Context(), time.Nanosecond)
	defer done()
	for _, tt := range []struct {
		ctx      context.Context
		no, path string
		want     string
	}{
		{t.Context(), "M1", "/", "[M1 true]"},
		{t.Context(), "M1", "/fails", "[M1 false]"},
		{late, "M1", "/hangs", "[M1 false]"},
		{cut, "M1", "/hangs", "[]"},
		{t.Context(), "M2", "/", "[]"},
		{t.Context(), "", "/", "[]"},
	} {
		told = nil
		task := &bellman.Task{ID: bellman.NewID(), MerchantNo: tt.no, URL: "https://m1.example" + tt.path, Method: "POST"}
		h.Attempt(tt.ctx, task, 1)
		if got := fmt.Sprint(told); got != tt.want {
			t.Errorf("an attempt of %q at %s reported %s; want %s", tt.no, tt.path, got, tt.want)
		}
	}
}

// Two addresses are the same if their requests go to the same place. The query and the spelling of
// host and port do not count.
func TestSameAddress(t *testing.T) {
	const registered = "https://merchant.example/notify"
	for other, want := range map[string]bool{
		registered: true,
		"HTTPS://Merchant.Example:443/notify?id=7": true,
		"http://merchant.example/notify":           false,
		"https://merchant.example:8443/notify":     false,
		"https://merchant.example/notify/":         false,
		"https://merchant.example/notify/../x":     false,
		"https://merchant.example/Notify":          false,
		"https://merchant.example/n%6Ftify":        false,
		"https://merchant.example.evil/notify":     false,
		"https://evil.example/notify":              false,
		"https://evil@merchant.example/notify":     false,
		"amqp://merchant.example/notify":           false,
		"":                                         false,
	} {
		if got := SameAddress(registered, other); got != want {
			t.Errorf("SameAddress(%s, %s) = %t; want %t", registered, other, got, want)
		}
		if got := SameAddress(other, registered); got != want {
			t.Errorf("SameAddress(%s, %s) = %t; want %t", other, registered, got, want)
		}
	}
	if !SameAddress("https://merchant.example", "https://merchant.example/?a=b") {
		t.Error("an empty path and / are different addresses; want the same")
	}
	if SameAddress("", "") {
		t.Error("two texts that are not addresses are the same; want false")
	}
}

package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// Only endpoints that tasks can have are paused and resumed, also those that no task has had yet.
// The error for any other name says what would be right.
func TestOnlyEndpointsArePaused(t *testing.T) {
	t.Parallel()
	merchant := openNotified(t, "success")
	api, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		with, err := config.Parse(fmt.Appendf(nil, `
connections: {main: {url: "amqp://127.0.0.1:1/"}, Bus: {url: "nats://127.0.0.1:1"}}
queues:
  default: {}
  orders: {kind: order, query: {method: GET, url: "%[1]s/{order_no}"}, close: {method: POST, url: "%[1]s/{order_no}/close"}, states: wechat_v3, close_states: wechat_v3, on_exhausted: alert}
`, merchant.URL))
		if err != nil {
			t.Fatal(err)
		}
		c.Queues, c.Connections = with.Queues, with.Connections
	})
	defer stop()
	why := client.Because{Reason: "asked to"}
	paused := func() (names []string) {
		t.Helper()
		all, err := api.Endpoints(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all.Endpoints {
			if e.Paused != nil {
				names = append(names, e.Endpoint)
			}
		}
		return names
	}
	for name, want := range map[string][]string{
		"https://new.example":        {"https://new.example:443"},
		"http://NEW.example.:8080":   {"http://new.example:8080"},
		"http://[::1]:80":            {"http://[::1]:80"},
		"amqp://main":                {"amqp://main"},
		"nats://bus":                 {"nats://bus"},
		"host.example":               {"http://host.example:80", "https://host.example:443"},
		merchant.URL:                 {merchant.URL},
		"https://xn--fiqs8s.example": {"https://xn--fiqs8s.example:443"},
	} {
		if _, err := api.PauseEndpoint(t.Context(), name, why); err != nil {
			t.Errorf("pause %s: %v", name, err)
		}
		if got := paused(); !slices.Equal(got, want) {
			t.Errorf("pause %s: %q are paused; want %q", name, got, want)
		}
		if _, err := api.ResumeEndpoint(t.Context(), name, why); err != nil || len(paused()) > 0 {
			t.Errorf("resume %s: %v, and %q are paused", name, err, paused())
		}
	}
	for name, want := range map[string]string{
		"banana!":                 "https://merchant.example:443",
		"foo://bar":               "such as https://merchant.example:443, amqp://CONNECTION, nats://CONNECTION",
		"https://a.example:0":     "such as https://merchant.example:443",
		"https://a.example:99999": "such as https://merchant.example:443",
		"a..b":                    "such as https://merchant.example:443",
		"https://1.2.3":           "such as https://merchant.example:443",
		"amqp://mian":             "want one of nats://bus, amqp://main",
		"nats://main":             "want one of nats://bus, amqp://main",
		"default":                 "pause the queue",
		strings.Repeat("a", 300):  "such as https://merchant.example:443",
	} {
		for what, do := range map[string]func() ([]string, error){
			"pause":  func() ([]string, error) { return api.PauseEndpoint(t.Context(), name, why) },
			"resume": func() ([]string, error) { return api.ResumeEndpoint(t.Context(), name, why) },
		} {
			names, err := do()
			if p, is := errors.AsType[*client.Problem](err); !is || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Location != "path.host" || !strings.Contains(p.Errors[0].Message, want) {
				t.Errorf("%s %q: %q, %v; want path.host refused with %q", what, name, names, err, want)
			}
		}
	}

	// A queue that is an endpoint is paused as what it is.
	if _, err := api.PauseEndpoint(t.Context(), "orders", why); err != nil {
		t.Fatal(err)
	}
	queues, err := api.Queues(t.Context())
	if err != nil || len(queues.Queues) != 2 || queues.Queues[1].Paused == nil {
		t.Errorf("the queue whose endpoint was paused: %+v, %v; want it paused", queues, err)
	}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "A1"})
	passes(t, "seen as paused", func() bool { return slices.Equal(paused(), []string{"orders"}) })
	if _, err := api.ResumeEndpoint(t.Context(), "orders", why); err != nil || len(paused()) > 0 {
		t.Errorf("resume the queue as an endpoint: %v, and %q are paused", err, paused())
	}

	// An older version paused a queue under a name by which nothing was held up.
	if err := s.Engine().PauseEndpoint(t.Context(), "default", bellman.By{Reason: "of an older version"}); err != nil || len(paused()) > 0 {
		t.Errorf("a pause that holds nothing up: %v, and %q are shown as paused", err, paused())
	}

	// What was paused under a name that is none can be resumed.
	if err := s.Engine().PauseEndpoint(t.Context(), "old name", bellman.By{Reason: "of an older version"}); err != nil {
		t.Fatal(err)
	}
	if names, err := api.ResumeEndpoint(t.Context(), "old name", why); err != nil || len(paused()) > 0 {
		t.Errorf("resume what an older version paused: %q, %v, and %q are paused", names, err, paused())
	}
}

package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// A chat is where alarms are told.
type chat struct {
	*httptest.Server
	mu     sync.Mutex
	events []string // "began NAME", "ended NAME reason"
}

func newChat(t *testing.T) *chat {
	c := &chat{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e struct {
			Type string
			Data struct{ Name, Reason string }
		}
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		c.events = append(c.events, strings.TrimSpace(strings.TrimPrefix(e.Type, "bellman.alarm.")+" "+e.Data.Name+" "+e.Data.Reason))
		c.mu.Unlock()
		io.WriteString(w, "success")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *chat) told() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// alarming makes a queue that lets one task an hour out, and a rule that tells of it.
func alarming(c *config.Config, merchant, chat string) {
	pay, ops := config.DefaultQueue("pay"), config.DefaultQueue("ops")
	pay.Rate, pay.URL = 1.0/3600, merchant
	ops.URL = chat
	c.Queues = []config.Queue{pay, ops}
	c.Alarms = []config.Alarm{{Name: "late", When: "overdue", Queue: "pay", Above: 0.2, To: "ops"}}
}

// serveAlarms runs a server that evaluates alarms often. It returns a client and a function that
// stops the server.
func serveAlarms(t *testing.T, store, node string, every time.Duration, change func(*config.Config)) (*client.Client, *server.Server, func()) {
	t.Helper()
	return serveWith(t, server.Options{AlarmEvery: every}, func(c *config.Config) {
		c.Store, c.Node = store, node
		change(c)
	})
}

// raised is how many alarms are raised, as a server says.
func raised(t *testing.T, api *client.Client) (n int) {
	t.Helper()
	all, err := api.Alarms(t.Context())
	if err != nil {
		return -1 // not ready yet
	}
	for _, a := range all.Alarms {
		if a.Until == nil {
			n++
		}
	}
	return n
}

// A queue with overdue tasks is reported once, over restarts, and once when they are no longer
// overdue.
func TestAlarms(t *testing.T) {
	merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "success") }))
	defer merchant.Close()
	chat := newChat(t)
	dir := "pebble:" + t.TempDir()
	change := func(c *config.Config) { alarming(c, merchant.URL, chat.URL) }
	const every = 50 * time.Millisecond
	api, s, stop := serveAlarms(t, dir, "n", every, change)
	// In one batch: of single ones each may be sent, late, before the next one is created.
	late := func(n int) {
		t.Helper()
		results, err := api.CreateBatch(t.Context(), slices.Repeat([]client.CreateTask{{Queue: "pay"}}, n))
		if err != nil || results[0].Task == nil {
			t.Fatalf("%+v, %v", results, err)
		}
	}
	late(5)
	passes(t, "told", func() bool { return len(chat.told()) > 0 })
	if n := figure(t, s.Addr(), `bellman_alarm_raised{name="late"}`); n != 1 || raised(t, api) != 1 {
		t.Errorf("bellman_alarm_raised is %v, and %d are listed; want 1", n, raised(t, api))
	}
	stop()
	api, s, _ = serveAlarms(t, dir, "n", every, change)
	passes(t, "ready", func() bool { return raised(t, api) == 1 })
	reload := func(s *server.Server, rate float64, rules bool) {
		t.Helper()
		c := config.Default()
		change(c)
		c.Queues[0].Rate = rate
		if !rules {
			c.Alarms = nil
		}
		if err := s.Reload(c); err != nil {
			t.Fatal(err)
		}
	}
	reload(s, 1000, true)
	passes(t, "told that it is over", func() bool { return len(chat.told()) > 1 && raised(t, api) == 0 })
	if n := figure(t, s.Addr(), `bellman_alarm_raised{name="late"}`); n != 0 {
		t.Errorf("bellman_alarm_raised is %v; want 0", n)
	}
	// Another one, whose rule is taken away while the server runs.
	reload(s, 1.0/3600, true)
	late(2)
	passes(t, "raised again", func() bool { return len(chat.told()) > 2 })
	reload(s, 1.0/3600, false)
	passes(t, "ended with its rule", func() bool { return len(chat.told()) > 3 })
	if got, want := chat.told(), []string{"began late", "ended late over", "began late", "ended late rule_removed"}; !slices.Equal(got, want) {
		t.Errorf("told %q; want %q", got, want)
	}
}

// Of two nodes one tells, also when it stops and the other goes on.
func TestAlarmsOfTwoNodes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		release := make(chan struct{})
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			select {
			case <-release:
				io.WriteString(w, "success")
			case <-r.Context().Done():
			}
		}))
		defer merchant.Close()
		chat := newChat(t)
		change := func(c *config.Config) {
			alarming(c, merchant.URL, chat.URL)
			c.StopTimeout = time.Second
			c.Queues[0].Rate, c.Queues[0].Concurrency, c.Queues[0].Timeout = 0, 1, 5*time.Minute
		}
		const every = 200 * time.Millisecond
		apis, stops := map[string]*client.Client{}, map[string]func(){}
		for _, node := range []string{"a", "b"} {
			apis[node], _, stops[node] = serveAlarms(t, d.URL, node, every, change)
		}
		var leader string
		passes(t, "shared", func() bool {
			nodes, err := apis["a"].Nodes(t.Context())
			if err != nil {
				return false
			}
			sharing := 0
			leader = ""
			for _, n := range nodes.Nodes {
				if n.Alive && len(n.Shards) > 0 {
					sharing++
				}
				if len(n.Shards) > 0 && n.Shards[0].Shard == 0 {
					leader = map[bool]string{true: "a", false: "b"}[n.Self]
				}
			}
			return sharing == 2 && leader != "" // between two owners shard 0 has none
		})
		other := map[string]string{"a": "b", "b": "a"}[leader]
		for range 5 {
			create(t, apis[other], client.CreateTask{Queue: "pay"})
		}
		passes(t, "told", func() bool { return len(chat.told()) > 0 })
		passes(t, "known to both", func() bool { return raised(t, apis["a"]) == 1 && raised(t, apis["b"]) == 1 })
		stops[leader]()
		close(release)
		passes(t, "told that it is over by the other", func() bool { return len(chat.told()) > 1 && raised(t, apis[other]) == 0 })
		stops[other]()
		if got, want := chat.told(), []string{"began late", "ended late over"}; !slices.Equal(got, want) {
			t.Errorf("told %q; want %q", got, want)
		}
	})
}

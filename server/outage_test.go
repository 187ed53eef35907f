package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// The database goes away while the server runs, and comes back. Meanwhile readiness says why, and
// nothing is accepted that could not be kept. Afterwards everything continues by itself.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		var mu sync.Mutex
		arrived := map[string]int{}
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			arrived[r.URL.Path]++
			io.WriteString(w, "success")
		}))
		defer merchant.Close()
		times := func(path string) int {
			mu.Lock()
			defer mu.Unlock()
			return arrived[path]
		}
		way, url := lineTo(t, d)
		api, s, stop := serve(t, "", func(c *config.Config) { c.Store = url })
		defer stop()
		get := func(path string) (int, string) {
			t.Helper()
			return fetch(t, "http://"+s.Addr()+path)
		}
		passes(t, "ready", func() bool { status, _ := get("/readyz"); return status == 200 })
		first := create(t, api, client.CreateTask{Queue: "default", URL: merchant.URL + "/first"})
		until(t, api, first.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
		later := create(t, api, client.CreateTask{Queue: "default", URL: merchant.URL + "/later", Delay: "1s"})

		way.cut(true)
		passes(t, "not ready, for the database's sake", func() bool {
			status, why := get("/readyz")
			if strings.Contains(why, "127.0.0.1") {
				t.Errorf("readyz says %s; want no address", why)
			}
			return status == 503 && strings.Contains(why, "the database cannot be reached")
		})
		if status, body := get("/healthz"); status != 200 {
			t.Errorf("healthz: %d %s; want 200", status, body)
		}
		_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "default", Key: "refused", URL: merchant.URL + "/refused"})
		if client.StatusOf(err) != 503 || !strings.Contains(err.Error(), "the database cannot be reached") && !strings.Contains(err.Error(), "did not say whether") {
			t.Errorf("create without a database: %v; want 503 that says so", err)
		}
		_, err = api.Task(t.Context(), client.ByID(later.ID))
		if client.StatusOf(err) != 503 {
			t.Errorf("read without a database: %v; want 503", err)
		}
		way.cut(false)
		back := time.Now()
		passes(t, "ready again", func() bool { status, _ := get("/readyz"); return status == 200 })
		until(t, api, later.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
		again := create(t, api, client.CreateTask{Queue: "default", Key: "refused", URL: merchant.URL + "/refused"})
		until(t, api, again.ID, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
		for _, name := range []string{"bellman_store_transactions_total", "bellman_store_broken_connections_total", "bellman_store_connections"} {
			if n := figure(t, s.Addr(), name); n < 1 {
				t.Errorf("%s is %v; want some", name, n)
			}
		}
		for _, path := range []string{"/first", "/later", "/refused"} {
			most := 1
			if path == "/later" && back.After(later.Due.Time) {
				most = 2 // it may have been sent meanwhile by a node that lost its leases before it could record that
			}
			if n := times(path); n < 1 || n > most {
				t.Errorf("%s arrived %d times; want once", path, n)
			}
		}
	})
}

// A database that says nothing any more does not keep the metrics back: who scrapes them
// learns that the server lives and does not fire. Each question to the store waits for 2 s, all
// together for almost the usual 10 s of a scraper, so the test allows more.
func TestMetricsWhileTheDatabaseHangs(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		t.Parallel()
		way, url := lineTo(t, d)
		api, s, stop := serve(t, "", func(c *config.Config) { c.Store = url })
		defer stop()
		passes(t, "ready", func() bool { return api.Ready(t.Context()) == nil })
		healthy := time.Now()
		before := figure(t, s.Addr(), "bellman_heartbeat_timestamp_seconds")
		within := 30*time.Second + 20*time.Since(healthy) // on a machine as busy as this one
		way.still.Lock()
		defer way.still.Unlock()
		resp, err := (&http.Client{Timeout: within}).Get("http://" + s.Addr() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || before == 0 || !strings.Contains(string(text), "bellman_heartbeat_timestamp_seconds ") {
			t.Errorf("the metrics of a server whose database hangs: %s, %v; want when it last fired", text, err)
		}
	})
}

// The database is away for longer than a registration lasts, so the other nodes take this node for
// dead. It starts no attempts meanwhile, joins again, and loses nothing.
func TestDatabaseGoesAwayForLong(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		var arrived atomic.Int64
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			io.WriteString(w, "success")
		}))
		defer merchant.Close()
		way, url := lineTo(t, d)
		api, _, stop := serve(t, "", func(c *config.Config) { c.Store = url })
		defer stop()
		passes(t, "ready", func() bool { return api.Ready(t.Context()) == nil })
		before, err := api.Nodes(t.Context())
		if err != nil || len(before.Nodes) != 1 || len(before.Unowned) != 0 {
			t.Fatalf("nodes %+v, %v; want one that has all shards", before, err)
		}
		var ids []string
		var due []time.Time
		for _, delay := range []time.Duration{2 * time.Second, 7 * time.Second, 9 * time.Second} {
			due = append(due, time.Now().Add(delay))
			ids = append(ids, create(t, api, client.CreateTask{Queue: "default", URL: merchant.URL, Delay: delay.String()}).ID)
		}
		way.cut(true)
		cut := time.Now()
		var soon int64 // due in the first seconds: one task, unless this machine is slow
		for _, at := range due {
			if at.Before(cut.Add(4 * time.Second)) {
				soon++
			}
		}
		passes(t, "expired", func() bool { return time.Since(cut) > 8*time.Second })
		if n := arrived.Load(); n > soon {
			t.Errorf("%d attempts were begun while the node could not know whether the shards were its own; want %d of the first seconds at most", n, soon)
		}
		way.cut(false)
		passes(t, "ready", func() bool { return api.Ready(t.Context()) == nil })
		for _, id := range ids {
			until(t, api, id, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
		}
		passes(t, "again the owner of all, under a new name", func() bool {
			after, err := api.Nodes(t.Context())
			if err != nil || len(after.Unowned) > 0 {
				return false
			}
			for _, n := range after.Nodes {
				if n.Self {
					return n.Name != before.Nodes[0].Name && len(n.Shards) == 64
				}
			}
			return false
		})
		if n := arrived.Load(); n < 3 || n > 3+soon { // those of the first seconds lost their leases before they were recorded
			t.Errorf("%d attempts of 3 tasks arrived", n)
		}
	})
}

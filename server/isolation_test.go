package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// An endpoint that hangs, with thousands of due tasks, does not delay those of another endpoint of
// the same queue: neither those that are added meanwhile, nor those that are behind them on disk
// after a restart.
func TestHangingEndpointHoldsNobody(t *testing.T) {
	const many, few = 10_000 / server.Fewer, 500 / server.Fewer
	var hung atomic.Int32
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hung.Add(1)
		hang(w, r)
	}))
	defer hanging.Close()
	arrived := make(chan string, 4*few)
	quick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("Bellman-Task")
		io.WriteString(w, "success")
	}))
	defer quick.Close()

	dir := t.TempDir()
	start := func() (*client.Client, func()) {
		api, _, stop := serve(t, dir, func(c *config.Config) { c.StopTimeout = 50 * time.Millisecond })
		return api, stop
	}
	fill := func(api *client.Client, n int, url, delay string) map[string]bool {
		ids := map[string]bool{}
		for len(ids) < n {
			tasks := make([]client.CreateTask, min(n-len(ids), 1000))
			for i := range tasks {
				tasks[i] = client.CreateTask{Queue: "default", URL: url, Delay: delay, Timeout: "10m"}
			}
			results, err := api.CreateBatch(t.Context(), tasks)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Task == nil {
					t.Fatalf("create: %+v", r.Error)
				}
				ids[r.Task.ID] = true
			}
		}
		return ids
	}
	arrive := func(when string, want map[string]bool) {
		for len(want) > 0 {
			select {
			case id := <-arrived:
				delete(want, id)
			case <-time.After(patient):
				t.Fatalf("%s: %d of %d tasks have not arrived", when, len(want), few)
			}
		}
		if n := hung.Load(); n > 100 {
			t.Errorf("%s: when all the quick ones had arrived, %d hanging attempts had begun; want at most 100, and the rest waiting", when, n)
		}
	}

	api, stop := start()
	fill(api, many, hanging.URL, "")
	passes(t, "the hanging endpoint has a request", func() bool { return hung.Load() > 0 })
	arrive("beside", fill(api, few, quick.URL, ""))
	behind := fill(api, few, quick.URL, "2s")
	stop()
	hung.Store(0)
	_, stop = start()
	defer stop()
	arrive("after a restart", behind)
}

package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

// A change made at one node is used by the other's attempts soon; no node has to be told.
func TestMerchantOnTwoNodes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		first, second := openNotified(t, "no"), openNotified(t, "no")
		open := func(node string) *client.Client {
			api, _, _ := serve(t, t.TempDir(), func(c *config.Config) { c.Store, c.Node = d.URL, node })
			return api
		}
		a, b := open("a"), open("b")
		put(t, a, "M1", client.PutMerchant{NotifyURL: first.URL, Schedule: "0s, 1h*100"})
		var tasks []string
		for i := range 40 { // some on each node
			api := []*client.Client{a, b}[i%2]
			task := create(t, api, client.CreateTask{Queue: "default", MerchantNo: "M1"})
			until(t, a, task.ID, attempted(1))
			tasks = append(tasks, task.ID)
		}
		if _, _, n := first.last(); n < len(tasks) {
			t.Fatalf("%d requests, want %d", n, len(tasks))
		}
		put(t, b, "M1", client.PutMerchant{NotifyURL: second.URL})
		changed := time.Now()
		for _, id := range tasks {
			_, _, had := second.last()
			for n := 2; ; n++ {
				again(t, a, id, n)
				if _, _, has := second.last(); has > had {
					break
				}
				if took := time.Since(changed); took > patient {
					t.Fatalf("%v after the change an attempt goes to the former address", took)
				}
			}
		}
	})
}

// A merchant's limits hold for all nodes together: no more at once, and no more a second,
// wherever its tasks come in.
func TestMerchantLimitsOnTwoNodes(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		var started []time.Time
		var hold chan struct{}
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			mu.Lock()
			now[r.URL.Path]++
			most[r.URL.Path] = max(most[r.URL.Path], now[r.URL.Path])
			if r.URL.Path == "/paced" {
				started = append(started, time.Now())
			}
			let := hold
			mu.Unlock()
			if r.URL.Path == "/few" {
				select {
				case <-let:
				case <-r.Context().Done():
				}
			}
			mu.Lock()
			now[r.URL.Path]--
			mu.Unlock()
			io.WriteString(w, "success")
		}))
		t.Cleanup(merchant.Close)
		open := func(node string) *client.Client {
			api, _, _ := serve(t, t.TempDir(), func(c *config.Config) { c.Store, c.Node = d.URL, node })
			return api
		}
		nodes := []*client.Client{open("a"), open("b")}
		passes(t, "two nodes share the shards", func() bool {
			all, err := nodes[0].Nodes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(all.Nodes) == 2 && len(all.Nodes[0].Shards) > 0 && len(all.Nodes[1].Shards) > 0
		})
		const few, rate, tasks = 2, 20, 40
		put(t, nodes[0], "FEW", client.PutMerchant{NotifyURL: merchant.URL + "/few", PerEndpoint: &client.MerchantLimits{Concurrency: few}})
		for end, before := time.Now().Add(patient), leases(t, nodes[0]); ; {
			let := make(chan struct{})
			mu.Lock()
			hold, most["/few"] = let, 0
			mu.Unlock()
			var waits []string
			for i := range tasks {
				waits = append(waits, create(t, nodes[i%2], client.CreateTask{Queue: "default", MerchantNo: "FEW", Timeout: "5m"}).ID)
			}
			passes(t, "the limit is reached", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return now["/few"] >= few
			})
			close(let)
			for _, id := range waits {
				until(t, nodes[0], id, attempted(1))
			}
			mu.Lock()
			n := most["/few"]
			mu.Unlock()
			if n == few {
				break
			}
			// A shard that moves takes its part of the limit along at once, and its attempts in
			// flight later.
			after := leases(t, nodes[0])
			if slices.Equal(before, after) || time.Now().After(end) {
				t.Fatalf("%d attempts were in flight at once, want %d", n, few)
			}
			before = after
		}

		// The address of the other merchant is the same endpoint: it comes after the first.
		put(t, nodes[1], "FEW", client.PutMerchant{NotifyURL: merchant.URL + "/few"})
		put(t, nodes[1], "PACED", client.PutMerchant{NotifyURL: merchant.URL + "/paced", PerEndpoint: &client.MerchantLimits{Rate: fmt.Sprintf("%d/s", rate)}})
		var paced []string
		began := time.Now() // and not the first arrival, which may be delayed
		for i := range tasks {
			paced = append(paced, create(t, nodes[i%2], client.CreateTask{Queue: "default", MerchantNo: "PACED"}).ID)
		}
		for _, id := range paced {
			until(t, nodes[0], id, attempted(1))
		}
		mu.Lock()
		defer mu.Unlock()
		if len(started) != tasks {
			t.Fatalf("%d requests for %d tasks", len(started), tasks)
		}
		const spread = 5 // that may go at once when there was nothing for a while
		if took, least := started[tasks-1].Sub(began), time.Duration(tasks-spread)*time.Second/rate; took < least {
			t.Errorf("%d attempts within %v, want at least %v at %d a second", tasks, took, least, rate)
		}
	})
}

// leases returns all shards with their epochs, as a node says.
func leases(t *testing.T, api *client.Client) (all []client.Shard) {
	t.Helper()
	nodes, err := api.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes.Nodes {
		all = append(all, n.Shards...)
	}
	slices.SortFunc(all, func(a, b client.Shard) int { return a.Shard - b.Shard })
	return all
}

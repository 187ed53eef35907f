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

// Two servers whose advertise is wrong, so that no hint arrives: of tasks that wait in line
// at one and are cancelled at the other, none is sent more than two seconds after that was
// answered.
func TestCancelledWhereNoHintArrives(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		const takes = 300 * time.Millisecond
		var arrived atomic.Int64
		gate := make(chan struct{}) // all attempts but the first wait here while the tasks are cancelled, however long that takes
		pass := sync.OnceFunc(func() { close(gate) })
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if arrived.Add(1) > 1 {
				select {
				case <-gate:
				case <-r.Context().Done():
					return
				}
			}
			answer := time.NewTimer(takes)
			defer answer.Stop()
			<-answer.C
			io.WriteString(w, "success")
		}))
		defer merchant.Close()
		defer pass()
		unreachable := func(c *config.Config) {
			c.Advertise = "127.0.0.1:1"
			c.Queues[0].Concurrency, c.Queues[0].Timeout = 1, patient
		}
		a, b := serveNode(t, d.URL, "a", unreachable), serveNode(t, d.URL, "b", unreachable)
		passes(t, "shared", func() bool {
			nodes, err := a.Nodes(t.Context())
			return err == nil && len(nodes.Nodes) == 2 && len(nodes.Nodes[0].Shards) > 0 && len(nodes.Nodes[1].Shards) > 0
		})
		add := func(api *client.Client) string {
			return create(t, api, client.CreateTask{Queue: "default", URL: merchant.URL}).ID
		}
		attempts := func(id string) []client.Attempt {
			log, err := a.AttemptsAfter(t.Context(), client.ByID(id), 0)
			if err != nil {
				t.Fatal(err)
			}
			return log
		}
		first := add(a)
		passes(t, "attempted", func() bool { return len(attempts(first)) > 0 })
		owner, other := a, b // the limit of one attempt belongs to one node
		if strings.HasPrefix(attempts(first)[0].Node, "b/") {
			owner, other = b, a
		}
		var ids []string
		for range 20 {
			ids = append(ids, add(owner))
		}
		passes(t, "begun", func() bool { return arrived.Load() > 1 })
		answered, began := make(map[string]time.Time), time.Now()
		for _, id := range ids {
			if _, err := other.Cancel(t.Context(), client.ByID(id), client.Because{}); err == nil {
				answered[id] = time.Now()
			}
		}
		most := 2*time.Second + time.Since(began) // between the last check and the start a busy machine may pause
		pass()
		last := add(owner) // behind all of them
		passes(t, "attempted", func() bool { return len(attempts(last)) > 0 })
		if len(answered) < 10 {
			t.Errorf("%d tasks were cancelled in line; want most of %d", len(answered), len(ids))
		}
		for id, at := range answered {
			for _, sent := range attempts(id) {
				if after := sent.Started.Sub(at); after > most {
					t.Errorf("a task was sent %v after it was cancelled", after)
				}
			}
		}
	})
}

package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// Two servers whose advertise is wrong, so that no hint arrives: of tasks that wait in line
// at one and are cancelled at the other, none is sent more than two seconds after that was
// answered.
func TestCancelledWhereNoHintArrives(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		const takes = 300 * time.Millisecond
		var arrived atomic.Int64
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			answer := time.NewTimer(takes)
			defer answer.Stop()
			<-answer.C
			io.WriteString(w, "success")
		}))
		defer merchant.Close()
		open := func(node string) *client.Client {
			c := config.Default()
			c.Listen, c.Store, c.Node, c.Advertise = "127.0.0.1:0", d.url, node, "127.0.0.1:1"
			c.Queues[0].Concurrency = 1
			c.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
			s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			t.Cleanup(func() {
				cancel()
				if err := <-ended; err != nil {
					t.Errorf("%s: %v", node, err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("%s: %v", node, err)
				}
			})
			api, err := client.New(client.Options{Server: "http://" + s.Addr()})
			if err != nil {
				t.Fatal(err)
			}
			return api
		}
		a, b := open("a"), open("b")
		eventually(t, "shared", func() bool {
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
		eventually(t, "attempted", func() bool { return len(attempts(first)) > 0 })
		owner, other := a, b // the limit of one attempt belongs to one node
		if strings.HasPrefix(attempts(first)[0].Node, "b/") {
			owner, other = b, a
		}
		var ids []string
		for range 20 {
			ids = append(ids, add(owner))
		}
		eventually(t, "begun", func() bool { return arrived.Load() > 1 })
		answered := make(map[string]time.Time)
		for _, id := range ids {
			if _, err := other.Cancel(t.Context(), client.ByID(id), client.Because{}); err == nil {
				answered[id] = time.Now()
			}
		}
		last := add(owner) // behind all of them
		passesSlowly(t, "attempted", takes/3, func() bool { return len(attempts(last)) > 0 })
		if len(answered) < 10 {
			t.Errorf("%d tasks were cancelled in line; want most of %d", len(answered), len(ids))
		}
		for id, at := range answered {
			for _, sent := range attempts(id) {
				if after := sent.Started.Sub(at); after > 2*time.Second {
					t.Errorf("a task was sent %v after it was cancelled", after)
				}
			}
		}
	})
}

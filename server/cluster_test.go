package server_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/server"
)

// refusedHints is a log that counts the hints that the other node refused. A hint that takes longer
// than a second may come after a newer one, and is refused too. It does not count: its sender has
// stopped waiting for the answer.
type refusedHints struct{ n atomic.Int64 }

func (l *refusedHints) Enabled(context.Context, slog.Level) bool { return true }
func (l *refusedHints) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *refusedHints) WithGroup(string) slog.Handler            { return l }

func (l *refusedHints) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "a hint was rejected" {
		return nil
	}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" && strings.Contains(a.Value.String(), "answered with 401") {
			l.n.Add(1)
		}
		return true
	})
	return nil
}

// Two servers on one database share its shards, and each lists both. One knows the tasks that the
// other accepted, and a due task is attempted once. When one stops, the other has all shards.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		var arrived atomic.Int64
		merchant := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			io.WriteString(w, "success")
		}))
		defer merchant.Close()
		log := new(refusedHints)
		var addrs []string
		open := func(node string) (*client.Client, func()) {
			api, s, stop := serveWith(t, server.Options{Logger: slog.New(log)}, func(c *config.Config) { c.Store, c.Node = d.URL, node })
			addrs = append(addrs, s.Addr())
			return api, stop
		}
		a, stopA := open("a")
		b, stopB := open("b")
		shards := func(api *client.Client) (each []int, self string) {
			nodes, err := api.Nodes(t.Context())
			if err != nil {
				return nil, "" // not ready yet
			}
			for _, n := range nodes.Nodes {
				if n.Alive {
					each = append(each, len(n.Shards))
				}
				if n.Self {
					self = n.Name
				}
			}
			return each, self
		}
		passes(t, "shared", func() bool {
			each, _ := shards(a)
			return len(each) == 2 && each[0] > 0 && each[1] > 0 && each[0]+each[1] == 64
		})
		_, ofA := shards(a)
		_, ofB := shards(b)
		if ofA == "" || ofB == "" || ofA == ofB {
			t.Errorf("a says that it is %q, b that it is %q", ofA, ofB)
		}
		const tasks = 40
		began := time.Now()
		var ids []string
		for i := range tasks {
			api := []*client.Client{a, b}[i%2]
			ids = append(ids, create(t, api, client.CreateTask{Queue: "default", URL: merchant.URL}).ID)
		}
		for i, id := range ids {
			until(t, []*client.Client{b, a}[i%2], id, func(d *client.TaskDetail) bool { return d.State == "succeeded" })
		}
		// A node that could not renew its leases for 2.7 s joins again under another name, and some
		// attempts are repeated.
		_, nowA := shards(a)
		_, nowB := shards(b)
		kept := nowA == ofA && nowB == ofB
		if n := arrived.Load(); n < tasks || n > tasks && kept {
			t.Errorf("%d attempts of %d tasks arrived", n, tasks)
		}
		for _, addr := range addrs {
			passes(t, "told anything by the other", func() bool { return figure(t, addr, "bellman_hints_received_total") > 0 })
		}
		if n := log.n.Load(); n != 0 {
			t.Errorf("%d hints were refused", n)
		}
		for node, api := range map[string]*client.Client{"a": a, "b": b} {
			// What the other node does not answer within 300 ms is left out.
			var stats *client.Stats
			var err error
			if !eventually.Within(patient, func() bool {
				stats, err = api.Stats(t.Context(), time.Hour)
				return err == nil && stats.Nodes == 2 && len(stats.Silent) == 0 && stats.Counts.Succeeded == tasks && (stats.Lateness.Count == tasks || !kept)
			}) {
				t.Errorf("%s says %+v, %v; want what both nodes did", node, stats, err)
			}
			var queues *client.Queues
			if !eventually.Within(patient, func() bool {
				if queues, err = api.Queues(t.Context()); err != nil || queues.Nodes != 2 {
					return false
				}
				n := queues.Queues[0].LastMinute.Succeeded
				return n == tasks || n < tasks && time.Since(began) > 50*time.Second
			}) {
				t.Errorf("%s says %+v, %v; want what both nodes did", node, queues, err)
			}
			var names []string
			if !eventually.Within(patient, func() bool {
				names, err = api.PauseEndpoint(t.Context(), strings.TrimPrefix(merchant.URL, "http://"), client.Because{})
				return err == nil && slices.Equal(names, []string{merchant.URL})
			}) {
				t.Errorf("%s paused %v, %v; want %s", node, names, err, merchant.URL)
			}
			if names, err = api.PauseEndpoint(t.Context(), "new.example", client.Because{}); err != nil || len(names) != 2 {
				t.Errorf("%s paused %v, %v; want a host that nothing was sent to", node, names, err)
			}
		}
		stopA()
		passes(t, "b's alone", func() bool {
			each, _ := shards(b)
			return len(each) == 1 && each[0] == 64
		})
		stopB()
	})
}

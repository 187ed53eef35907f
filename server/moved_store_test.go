package server_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/migrate"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store/memory"
)

// A move takes a server for dead that is silent, for example cut off from the database. When that
// server is back, it stops: its tasks are in another store, and are attempted from there.
func TestBackAfterMove(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		c := config.Default()
		c.Listen, c.Store, c.Node = "127.0.0.1:0", d.URL, "silent"
		s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		api, err := client.New(client.Options{Server: "http://" + s.Addr()})
		if err != nil {
			t.Fatal(err)
		}
		create(t, api, client.CreateTask{Queue: "default", URL: "https://merchant.example/", Delay: "1h", Body: "x"})
		source, err := server.OpenStore(t.Context(), d.URL, server.StoreOptions{Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		owned := func() bool {
			state, err := source.State(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, shard := range state.Shards {
				if strings.HasPrefix(shard.Owner, "silent") && shard.Alive {
					return true
				}
			}
			return false
		}
		passes(t, "the server has shards", owned)

		err = migrate.Run(t.Context(), migrate.Options{From: source, To: memory.New(), Kinds: server.Documents(), Report: func(p migrate.Progress) {
			for _, node := range p.Wait {
				if err := source.Leave(t.Context(), node); err != nil { // as after a long silence
					t.Error(err)
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		look, deadline := time.NewTicker(10*time.Millisecond), time.After(patient)
		defer look.Stop()
		for {
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "moved") {
					t.Errorf("Run() = %v; want an error that says where the tasks are", err)
				}
				if owned() {
					t.Error("the server still has shards of the store whose tasks were moved")
				}
				return
			case <-look.C:
				if owned() {
					t.Fatal("the server has shards of the store whose tasks were moved, and attempts them a second time")
				}
			case <-deadline:
				t.Fatal("the server does not stop")
			}
		}
	})
}

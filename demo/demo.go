// Package demo runs a whole bellman on a throw-away store, with a pretend
// merchant beside it on loopback, and tells a story over real HTTP: what a
// payment platform asks for, what the merchant answers, and what bellman makes
// of it.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/config"
	"github.com/bellmanhq/bellman/server"
)

// Options of a demo. Out is required.
type Options struct {
	Out     io.Writer    // the timeline goes here
	Listen  string       // address of the API; default: a free port of loopback
	Version string       // of the program; default dev
	Logger  *slog.Logger // of the server; default: discards
	Once    bool         // end when the story is over
}

// settings are the server's, as its file would have them. Only loopback may be
// sent to beside what the guard allows anybody.
const settings = `
listen: 127.0.0.1:0
queues:
  merchant-notify:
    schedule: 0s, 1s, 2s, 3s
    success: success_text
    timeout: 2s
egress: {allow: ["127.0.0.0/8", "::1"]}
`

// patience is how long the story may take.
const patience = 25 * time.Second

// Run tells the story, and serves until ctx ends unless it is told once. It
// returns nil when everything went as told, however ctx ended.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "bellman-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := config.Parse([]byte(settings))
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	c.Store = "pebble:" + filepath.Join(dir, "store")
	if o.Listen != "" {
		if err := errors.Join(c.Set("listen", o.Listen), c.Check()); err != nil {
			return err
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := server.Open(server.Options{Config: c, Version: o.Version, Logger: o.Logger})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	line := newTimeline(o.Out)
	m, err := newMerchant(line)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer m.close()
	api := "http://" + s.Addr()
	caller, err := client.New(client.Options{Server: api})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	events, unsubscribe := s.Engine().Subscribe(1024)
	defer unsubscribe()
	st := &stage{timeline: line, client: caller, api: api, merchant: m, events: events}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	g.Go(m.serve)
	g.Go(func() error {
		defer m.close()
		if err := st.tell(ctx, story()); err != nil {
			return err
		}
		if o.Once {
			stop()
			return nil
		}
		st.linger(ctx)
		return nil
	})
	return g.Wait()
}

// story is what is told, scene by scene.
func story() []scene { return notifyScenes() }

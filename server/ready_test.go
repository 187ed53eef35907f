package server

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/pebble"
)

// A disk without room for new tasks shows, and no more than that.
func TestProbeOfAFullDisk(t *testing.T) {
	for _, tt := range []struct {
		reserve int64
		want    error
	}{{-1, nil}, {1 << 60, bellman.ErrFull}} {
		store, err := pebble.Open(t.TempDir(), pebble.Options{ReserveBytes: tt.reserve})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if err := (&probe{store: store}).ask(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("with %d bytes to keep free: %v; want %v", tt.reserve, err, tt.want)
		}
	}
}

// An awayStore is a database that cannot be reached while away is set.
type awayStore struct {
	store.Store
	away atomic.Bool
}

func (s *awayStore) Docs(context.Context, store.DocFilter, int) ([]store.Doc, error) {
	if s.away.Load() {
		return nil, bellman.ErrUnreachable
	}
	return nil, nil
}

// The log has the begin and the end of an outage once, although nobody asks for /readyz.
func TestOutageIsLoggedUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		away := &awayStore{}
		p := &probe{store: away, engine: &conditions{}, log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.watch(ctx) }()
		for _, now := range []bool{false, true, false} {
			away.away.Store(now)
			time.Sleep(time.Minute)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if text := log.String(); strings.Count(text, "msg=\"the database cannot be reached") != 1 || strings.Count(text, "the database answers again") != 1 {
			t.Errorf("the log of an outage: %s; want its begin and its end, once each", text)
		}
	})
}

// conditions are what an engine says about itself.
type conditions struct {
	ready error
	full  time.Time
}

func (c *conditions) Ready(context.Context) error { return c.ready }
func (c *conditions) Intake() figures.Intake      { return figures.Intake{Full: c.full} }

// A node says since when it is not ready, or has no room for new tasks.
func TestReadyKnowsTheBeginOfTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, rejects := time.Now(), errors.New("the store rejects every write")
		c, away := &conditions{}, &awayStore{}
		p := &probe{store: away, engine: c, log: slog.New(slog.DiscardHandler)}
		for _, tt := range []struct {
			set   func()
			want  error
			since time.Duration // after begin
		}{
			{func() {}, nil, 0},
			{func() { c.full = begin.Add(59 * time.Second) }, bellman.ErrFull, 59 * time.Second},
			{func() {}, bellman.ErrFull, 59 * time.Second},
			{func() { c.ready = rejects }, rejects, 3 * time.Minute},
			{func() { away.away.Store(true) }, bellman.ErrUnreachable, 3 * time.Minute},
			{func() { away.away.Store(false); c.ready = nil }, bellman.ErrFull, 59 * time.Second},
			{func() { c.full = time.Time{} }, nil, 0},
		} {
			tt.set()
			since, err := p.ready(t.Context())
			if !errors.Is(err, tt.want) || err != nil && since.Sub(begin) != tt.since {
				t.Errorf("ready after %v: %v since %v; want %v since %v", time.Since(begin), err, since.Sub(begin), tt.want, tt.since)
			}
			time.Sleep(time.Minute)
		}
	})
}

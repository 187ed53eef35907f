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
		p := &probe{store: away, log: slog.New(slog.NewTextHandler(&log, nil))}
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

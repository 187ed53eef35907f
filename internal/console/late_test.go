package console

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/store"
)

// A page does not wait for a slow read: it shows the last result, or nothing, and the next page
// shows what was read meanwhile.
func TestSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		var reads atomic.Int64
		takes, fails := 200*time.Millisecond, error(nil)
		soon := func(want int, has bool, within time.Duration) {
			t.Helper()
			began := time.Now()
			value, got, err := s.soon(t.Context(), time.Second, 50*time.Millisecond, func(context.Context) (int, error) {
				n := int(reads.Add(1))
				time.Sleep(takes)
				return n, fails
			})
			if took := time.Since(began); value != want || got != has || err != nil || took > within {
				t.Errorf("%d, %t, %v after %v; want %d, %t within %v", value, got, err, took, want, has, within)
			}
		}
		soon(0, false, 50*time.Millisecond)
		soon(0, false, 50*time.Millisecond) // it is being read
		time.Sleep(150 * time.Millisecond)
		soon(1, true, 0)
		time.Sleep(time.Second)
		soon(1, true, 50*time.Millisecond) // old, and read anew
		time.Sleep(200 * time.Millisecond)
		soon(2, true, 0)
		time.Sleep(time.Second)
		takes = 30 * time.Millisecond
		soon(3, true, 30*time.Millisecond)
		time.Sleep(time.Second)
		fails = errors.New("no connection")
		if _, _, err := s.soon(t.Context(), time.Second, 50*time.Millisecond, func(context.Context) (int, error) { return 0, fails }); !errors.Is(err, fails) {
			t.Errorf("a read that fails: %v, want %v", err, fails)
		}
		fails = nil
		soon(4, true, 30*time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		time.Sleep(time.Second)
		if _, _, err := s.soon(ctx, time.Second, time.Second, func(context.Context) (int, error) { time.Sleep(takes); return 5, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("one who left: %v, want it told", err)
		}
		time.Sleep(takes)
	})
}

// A stuck store does not answer what is due until it is let go.
type stuckStore struct {
	*fake
	let chan struct{}
}

func (s *stuckStore) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	select {
	case <-s.let:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.fake.Due(ctx, shards, from, to, limit, buf)
}

// The first page is shown although due tasks take long to count. It says so, and does not claim
// that all is well.
func TestOverviewWaitsForNothing(t *testing.T) {
	s := open(t)
	stuck := &stuckStore{s.fake, make(chan struct{})}
	s.o.Reader, s.patience = stuck, time.Millisecond
	s.o.Attention = attention.New(attention.Options{Engine: s.fake, Store: stuck})
	first := s.get(t, "/", "Accept-Language: en").body
	if !strings.Contains(first, "Still being read") || strings.Contains(first, `class="calm"`) {
		t.Error("a page without what takes long does not say so, or says that all is well")
	}
	close(stuck.let)
	for end := time.Now().Add(5 * time.Minute); ; {
		s.now.forget()
		page := s.get(t, "/").body
		if !strings.Contains(page, "Still being read") {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what was read never comes")
		}
	}
}

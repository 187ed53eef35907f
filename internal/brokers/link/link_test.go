package link

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A broker that is away is dialled rarely, however many callers wait for it. It is found when it is
// back, and dialled again when the connection broke.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials, away := 0, true
		var alive atomic.Bool
		alive.Store(true)
		l := Link[int]{
			Dial: func(context.Context) (int, error) {
				dials++
				time.Sleep(time.Second)
				if away {
					return 0, errors.New("refused")
				}
				return dials, nil
			},
			Alive: func(int) bool { return alive.Load() },
			Close: func(int) {},
		}
		for range 100_000 { // 100 s
			if _, err := l.Get(t.Context()); err == nil || err.Error() != "refused" {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if dials > 100 {
			t.Errorf("%d dials for 100,000 callers; want few", dials)
		}
		away = false
		time.Sleep(longestWait)
		first, err := l.Get(t.Context())
		if again, _ := l.Get(t.Context()); err != nil || again != first {
			t.Errorf("connections %d and %d, %v; want the same", first, again, err)
		}
		time.Sleep(longestWait)
		alive.Store(false)
		go func() {
			time.Sleep(500 * time.Millisecond)
			alive.Store(true)
		}()
		if next, err := l.Get(t.Context()); err != nil || next == first {
			t.Errorf("after the connection broke: connection %d, %v; want another than %d", next, err, first)
		}
		time.Sleep(longestWait)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		alive.Store(false)
		if _, err := l.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Get while the broker is dialled: %v; want the error of the caller's context in time", err)
		}
		alive.Store(true)
		l.End()
		if _, err := l.Get(t.Context()); err == nil {
			t.Error("a link that has ended returned a connection")
		}
	})
}

// A broker that accepts connections and breaks them at once is dialled as rarely as one that
// rejects them. End waits for connections that are being closed.
func TestBreaksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials, closed atomic.Int32
		l := Link[int32]{
			Dial:  func(context.Context) (int32, error) { return dials.Add(1), nil },
			Alive: func(n int32) bool { return n > 1000 },
			Close: func(int32) {
				time.Sleep(time.Minute)
				closed.Add(1)
			},
		}
		for range 100_000 { // 100 s
			if _, err := l.Get(t.Context()); !errors.Is(err, errBroke) {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if n := dials.Load(); n > 120 || n < 40 {
			t.Errorf("%d dials in 100 s; want one in 1 to 2 s", n)
		}
		l.End()
		if closed.Load() != dials.Load() {
			t.Errorf("End returned when %d of %d connections were closed; want all", closed.Load(), dials.Load())
		}
	})
}

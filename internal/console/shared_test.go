package console

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSharedIsReadOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept shared[int]
		reads := 0
		read := func(context.Context) (int, error) {
			reads++
			return reads, nil
		}
		get := func(want int) {
			t.Helper()
			if n, err := kept.get(t.Context(), time.Second, read); n != want || err != nil {
				t.Errorf("get = %d, %v; want what read number %d was", n, err, want)
			}
		}
		get(1)
		time.Sleep(time.Second - 1)
		get(1)
		time.Sleep(time.Nanosecond)
		get(2)
		kept.forget()
		get(3)
	})
}

func TestSharedOutlivesWhoeverReads(t *testing.T) {
	var kept shared[int]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n, err := kept.get(ctx, time.Minute, func(ctx context.Context) (int, error) { return 1, ctx.Err() })
	if n != 1 || err != nil {
		t.Errorf("get = %d, %v; want 1: the others want it too", n, err)
	}
}

// While the store does not answer, all who wait learn that from one reading.
func TestSharedFailsForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept shared[int]
		away, reads := errors.New("away"), 0
		came := time.Now()
		for range 3 { // all came at once, and the first one's reading took its time
			_, err := kept.getFor(t.Context(), came, time.Minute, func(ctx context.Context) (int, error) {
				reads++
				<-ctx.Done()
				return 0, away
			})
			if !errors.Is(err, away) {
				t.Errorf("get: %v; want the error of the reading", err)
			}
		}
		if took := time.Since(came); reads != 1 || took != readTimeout {
			t.Errorf("%d readings, of %v in all; want one", reads, took)
		}
		if n, err := kept.get(t.Context(), time.Minute, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Errorf("get of one who came later = %d, %v; want a reading of its own", n, err)
		}
	})
}

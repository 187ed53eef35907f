package console

import (
	"context"
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

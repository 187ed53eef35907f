package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// The loop that starts attempts reports that it is alive also while it has nothing to do. It
// reports nothing while it cannot start attempts because the store rejects outcomes.
func TestSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &troubled{Store: memory.New()}
		e, stop := run(t, store, engine.Queue{Name: "q", Handler: &receiver{answer: accept}})
		defer stop()
		silent := func() time.Duration { return time.Since(e.Gauges(t.Context()).Fired) }

		for range 10 {
			time.Sleep(7 * time.Minute)
			synctest.Wait()
			if got := silent(); got < 0 || got > 5*time.Second {
				t.Fatalf("with nothing to do the last sign of life is %v old; want at most 5s", got)
			}
		}
		add(t, e, &bellman.Task{Queue: "q", Delay: time.Minute})
		fail := func() (error, bool) { return errors.New("disk on fire"), false }
		store.fail.Store(&fail)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if got := silent(); got < 115*time.Second {
			t.Errorf("2 min after the store accepted its last outcome the last sign of life is %v old; want about 2 min", got)
		}
		store.fail.Store(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := silent(); got < 0 || got > 5*time.Second {
			t.Errorf("a minute after the store worked again the last sign of life is %v old; want at most 5s", got)
		}
	})
}

package engine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// A machine was suspended for half a minute. Its node sees this by the wall clock, and attempts
// nothing until a heartbeat confirms that its shards are still its own.
func TestPausedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCrew(t), newLedger()
		var paused atomic.Int64 // time.Duration
		c.wall = func() time.Time { return time.Now().Add(time.Duration(paused.Load())) }
		a := c.start("a", l.queue("a", 0))
		defer a.stop()
		time.Sleep(20*time.Second + 500*time.Millisecond)
		began := time.Now()
		for i := range 60 {
			add(t, a.Engine, &bellman.Task{Queue: "q", Delay: time.Duration(i) * 50 * time.Millisecond})
		}
		time.Sleep(520 * time.Millisecond)
		a.store.swallow.Store(1) // the next heartbeat is not answered
		paused.Store(int64(30 * time.Second))
		time.Sleep(10 * time.Second)
		made := 0
		l.mu.Lock()
		for _, times := range l.times {
			for _, at := range times {
				if after := at.Sub(began); after > 530*time.Millisecond && after < 1800*time.Millisecond {
					made++
				}
			}
		}
		n := len(l.times)
		l.mu.Unlock()
		if made > 0 || n != 60 {
			t.Errorf("%d attempts between the pause and the next answered heartbeat, and %d tasks attempted in all; want none, and 60", made, n)
		}
	})
}

// A task that its dead owner had announced is deferred because its merchant is paused. The attempt
// that may have been made is in the log, and the next one has a number of its own.
func TestDeferredInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, now := memory.New(), time.Now().UTC()
		task := &bellman.Task{ID: bellman.NewID(), Queue: "q", MerchantNo: "M1", Schedule: "0s, 1h*", Timeout: time.Second, Kind: bellman.KindNotify,
			Status: bellman.Status{Version: 1, Attempts: 2, Step: 2, Phase: bellman.Announced, Began: now, Due: now, VisibleAt: now, Updated: now}}
		if err := s.Commit(t.Context(), &store.Batch{Adds: []store.Add{{Task: task}}, Docs: []store.Doc{{Kind: "pause", Name: "merchant/M1", Value: []byte("{}")}}}); err != nil {
			t.Fatal(err)
		}
		e, stop := run(t, s, engine.Queue{Name: "q", Handler: guided{&receiver{answer: accept}, new(atomic.Int64)}})
		defer stop()
		time.Sleep(time.Minute)
		if st, log := get(t, s, task.ID), attempts(t, s, task.ID); st.Phase != bellman.Deferred || st.Attempts != 3 || len(log) != 1 || log[0].Number != 3 || log[0].Result != bellman.Unknown {
			t.Errorf("while its merchant is paused: %v after %d attempts, log %+v; want deferred after three, the third unknown", st.Phase, st.Attempts, log)
		}
		if err := e.ResumeMerchant(t.Context(), "M1", by); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if st, log := get(t, s, task.ID), attempts(t, s, task.ID); st.State != bellman.Succeeded || len(log) != 2 || log[1].Number != 4 {
			t.Errorf("afterwards: %v, log %+v; want succeeded at attempt 4", st.State, log)
		}
	})
}

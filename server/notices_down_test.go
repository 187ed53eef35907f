package server

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/order"
)

// A nonce that was burned before the message was stored: while the store is down every notice is
// answered as refused and nothing of it is remembered, so the same bytes are accepted when the
// channel sends them again.
func TestNonceIsNotBurnedWhileTheStoreIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := startWell(t)
		defer stop()
		for _, a := range w.accounts {
			l := &life{world: w, account: a, no: "N0000001", amount: price, pay: price, expires: time.Hour, pays: -1, refunds: -1, dice: rand.New(rand.NewPCG(1, 1))}
			a.lives[l.no] = l
			l.add()
			raw := a.notice(&says{no: l.no, state: "SUCCESS", amount: price})
			w.store.down.Store(true)
			for range 2 {
				if told, err := w.server.notices.Receive(t.Context(), a.queue, "", nil, raw); err == nil {
					t.Errorf("%s: accepted while the store is down: %+v", a.queue, told)
				}
				if state := order.StateOf(l.task()); state != order.StatePending {
					t.Errorf("%s: %s while the store is down", a.queue, state)
				}
			}
			w.store.down.Store(false)
			time.Sleep(15 * time.Second) // until the channel sends it again
			for i, want := range []order.NoticeResult{order.NoticeApplied, order.NoticeDuplicate} {
				told, err := w.server.notices.Receive(t.Context(), a.queue, "", nil, raw)
				if err != nil || len(told) != 1 || told[0].Result != want || order.StateOf(l.task()) != "PAID" {
					t.Errorf("%s, repeat %d: %+v, %v, %s; want %s, PAID", a.queue, i, told, err, order.StateOf(l.task()), want)
				}
			}
		}
		time.Sleep(time.Minute)
		for _, a := range w.accounts {
			l := a.lives["N0000001"]
			l.mu.Lock()
			told := len(l.told)
			l.mu.Unlock()
			if told != 1 {
				t.Errorf("%s: told %d times; want once", a.queue, told)
			}
		}
	})
}

// startWell runs the engine of a world without lives, until stop. Its store has no trouble.
func startWell(t *testing.T) (w *world, stop func()) {
	w = newWorld(t, 0, 0)
	w.store.dice = rand.New(never{})
	queues, c := queuesOf(w)
	return w, startEngine(t, w.server, queues, c)
}

// never is a source of chance by which nothing that is seldom happens.
type never struct{}

func (never) Uint64() uint64 { return 1<<64 - 1 }

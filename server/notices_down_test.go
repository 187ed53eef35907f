package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
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

// A told reader returns the items that a test gives.
type toldReader struct{ items []order.Notice }

func (r toldReader) ReadNotice(*order.RawNotice) ([]order.Notice, string, error) {
	return r.items, "", nil
}
func (toldReader) AnswerNotice(bool, string) order.NoticeAnswer { return order.NoticeAnswer{} }

// An item that cannot be used does not have a notice sent again, unless it is the only one and may
// be about an order. What the store could not take is sent again in any case.
func TestWhichItemsAreSentAgain(t *testing.T) {
	good := order.Notice{ID: "n", Of: order.OfPayment, OrderNo: "N1", Reading: order.Paid}
	bad := order.Notice{ID: "n", Of: order.OfPayment, Err: errors.New("it has no number")}
	other := order.Notice{ID: "n", Err: errors.New("it is of a coupon"), Other: true}
	synctest.Test(t, func(t *testing.T) {
		w, stop := startWell(t)
		defer stop()
		n, queue := w.server.notices, w.accounts[0].queue
		for _, tt := range []struct {
			name    string
			items   []order.Notice
			down    bool
			applied int
			again   bool
		}{
			{"one", []order.Notice{good}, false, 1, false}, {"a bad one", []order.Notice{bad}, false, 0, true}, {"about something else", []order.Notice{other}, false, 1, false},
			{"one of two", []order.Notice{bad, good}, false, 2, false}, {"none", nil, false, 0, false},
			{"one, while the store is down", []order.Notice{good}, true, 0, true}, {"two, while the store is down", []order.Notice{good, good}, true, 0, true},
			{"two, of which one is bad, while the store is down", []order.Notice{bad, good}, true, 1, true},
		} {
			w.store.down.Store(tt.down)
			to := &receiver{queue: queue, account: "wx", reader: toldReader{tt.items}, limits: n.limits.account("wx")}
			told, err := n.receive(t.Context(), to, nil, &order.RawNotice{At: time.Now()})
			if len(told) != tt.applied || (err != nil) != tt.again {
				t.Errorf("%s: %d applied, %v; want %d, sent again: %t", tt.name, len(told), err, tt.applied, tt.again)
			}
			for _, one := range told {
				if one.Queue != queue || one.Account != "wx" {
					t.Errorf("%s: %+v; want it of its queue and account", tt.name, one)
				}
			}
			w.store.down.Store(false)
			time.Sleep(15 * time.Second)
		}
		other := func(alias string) bool { return alias == order.Alias("wx", order.OfPayment, "N2") }
		to := &receiver{queue: queue, account: "wx", reader: toldReader{[]order.Notice{good}}, limits: n.limits.account("wx")}
		if told, err := n.receive(t.Context(), to, other, &order.RawNotice{At: time.Now()}); !errors.Is(err, errOtherOrder) || len(told) > 0 {
			t.Errorf("handed in as of another order: %+v, %v; want it refused", told, err)
		}
	})
}

// A sightless store cannot find tasks by their keys.
type sightless struct{ store.Store }

func (sightless) Find(context.Context, []store.Key) ([]store.Found, error) {
	return nil, errors.New("the store cannot find")
}

// Whether the order of a notice exists is not known while the store does not say: the notice is not
// held as if there were none, and the channel sends it again.
func TestNoticeIsNotHeldUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := startWell(t)
		defer stop()
		seeing := w.server.store
		w.server.store = sightless{seeing}
		defer func() { w.server.store = seeing }()
		n, queue := w.server.notices, w.accounts[0].queue
		for _, item := range []order.Notice{
			{ID: "n", Of: order.OfPayment, OrderNo: "N1", Reading: order.Paid}, {ID: "n", Of: order.OfPayment, OrderNo: "N1"}, {ID: "n", Of: order.OfRefund, OrderNo: "N1", RefNo: "R1"},
		} {
			to := &receiver{queue: queue, account: "wx", reader: toldReader{[]order.Notice{item}}, limits: n.limits.account("wx")}
			if told, err := n.receive(t.Context(), to, nil, &order.RawNotice{At: time.Now()}); err == nil {
				t.Errorf("%+v: %+v; want the store's error", item, told)
			}
		}
		if held, _, err := seeing.List(t.Context(), store.Filter{Event: order.EventNotice}, bellman.ID{}, 10); err != nil || len(held) > 0 {
			t.Errorf("%d notices are kept, %v; want none", len(held), err)
		}
	})
}

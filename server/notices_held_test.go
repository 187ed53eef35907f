package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// Somebody paid, and the order comes late, or not within the 24 hours for which the notice is held.
// An alert is raised once. After the 24 hours the payment is listed until the order is there, which
// is then decided by a query.
func TestPaymentWithoutOrder(t *testing.T) {
	for name, wait := range map[string]time.Duration{"late": 2 * time.Hour, "too late": 25 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 0, 0)
				w.store.dice = rand.New(never{})
				queues, c := queuesOf(w)
				stop := startEngine(t, w.server, queues, c)
				defer func() { stop() }()
				listed := func() (kinds []string) {
					time.Sleep(time.Minute)
					desk := attention.New(attention.Options{Engine: w.server.engine, Store: w.store, Queues: func() []string { return []string{w.accounts[gate].queue} }, Kind: func(string) string { return "order" }})
					all, err := desk.List(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, i := range all.Items {
						kinds = append(kinds, i.Kind+" "+i.OrderNo)
					}
					return kinds
				}
				a := w.accounts[gate]
				l := &life{world: w, account: a, no: "N0000001", amount: price, pay: price, expires: 48 * time.Hour, pays: 0, refunds: -1, dice: rand.New(rand.NewPCG(1, 1))}
				a.lives[l.no] = l
				seen := func() (alerts []string, told int) {
					l.mu.Lock()
					defer l.mu.Unlock()
					return slices.Clone(l.alerts), len(l.told)
				}
				if told, err := w.server.notices.Receive(t.Context(), a.queue, "", nil, a.notice(&says{no: l.no, state: "SUCCESS", amount: price})); err != nil || told[0].Result != order.NoticeHeld {
					t.Fatalf("%+v, %v; want it held", told, err)
				}
				time.Sleep(29 * time.Minute)
				if alerts, _ := seen(); len(alerts) > 0 {
					t.Errorf("after 29 minutes: alerts %q", alerts)
				}
				time.Sleep(91 * time.Minute)
				stop()
				time.Sleep(wait - 2*time.Hour)
				stop = startEngine(t, w.server, queues, c)
				if alerts, _ := seen(); len(alerts) != 1 || !strings.HasPrefix(alerts[0], "UNKNOWN: a notice says that ") {
					t.Errorf("alerts %q; want one", alerts)
				}
				if got, over := listed(), wait > order.HoldNotices; over != slices.Equal(got, []string{"payment_without_order " + l.no}) || !over && len(got) > 0 {
					t.Errorf("listed %q; want the payment once it is not held any more", got)
				}
				f, err := w.server.engine.Figures(t.Context(), figures.Ask{Queues: true})
				if err != nil {
					t.Fatal(err)
				}
				for i := range f.Queues {
					if n := f.Queues[i].FailedHour; n > 0 { // the alarm orders_unknown is about orders
						t.Errorf("%d tasks of %s count as failed; want no notice among them", n, f.Queues[i].Name)
					}
				}
				l.add()
				got := listed()
				if _, told := seen(); len(got) > 0 || order.StateOf(l.task()) != "PAID" || told != 1 {
					t.Errorf("the order came: listed %q, %s, told %d times; want PAID, told once", got, order.StateOf(l.task()), told)
				}
			})
		})
	}
}

// Alipay says TRADE_FINISHED months after the payment, when retention has deleted the order. That
// is no payment without an order.
func TestFinishedAfterRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := startWell(t)
		defer stop()
		w.server.notices.kept = 30 * 24 * time.Hour
		a := w.accounts[ali]
		for ago, want := range map[time.Duration]order.NoticeResult{90 * 24 * time.Hour: order.NoticeDuplicate, 29 * 24 * time.Hour: order.NoticeHeld} {
			no := fmt.Sprint("N", int(ago.Hours()))
			told, err := w.server.notices.Receive(t.Context(), a.queue, "", nil, a.notice(&says{no: no, state: "FINISHED", amount: price, ago: ago}))
			if err != nil || told[0].Result != want {
				t.Fatalf("paid %v ago: %+v, %v; want %s", ago, told, err, want)
			}
			tasks, _, err := w.store.List(t.Context(), store.Filter{Queue: a.queue, OrderNo: no, Event: order.EventNotice}, bellman.ID{}, 10)
			if err != nil || len(tasks) != 1 || tasks[0].State.Ended() != (want == order.NoticeDuplicate) {
				t.Errorf("paid %v ago: %d tasks, %v; want one", ago, len(tasks), err)
			}
		}
	})
}

// The notice of a refund that nobody asks about is held, and is on the page of its order.
func TestHeldRefundIsWithItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := startWell(t)
		defer stop()
		a := w.accounts[wechat]
		l := &life{world: w, account: a, no: "N0000001", amount: price, pay: price, expires: time.Hour, pays: 0, refunds: -1, dice: rand.New(rand.NewPCG(1, 1))}
		a.lives[l.no] = l
		l.add()
		for no, want := range map[string]int{l.no: 1, "N0000002": 0} { // of the second there is no order
			told, err := w.server.notices.Receive(t.Context(), a.queue, "", nil, a.notice(&says{no: no, state: "REFUND", amount: price}))
			if err != nil || told[0].Result != order.NoticeHeld {
				t.Fatalf("%+v, %v; want it held", told, err)
			}
			of := l.task()
			tasks, _, err := w.store.List(t.Context(), store.Filter{MerchantNo: of.MerchantNo, OrderNo: no, Event: order.EventNotice}, bellman.ID{}, 10)
			if err != nil || len(tasks) != want {
				t.Errorf("order %s has %d notices, %v; want %d", no, len(tasks), err, want)
			}
		}
	})
}

// Two queues may have one account, and a notice may come to the address of either. Its record is in
// the queue of its order, where reconciliations and keys of the API that are limited to queues look
// for it.
func TestNoticeToAnotherQueueOfTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 0, 0)
		w.store.dice = rand.New(never{})
		a := w.accounts[wechat]
		queues, c := queuesOf(w)
		second := queues[wechat]
		second.Name = "second"
		queues, c.Queues = append(queues, second), append(c.Queues, config.Queue{Name: second.Name})
		stop := startEngine(t, w.server, queues, c)
		defer stop()
		l := &life{world: w, account: a, no: "N0000001", amount: price, pay: price, expires: time.Hour, pays: 0, refunds: -1, dice: rand.New(rand.NewPCG(1, 1))}
		a.lives[l.no] = l
		l.add()
		for state, want := range map[string]order.NoticeResult{"SUCCESS": order.NoticeApplied, "REFUND": order.NoticeHeld} {
			told, err := w.server.notices.Receive(t.Context(), second.Name, "", nil, a.notice(&says{no: l.no, state: state, amount: price}))
			if err != nil || told[0].Result != want {
				t.Fatalf("%s: %+v, %v; want it %s", state, told, err, want)
			}
		}
		for queue, want := range map[string]int{a.queue: 2, second.Name: 0} {
			tasks, _, err := w.store.List(t.Context(), store.Filter{Queue: queue, OrderNo: l.no, Event: order.EventNotice}, bellman.ID{}, 10)
			if err != nil || len(tasks) != want {
				t.Errorf("queue %s has %d notices, %v; want %d", queue, len(tasks), err, want)
			}
		}
	})
}

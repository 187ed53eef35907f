package server

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// price is what an order costs that says so.
const price = 1299

// A life is one order: what really happens to it at the channel, and what is told of it.
type life struct {
	world   *world
	account *channelAccount
	seed    uint64
	no      string

	added   time.Duration // after the world's start; negative: never
	amount  int64         // that the order says; 0: it says none
	expires time.Duration

	pays     time.Duration // after the world's start; negative: nobody does
	pay      int64         // how much
	stubborn bool          // the payment goes through although the order is closed
	unborn   bool          // the channel does not know the order until somebody pays
	lag      time.Duration // so long a paid order still reads unpaid
	refunds  time.Duration // after the payment; negative: it is not refunded
	again    time.Duration // after the payment, the order is paid once more; 0: it is not
	errors   int           // percent of requests without a usable answer

	lost    int // percent of notices that do not arrive
	doubled int // percent of notices of which a second arrives at the same time
	unheard int // percent of answers to notices that the channel does not hear
	delay   time.Duration
	events  []event

	mu       sync.Mutex
	dice     *rand.Rand
	known    time.Time // when the order was in bellman; zero: not yet
	paid     time.Time // at the channel; zero: not
	refunded time.Time
	closed   time.Time
	accepted bool // a notice of the payment as it is was accepted
	second   bool // a notice of the second payment was accepted
	confused bool // a signed notice told another amount than was paid
	finished bool // TRADE_CLOSED was told
	told     []heard
	numbers  map[string]int // of payments, and how often each was told
	decider  string         // number of the payment that decided the order
	returned []string       // numbers of the payments whose refund was requested
	alerts   []string
	log      []string
}

// An event is something that is sent at some time.
type event struct {
	at   time.Duration
	says says
}

// A heard is a notification that the merchant accepted.
type heard struct {
	key, event string
	fields     map[string]any
	at         time.Time
}

func newLife(w *world, a *channelAccount, seed uint64) *life {
	d := rand.New(rand.NewPCG(seed, uint64(a.index)))
	span := func(most time.Duration) time.Duration {
		return time.Duration(d.Int64N(int64(most/time.Millisecond)+1)) * time.Millisecond
	}
	percent := func(p int) bool { return d.IntN(100) < p }
	base := time.Second + span(20*time.Minute)
	l := &life{world: w, account: a, seed: seed, no: fmt.Sprintf("N%07d", seed), dice: d, added: base, pays: -1, refunds: -1,
		expires: pick(d, 2*time.Minute, 10*time.Minute, 30*time.Minute),
		errors:  pick(d, 0, 0, 5, 30, 80, 100), lost: pick(d, 0, 0, 30, 100), doubled: pick(d, 0, 50), unheard: pick(d, 0, 0, 30),
		delay: pick(d, 0, 0, span(time.Second), span(time.Minute), span(40*time.Minute)), unborn: percent(25)}
	if percent(70) {
		l.amount = price
	}
	if percent(65) {
		l.pays, l.pay = base+pick(d, span(time.Minute), span(l.expires), l.expires+span(2*time.Minute)-time.Minute, l.expires+span(20*time.Minute)), price
		l.stubborn = percent(15)
		l.lag = pick(d, 0, span(time.Second), span(40*time.Second))
		if percent(15) {
			l.pay = pick[int64](d, 1, price-1, 100*price)
		}
		if percent(25) {
			l.refunds = span(10 * time.Minute)
		}
		if percent(25) {
			l.again = span(40 * time.Minute)
		}
	}
	switch n := d.IntN(100); {
	case n < 2:
		l.added = -1
	case n < 20 && l.pays >= 0: // a notice can come before the order exists
		l.added = l.pays + span(3*time.Minute)
	}
	for range pick(d, 0, 1, 1, 3) {
		at := base + span(l.expires+5*time.Minute) - span(time.Minute)
		l.events = append(l.events, event{at: max(at, 0), says: says{by: pick(d, forged, forged, another), state: pick(d, "SUCCESS", "SUCCESS", "REFUND", "CLOSED"), amount: pick[int64](d, price, price, 1)}})
	}
	if percent(10) {
		l.events = append(l.events, event{at: base + span(l.expires), says: says{state: "NOTPAY"}})
	}
	if l.pays >= 0 && percent(5) {
		l.events = append(l.events, event{at: l.pays + span(10*time.Minute), says: says{state: "SUCCESS", amount: l.pay + 1}})
	}
	return l
}

func pick[T any](d *rand.Rand, from ...T) T { return from[d.IntN(len(from))] }

// play starts what happens in a life.
func (l *life) play(all *sync.WaitGroup) {
	at := func(after time.Duration, do func()) {
		all.Go(func() {
			time.Sleep(time.Until(l.world.start.Add(after)))
			do()
		})
	}
	if l.added >= 0 {
		at(l.added, l.add)
	}
	if l.pays >= 0 {
		at(l.pays, func() { l.notices(all) })
	}
	for _, e := range l.events {
		at(e.at, func() {
			if e.says.state == "SUCCESS" && e.says.by == genuine { // of another amount than was paid
				l.mu.Lock()
				paid := l.pass()
				l.confused = l.confused || paid
				l.mu.Unlock()
				if !paid {
					return
				}
			}
			l.send(&e.says)
		})
	}
}

// notices starts the notices that follow a payment.
func (l *life) notices(all *sync.WaitGroup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pass() {
		return
	}
	later := func(after time.Duration, s says) {
		all.Go(func() {
			time.Sleep(after)
			l.mu.Lock()
			l.pass()
			l.mu.Unlock()
			l.send(&s)
		})
	}
	later(l.delay, says{state: "SUCCESS", amount: l.pay, payment: true})
	if l.again > 0 {
		later(l.again, says{state: "SUCCESS", amount: l.pay, again: true})
	}
	if l.refunds >= 0 {
		later(l.refunds, says{state: "REFUND", amount: l.pay, payment: true}) // perhaps before the payment's
	}
	if l.account.index == ali && l.dice.IntN(3) == 0 {
		later(time.Duration(l.dice.IntN(90))*time.Minute, says{state: "FINISHED", amount: l.pay, payment: true})
	}
}

// pass lets happen what happens until now, and reports whether the order is paid.
func (l *life) pass() bool {
	now, at := time.Now(), l.world.start.Add(l.pays)
	if l.pays >= 0 && l.paid.IsZero() && !at.After(now) && (l.closed.IsZero() || l.closed.After(at) || l.stubborn) {
		l.paid = at
	}
	if !l.paid.IsZero() && l.refunds >= 0 && l.refunded.IsZero() && !l.paid.Add(l.refunds).After(now) {
		l.refunded = l.paid.Add(l.refunds)
	}
	return !l.paid.IsZero()
}

// add gives the order to bellman, until it is accepted.
func (l *life) add() {
	body := fmt.Sprintf(`{"expires":"%dms"}`, l.expires.Milliseconds())
	if l.amount > 0 {
		body = fmt.Sprintf(`{"expires":"%dms","amount":%d,"currency":"CNY"}`, l.expires.Milliseconds(), l.amount)
	}
	for range 100 {
		task := &bellman.Task{Queue: l.account.queue, MerchantNo: "M-" + l.account.queue, OrderNo: l.no, Body: []byte(body)}
		err := l.world.server.engine.Add(context.Background(), task)[0].Err
		l.mu.Lock()
		if err == nil {
			l.known = time.Now()
			l.note("added")
			l.mu.Unlock()
			return
		}
		l.note("not added: %v", err)
		l.mu.Unlock()
		time.Sleep(time.Second)
	}
}

// gaps are how long the channel waits before it sends a notice again.
var gaps = []time.Duration{15 * time.Second, 15 * time.Second, 30 * time.Second, 3 * time.Minute, 10 * time.Minute}

// send sends a notice until it hears that it was accepted, as channels do. A forged one is sent
// once.
func (l *life) send(s *says) {
	s.no = l.no
	for try := 0; ; try++ {
		l.mu.Lock()
		lost, double, unheard := l.dice.IntN(100) < l.lost, l.dice.IntN(100) < l.doubled, l.dice.IntN(100) < l.unheard
		l.mu.Unlock()
		accepted := false
		if !lost || s.by != genuine {
			raw := l.account.notice(s)
			var both sync.WaitGroup
			if double {
				both.Go(func() { l.receive(s, raw) })
			}
			accepted = l.receive(s, raw)
			both.Wait()
		}
		if s.by != genuine || accepted && !unheard || try == len(gaps) {
			return
		}
		time.Sleep(gaps[try])
	}
}

// receive gives bellman a notice, and reports whether it was accepted.
func (l *life) receive(s *says, raw *order.RawNotice) (accepted bool) {
	l.mu.Lock()
	there := !l.known.IsZero()
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), noticeWithin)
	defer cancel()
	told, err := l.world.server.notices.Receive(ctx, l.account.queue, "", nil, raw)
	l.mu.Lock()
	defer l.mu.Unlock()
	var results []string
	for _, t := range told {
		if s.state == "REFUND" && l.account.ownRefunds && t.Of != order.OfRefund {
			l.note("WRONG: the notice of a refund was taken for one of a %s", t.Of)
		}
		results = append(results, strings.TrimSpace(string(t.Result)+" "+t.Why))
	}
	l.note("notice %s %d %s: %q, %v", s.state, s.amount, cmp.Or(s.by, "genuine"), results, err)
	switch {
	case err != nil:
		return false
	case s.by != genuine:
		l.note("WRONG: a notice that is not the account's was accepted")
		return true
	}
	l.accepted = l.accepted || s.payment && (s.state != "REFUND" || !l.account.ownRefunds)
	l.second = l.second || s.again
	decides := s.state != "NOTPAY" && (s.state != "REFUND" || !l.account.ownRefunds)
	if there && decides {
		if task := l.task(); task == nil || order.StateOf(task) == order.StatePending {
			l.note("WRONG: a notice was answered as accepted before its order was decided")
		}
	}
	return true
}

// task reads the order's task; nil: there is none.
func (l *life) task() *bellman.Task {
	under, ctx := l.world.store.Store, context.Background()
	id, err := store.Lookup(ctx, under, l.account.queue, "M-"+l.account.queue+"/"+l.no)
	if err != nil {
		return nil
	}
	task, err := under.Task(ctx, id)
	if err != nil {
		return nil
	}
	return task
}

// note writes down what happens, for the story of a life that went wrong.
func (l *life) note(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%-12v ", time.Since(l.world.start))+fmt.Sprintf(format, args...))
}

func (l *life) story() string { return "  " + strings.Join(l.log, "\n  ") }

func (l *life) String() string {
	pays := "nobody pays"
	if l.pays >= 0 {
		pays = fmt.Sprintf("%d is paid at %v (stubborn %t, lag %v, refund after %v)", l.pay, l.pays, l.stubborn, l.lag, l.refunds)
	}
	return fmt.Sprintf("order %s of queue %s, of %d, added at %v, expires after %v, unborn %t; %s; errors %d%%, notices lost %d%%",
		l.no, l.account.queue, l.amount, l.added, l.expires, l.unborn, pays, l.errors, l.lost)
}

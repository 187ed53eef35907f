package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// queuesOf are the queues of a world, and their settings as far as notices need them.
func queuesOf(w *world) ([]engine.Queue, *config.Config) {
	c := new(config.Config)
	var queues []engine.Queue
	tell := []order.Recipient{{Queue: "tell", HasURL: true}}
	refund := append(slices.Clone(tell), order.Recipient{Queue: "refunds", Refund: poll.RequestRefund(false)})
	for _, a := range w.accounts {
		h, err := order.New(a.channel(), order.Rules{
			MinCloseAge: time.Minute, OnExhausted: order.OnExhaustedClose, GiveUp: time.Hour, ChannelExpires: true, CodeLife: 30 * time.Minute,
			Identity: a.name, Tell: w.server.tellHeld, Life: w.server.orderLife,
			Then: order.Then{Default: tell, For: map[string][]order.Recipient{order.LatePayment: refund, order.DuplicatePayment: refund}},
			Now:  func() time.Time { return w.server.engine.Now() }, Log: slog.New(slog.DiscardHandler),
			Alert: func(t *bellman.Task, of order.Alert) []bellman.Task {
				a.life(t.OrderNo).alert(of.State + ": " + of.Why)
				return nil
			},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		queues = append(queues, engine.Queue{Name: a.queue, Kind: bellman.KindOrder, Handler: h, Schedule: "5s*3, 1m*3, 5m*", EndpointConcurrency: bellman.MaxConcurrency})
		in := config.Queue{Name: a.queue}
		if a.key != "" {
			in.Order.Notice = &config.Notice{Verify: sign.VerifyConfig{Scheme: "hmac_sha256", Header: "X-Signature", Secrets: []sign.Secret{sign.NewSecret(a.key)}},
				Order: "json.out_trade_no", States: config.Readings{Preset: "wechat_v3"}}
		}
		c.Queues = append(c.Queues, in)
	}
	queues = append(queues, engine.Queue{Name: "tell", Handler: bellman.HandlerFunc(w.hear), Schedule: "0s, 5s*10, 1m*", EndpointConcurrency: bellman.MaxConcurrency})
	queues = append(queues, engine.Queue{Name: "refunds", Handler: bellman.HandlerFunc(w.giveBack), Schedule: "0s", EndpointConcurrency: bellman.MaxConcurrency})
	c.Queues = append(c.Queues, config.Queue{Name: "tell"}, config.Queue{Name: "refunds"})
	return queues, c
}

func (a *channelAccount) life(no string) *life { return a.lives[no] }

func (l *life) alert(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alerts = append(l.alerts, text)
	l.note("alert: %s", text)
}

// hear is the merchant: it is busy now and then, and remembers what it accepted.
func (w *world) hear(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
	for _, a := range w.accounts {
		if task.MerchantNo != "M-"+a.queue {
			continue
		}
		l := a.life(task.OrderNo)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dice.IntN(10) == 0 {
			return bellman.Verdict{Error: "busy"}
		}
		h := heard{key: task.Key, event: task.Event, at: time.Now()}
		if err := json.Unmarshal(task.Body, &h.fields); err != nil {
			w.t.Errorf("%s: %v", task.Key, err)
		}
		l.told = append(l.told, h)
		l.note("told %s %s", task.Event, task.Body)
		return bellman.Verdict{Next: bellman.Succeed}
	}
	w.t.Errorf("somebody was told who is nobody: %+v", task)
	return bellman.Verdict{Next: bellman.Succeed}
}

// giveBack is where refunds are requested.
func (w *world) giveBack(_ context.Context, task *bellman.Task, _ int) bellman.Verdict {
	ask, err := poll.ParseAsk(task.Body)
	if err != nil {
		w.t.Errorf("refund %s: %v", task.Body, err)
	}
	for _, a := range w.accounts {
		if l := a.life(task.OrderNo); task.MerchantNo == "M-"+a.queue {
			l.mu.Lock()
			l.returned = append(l.returned, ask.Vars["transaction_id"])
			l.note("refund of %s", ask.Vars["transaction_id"])
			l.mu.Unlock()
		}
	}
	return bellman.Verdict{Next: bellman.Succeed}
}

// Query answers a query as the truth is, or not at all.
func (a *channelAccount) Query(ctx context.Context, o *order.Order) order.QueryAnswer {
	l := a.life(o.OrderNo)
	l.mu.Lock()
	took, n := time.Duration(l.dice.IntN(300))*time.Millisecond, l.dice.IntN(100)
	l.mu.Unlock()
	time.Sleep(took)
	l.mu.Lock()
	q := l.query(n)
	l.note("queried: %v", q.Reading)
	if n == 0 && l.errors > 0 {
		l.mu.Unlock()
		<-ctx.Done()
		return order.QueryAnswer{Answer: order.Answer{Result: bellman.TimedOut, Error: "timeout"}}
	}
	l.mu.Unlock()
	return q
}

func readable(body string) order.Answer {
	return order.Answer{Result: bellman.Accepted, Status: 200, Body: []byte(body)}
}

// query is the answer to a query at this moment; n is from 0 to 99.
func (l *life) query(n int) (q order.QueryAnswer) {
	paid := l.pass()
	if n < l.errors {
		switch n % 3 {
		case 0:
			return order.QueryAnswer{Answer: order.Answer{Result: bellman.Refused, Status: 500, Error: "the channel is broken"}}
		case 1:
			return order.QueryAnswer{Answer: readable("{}"), Reading: 200} // nothing that is a reading
		}
		return order.QueryAnswer{Answer: order.Answer{Result: bellman.Unreachable, Error: "reset"}}
	}
	now := time.Now()
	q.Answer = readable(`{"…":"…"}`)
	switch {
	case paid && l.paid.Add(l.lag).After(now):
		q.Reading = order.Pending
	case paid:
		q.Taken = order.Taken{"amount": l.pay, "currency": "CNY", "transaction_id": "T" + l.no}
		if l.again > 0 && !l.paid.Add(l.again).After(now) && l.dice.IntN(2) == 0 {
			q.Taken["transaction_id"] = "U" + l.no
		}
		if q.Reading = order.Paid; !l.refunded.IsZero() {
			q.Reading = order.PaidRefunded
		}
	case !l.closed.IsZero() && now.Sub(l.closed) < 10*time.Second && l.dice.IntN(2) == 0:
		q.Reading = order.Pending // just closed it can read NOTPAY
	case !l.closed.IsZero():
		q.Reading = order.Closed
	case l.unborn:
		q.Reading = order.NotFound
	default:
		q.Reading = order.Pending
		if soon := l.world.start.Add(l.pays).Sub(now); l.pays >= 0 && soon > 0 && soon < 20*time.Second && l.dice.IntN(2) == 0 {
			q.Wait = 5 * time.Second // the payer types the password
		}
	}
	return q
}

// Close closes an order at the channel, and perhaps nobody hears of it.
func (a *channelAccount) Close(_ context.Context, o *order.Order) order.CloseAnswer {
	l := a.life(o.OrderNo)
	l.mu.Lock()
	took, n := time.Duration(l.dice.IntN(300))*time.Millisecond, l.dice.IntN(100)
	l.mu.Unlock()
	time.Sleep(took)
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := n < l.errors
	if lost && n%2 == 0 {
		l.note("not closed: no answer")
		return order.CloseAnswer{Answer: order.Answer{Result: bellman.Unreachable, Error: "reset"}}
	}
	c := order.CloseAnswer{Answer: readable("{}")}
	switch paid := l.pass(); {
	case paid:
		c.Reading = pick(l.dice, order.ClosePaidHint, order.CloseInFlight)
	case l.unborn:
		c.Reading = order.CloseNotExist
	case l.closed.IsZero():
		c.Reading, l.closed = order.CloseDone, time.Now()
	default:
		c.Reading = order.CloseAlready
	}
	l.note("close: %v, lost %t", c.Reading, lost)
	if lost {
		c.Reading = order.CloseUnknown
	}
	if l.account.index == ali && c.Reading == order.CloseDone && !l.finished {
		l.finished = true
		go l.send(&says{state: "CLOSED"})
	}
	return c
}

var _ order.Channel = (*channelAccount)(nil)

// channel is the account as a channel, which reads notices if it is one that bellman knows.
func (a *channelAccount) channel() order.Channel {
	if a.reader == nil {
		return a
	}
	return struct {
		order.Channel
		order.NoticeReader
	}{a, a.reader}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func money(fen int64) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

func quoted(fields ...string) string {
	var b strings.Builder
	for i := 0; i < len(fields); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%q", fields[i], fields[i+1])
	}
	return b.String()
}

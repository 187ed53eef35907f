package console

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
)

// SceneNow is when the scene is looked at: an evening in Shanghai.
var SceneNow = time.Date(2026, 11, 20, 10, 24, 36, 0, time.UTC)

func ago(d time.Duration) time.Time { return SceneNow.Add(-d) }

// sceneNodes are the names of the nodes. Platforms give machines names as long as the last.
var sceneNodes = []string{"bellman-0", "bellman-1", "bellman-9c3b5a52-7f0e-4d0b-8a61-0c2f6f1e7d94"}

// A scene is an hour at a small platform with every kind of page: one merchant's server is down,
// one asks for fewer requests, a queue is paused, and one order could not be decided.
type scene struct {
	*Console
	fake *fake

	// ids of tasks
	waiting, accepted, failed, unreachable, mended, undecided bellman.ID
}

// openScene makes the scene. It is always the same, provided that time.Now is SceneNow.
func openScene(t testing.TB, options Options) *scene {
	t.Helper()
	s := &scene{fake: &fake{Store: memory.New()}}
	kind := func(queue string) string {
		return map[string]string{"merchant-notify": "notify", "legacy-notify": "notify", "wechat-orders": "order", "alipay-orders": "order", "refunds": "poll"}[queue]
	}
	queues := func() []string {
		return []string{"merchant-notify", "wechat-orders", "alipay-orders", "refunds", "legacy-notify"}
	}
	o := Options{
		Engine: s.fake, Reader: s.fake, Records: s.fake, Nodes: s.fake.Nodes, Kinds: kind, Queues: queues, Version: "1.0.0", Secret: newOwn(),
		Name: "production", Colour: "red", PublicURL: "https://bellman.example", Keys: options.Keys,
		Merchants: sceneMerchants{}, Accounts: sceneAccounts{}, Links: sceneLinks{}, Resends: sceneResends{}, Reconciliations: sceneBills{},
		Attention: attention.New(attention.Options{Engine: s.fake, Store: s.fake, Nodes: s.fake.Nodes, Alarms: &raised{}, Kind: kind, Queues: queues, Reconciliations: sceneBills{}, Sources: s.fake.named}),
		Sources:   s.fake.named,
		Intake:    func() figures.Intake { return figures.Intake{Open: true, Waiting: 214, High: 200_000, Low: 100_000} },
		Channels: func(queue string) string {
			return map[string]string{"wechat-orders": "wechatpay", "alipay-orders": "alipay"}[queue]
		},
		Sent: func(_ context.Context, task *bellman.Task, _ *bellman.Attempt, _ bool) (deliver.Sent, error) {
			return deliver.Sent{Method: http.MethodPost, URL: task.URL, Body: task.Body, Success: task.Success, Scheme: "hmac_sha256", Signature: []string{"X-Bellman-Signature"},
				Signed: fmt.Appendf(nil, "1763634240.%s", task.Body), Header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"bellman/1.0.0"}, "X-Bellman-Id": {task.ID.String()}}}, nil
		},
	}
	var err error
	if s.Console, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.patience = time.Minute
	s.figures()
	s.tasks(t)
	s.orders(t)
	s.hand(t)
	return s
}

// figures are those of three nodes.
func (s *scene) figures() {
	f, r := s.fake, rand.New(rand.NewPCG(1, 2))
	for m := 60; m > 0; m-- {
		n := int64(1180 + 240*(m%17)/17 + r.IntN(90))
		bad := int64(14 + r.IntN(9))
		if m < 23 { // since the server of one merchant is down
			bad += int64(120 + r.IntN(40))
		}
		slow := time.Duration(7+r.IntN(5)) * time.Millisecond
		f.minutes = append(f.minutes, figures.Stats{
			Since:  ago(time.Duration(m) * time.Minute).Truncate(time.Minute),
			Counts: figures.Counts{Added: n, Succeeded: n - bad/8, Failed: bad / 40, Attempts: map[bellman.Result]int64{bellman.Accepted: n - bad/8, bellman.Unreachable: bad, bellman.Refused: 6}},
			Took:   figures.Percentiles{Count: n, P50: 38 * time.Millisecond, P99: 410 * time.Millisecond}, Lateness: figures.Percentiles{Count: n, P50: 2 * time.Millisecond, P90: 4 * time.Millisecond, P99: slow, Max: 3 * slow},
		})
	}
	f.stats, f.answered = f.minutes[59], 3
	f.stats.Since = ago(time.Hour)
	f.gauges = figures.Gauges{InFlight: 37, PoolLimit: 512, PoolCeiling: 2048, Waiting: 214, Loaded: 1840, Held: 168, Endpoints: 7, BreakersOpen: 1, Started: ago(31 * time.Hour), Fired: SceneNow}
	pause := &figures.Pause{At: ago(47 * time.Minute), Who: "li.wei", Reason: "the old system is being moved until 19:00"}
	queue := func(name, kind, schedule string, pending, waiting, in int, done, lost int64) figures.Queue {
		return figures.Queue{Name: name, Kind: kind, Schedule: schedule, Success: "success_text", Timeout: 10 * time.Second, Concurrency: 256, EndpointConcurrency: 64, Waiting: waiting, InFlight: in,
			Depth: store.Depth{Pending: int64(pending), Succeeded: done, Failed: lost}, LastMinute: figures.Counts{Added: int64(in * 32), Succeeded: int64(in * 31), Failed: lost / 900, Attempts: map[bellman.Result]int64{bellman.Accepted: int64(in * 33), bellman.Unreachable: lost / 90}}}
	}
	f.queues = []figures.Queue{
		queue("alipay-orders", "order", "order_poll", 1262, 3, 9, 402_118, 12), queue("legacy-notify", "notify", "0s, 1m*5, 10m*3", 46, 46, 0, 18_204, 31),
		queue("merchant-notify", "notify", "wechat_notify", 8471, 162, 21, 2_904_377, 1822), queue("refunds", "poll", "wechat_refund", 218, 0, 1, 20_417, 0), queue("wechat-orders", "order", "order_poll", 3310, 3, 6, 911_204, 27),
	}
	f.queues[1].Pause, f.queues[2].Rate = pause, 2000
	f.queues[3].Success, f.queues[0].Success, f.queues[4].Success = "", "", ""
	f.held = map[string]*figures.Pause{"legacy-notify": pause}
	for i, name := range sceneNodes {
		n := engine.NodeInfo{Name: name, Addr: fmt.Sprintf("10.20.4.%d:2356", 11+i), Version: "1.0.0", Joined: ago(31*time.Hour + time.Duration(i)*time.Minute), Beat: ago(time.Duration(300+200*i) * time.Millisecond), Alive: true, Self: i == 1}
		for shard := i; shard < 64; shard += 3 {
			n.Shards = append(n.Shards, store.Lease{Shard: uint16(shard), Epoch: int64(4 + i)})
		}
		f.nodes = append(f.nodes, n)
	}
	f.sources = []source.Info{{Name: "mq/payments", Into: "merchant-notify", State: "consuming", Since: ago(31 * time.Hour), Stored: 1_204_331, Dead: 2, InHand: 14}}
	s.health(r)
}

// health is that of the endpoints and merchants.
func (s *scene) health(r *rand.Rand) {
	f := s.fake
	hour := func(name string, each int, good func(minute int) bool, failure *figures.Failure) figures.Recent {
		out := figures.Recent{Name: name, LastAttempt: ago(2 * time.Second), LastSuccess: ago(3 * time.Second), Failure: failure}
		for m := 59; m >= 0; m-- {
			n := uint32(max(each+r.IntN(each/2+2), 1))
			minute := figures.Minute{At: SceneNow.Unix()/60 - int64(m), Attempts: n}
			if good(m) {
				minute.Accepted = n - min(n/16, uint32(r.IntN(3)))
			}
			out.Attempts, out.Accepted = out.Attempts+int64(n), out.Accepted+int64(minute.Accepted)
			out.Minutes = append(out.Minutes, minute)
		}
		return out
	}
	always := func(int) bool { return true }
	down := &figures.Failure{At: ago(9 * time.Second), Result: bellman.Unreachable, Error: "dial tcp 203.0.113.24:443: connect: connection refused"}
	busy := &figures.Failure{At: ago(4 * time.Second), Result: bellman.ErrorStatus, Status: 429, Response: "too many requests"}
	refused := &figures.Failure{At: ago(73 * time.Second), Result: bellman.Refused, Status: 200, Response: `{"code":"FAIL"}`}
	for _, e := range []struct {
		figures.Endpoint
		merchant string
		each     int
		good     func(int) bool
		failure  *figures.Failure
	}{
		{figures.Endpoint{Endpoint: "https://pay.teahouse.example:443", Limit: 64, InFlight: 4, Breaker: "closed"}, "M100237", 84, always, nil},
		{figures.Endpoint{Endpoint: "https://api.books.example:443", Limit: 1, Waiting: 148, Oldest: ago(22 * time.Minute), Breaker: "open"}, "M100412", 6, func(m int) bool { return m > 22 }, down},
		{figures.Endpoint{Endpoint: "https://notify.market.example:443", Limit: 12, Rate: 18, Waiting: 20, Oldest: ago(38 * time.Second), InFlight: 8, Breaker: "closed"}, "M100655", 22, func(m int) bool { return m > 3 }, busy},
		{figures.Endpoint{Endpoint: "https://api.mch.weixin.qq.com:443", Limit: 64, InFlight: 6, Breaker: "closed"}, "", 210, always, nil},
		{figures.Endpoint{Endpoint: "https://openapi.alipay.com:443", Limit: 64, InFlight: 9, Breaker: "closed"}, "", 96, always, nil},
		{figures.Endpoint{Endpoint: "https://shop.bicycle.example:443", Limit: 64, InFlight: 1, Breaker: "closed"}, "M100871", 3, always, refused},
	} {
		recent := hour(e.Endpoint.Endpoint, e.each, e.good, e.failure)
		e.SuccessRate, e.Attempts = recent.Rate(), 100
		if e.Breaker == "open" {
			e.SuccessRate, recent.Since, recent.Failed, recent.LastSuccess = 0, ago(22*time.Minute), 131, ago(22*time.Minute)
		}
		e.Hour = &recent
		f.endpoints = append(f.endpoints, e.Endpoint)
		f.recent = append(f.recent, recent)
		if e.merchant != "" {
			recent.Name = e.merchant
			f.recent = append(f.recent, recent)
		}
	}
	f.failing = []figures.FailingMerchant{{MerchantNo: "M100412", Since: ago(22 * time.Minute)}}
}

// tasks are notices of every state.
func (s *scene) tasks(t testing.TB) {
	t.Helper()
	notice := func(n int, merchant, host, event string, before time.Duration, to bellman.Status, log ...bellman.Attempt) bellman.ID {
		created := ago(before)
		no := fmt.Sprintf("2026112018%02d%06d", 24-int(before.Minutes())%24, 310_442+97*n)
		for i := range log {
			log[i].Node = sceneNodes[(n+2)%3]
			log[i].Timing = bellman.Timing{DNS: 2 * time.Millisecond, Connect: 9 * time.Millisecond, TLS: 21 * time.Millisecond, FirstByte: 8 * time.Millisecond}
			if log[i].Status != 0 && log[i].Result != bellman.Accepted {
				log[i].Header = "Content-Type: application/json\nServer: nginx/1.24.0\nX-Shop-Trace: 7f3a\n"
			}
		}
		return s.fake.add(t, &bellman.Task{Queue: "merchant-notify", Key: merchant + "/" + no + "/paid", MerchantNo: merchant, OrderNo: no, Event: event, URL: "https://" + host + "/bellman/notify", Method: "POST", Schedule: "wechat_notify", Success: "success_text",
			Timeout: 10 * time.Second, Header: map[string]string{"Content-Type": "application/json"}, Body: fmt.Appendf(nil, `{"order_no":%q,"amount":%d,"currency":"CNY","state":"SUCCESS","paid_at":%q}`, no, 990+n*1250, created.Format(time.RFC3339)),
			Endpoint: "https://" + host + ":443", Status: to}, created, log...).ID
	}
	try := func(before time.Duration, result bellman.Result, status int, answer, fault string) bellman.Attempt {
		return bellman.Attempt{Due: ago(before), Started: ago(before).Add(2 * time.Millisecond), Took: 43 * time.Millisecond, Result: result, Status: status, Response: answer, Error: fault}
	}
	accepted := func(before time.Duration) bellman.Status {
		return bellman.Status{State: bellman.Succeeded, Reason: "accepted", Step: 1, Finished: ago(before)}
	}
	const refusing = "dial tcp 203.0.113.24:443: connect: connection refused"
	for i := range 14 {
		before := time.Duration(3+4*i) * time.Second
		notice(i, "M100237", "pay.teahouse.example", "payment.succeeded", before, accepted(before), try(before, bellman.Accepted, 200, "success", ""))
	}
	s.accepted = notice(20, "M100871", "shop.bicycle.example", "payment.succeeded", 11*time.Minute, accepted(10*time.Minute+14*time.Second),
		try(11*time.Minute, bellman.Refused, 200, `{"code":"FAIL","message":"order not found yet"}`, ""), try(10*time.Minute+45*time.Second, bellman.ErrorStatus, 502, "<html><h1>502 Bad Gateway</h1></html>", ""), try(10*time.Minute+15*time.Second, bellman.Accepted, 200, "success", ""))
	s.waiting = notice(21, "M100655", "notify.market.example", "payment.succeeded", 9*time.Minute+4*time.Second, bellman.Status{Step: 4, Due: SceneNow.Add(57 * time.Second), VisibleAt: SceneNow.Add(57 * time.Second)},
		try(9*time.Minute+4*time.Second, bellman.ErrorStatus, 500, `{"code":"FAIL","message":"系统繁忙，请稍后再试"}`, ""), try(8*time.Minute+49*time.Second, bellman.TimedOut, 0, "", "no answer within 10s"),
		try(8*time.Minute+24*time.Second, bellman.ErrorStatus, 429, "too many requests", ""), try(5*time.Minute+20*time.Second, bellman.ErrorStatus, 429, "too many requests", ""))
	s.failed = notice(22, "M100412", "api.books.example", "refund.succeeded", 58*time.Minute, bellman.Status{State: bellman.Failed, Reason: "attempts_used_up", Step: 3, Finished: ago(12 * time.Minute)},
		try(58*time.Minute, bellman.Refused, 200, "fail", ""), try(57*time.Minute, bellman.Refused, 200, "fail", ""), try(12*time.Minute, bellman.Unreachable, 0, "", refusing))
	for i := range 5 {
		before := 21*time.Minute - time.Duration(i)*97*time.Second
		s.unreachable = notice(30+i, "M100412", "api.books.example", "payment.succeeded", before, bellman.Status{Step: 2, Due: SceneNow.Add(time.Duration(2+i) * time.Minute), VisibleAt: SceneNow.Add(time.Duration(2+i) * time.Minute)},
			try(before, bellman.Unreachable, 0, "", refusing), try(before-15*time.Second, bellman.Unreachable, 0, "", refusing))
	}
	s.mended = notice(40, "M100655", "notify.market.example", "payment.succeeded", 26*time.Minute, bellman.Status{State: bellman.Cancelled, Reason: "cancelled", Step: 1, Finished: ago(20 * time.Minute)}, try(26*time.Minute, bellman.ErrorStatus, 404, "not found", ""))
}

// orders are orders that were paid, closed, refunded, and not decided.
func (s *scene) orders(t testing.TB) {
	t.Helper()
	query := func(before time.Duration, reading, answer string) bellman.Attempt {
		return bellman.Attempt{Action: "query", Reading: reading, Result: bellman.Accepted, Status: 200, Response: answer, Due: ago(before), Started: ago(before), Took: 61 * time.Millisecond, Node: sceneNodes[2]}
	}
	place := func(no string, amount int64, before time.Duration, o order.Standing, to bellman.Status, log ...bellman.Attempt) bellman.ID {
		task := ordered(t, &bellman.Task{Queue: "wechat-orders", Key: "M100237/" + no, MerchantNo: "M100237", OrderNo: no, Event: "order.watch", Schedule: "order_poll", Status: to},
			o, order.Ask{Amount: amount, Currency: "CNY", Account: "shop1", ChannelOrderNo: "T" + no, Notify: order.Notify{URL: "https://pay.teahouse.example/bellman/notify"}})
		return s.fake.add(t, task, ago(before), log...).ID
	}
	place("20261120174803001", 12800, 36*time.Minute, order.Standing{State: "CLOSED", Decided: ago(6 * time.Minute)}, bellman.Status{State: bellman.Succeeded, Reason: "closed", Finished: ago(6 * time.Minute)},
		query(36*time.Minute-5*time.Second, "PENDING", `{"trade_state":"NOTPAY"}`), query(31*time.Minute, "PENDING", `{"trade_state":"NOTPAY"}`), query(6*time.Minute+2*time.Second, "PENDING", `{"trade_state":"NOTPAY"}`),
		bellman.Attempt{Action: "close", Reading: "closed", Result: bellman.Accepted, Status: 204, Due: ago(6*time.Minute + time.Second), Started: ago(6*time.Minute + time.Second), Took: 84 * time.Millisecond}, query(6*time.Minute, "CLOSED", `{"trade_state":"CLOSED"}`))
	place("20261120181733019", 4500, 7*time.Minute, order.Standing{State: "PAID", Decided: ago(6*time.Minute + 31*time.Second)}, bellman.Status{State: bellman.Succeeded, Reason: "paid", Finished: ago(6*time.Minute + 31*time.Second)},
		query(7*time.Minute-5*time.Second, "PENDING", `{"trade_state":"USERPAYING"}`), query(6*time.Minute+31*time.Second, "PAID", `{"trade_state":"SUCCESS","transaction_id":"4200002417202611208842"}`))
	place("20261120182011044", 9900, 4*time.Minute, order.Standing{State: "PENDING"}, bellman.Status{Due: SceneNow.Add(12 * time.Second), VisibleAt: SceneNow.Add(12 * time.Second)}, query(3*time.Minute+50*time.Second, "PENDING", `{"trade_state":"NOTPAY"}`), query(time.Minute, "PENDING", `{"trade_state":"NOTPAY"}`))
	s.undecided = place("20261120170209006", 268_000, 82*time.Minute, order.Standing{State: "UNKNOWN", Decided: ago(51 * time.Minute)}, bellman.Status{State: bellman.Failed, Reason: "unknown", Finished: ago(51 * time.Minute)},
		bellman.Attempt{Action: "query", Result: bellman.TimedOut, Error: "no answer within 10s", Due: ago(81 * time.Minute), Started: ago(81 * time.Minute), Took: 10 * time.Second},
		bellman.Attempt{Action: "query", Result: bellman.ErrorStatus, Status: 503, Response: `{"code":"SYSTEM_ERROR","message":"系统异常"}`, Due: ago(52 * time.Minute), Started: ago(52 * time.Minute), Took: 800 * time.Millisecond})
}

// hand are actions of people.
func (s *scene) hand(t testing.TB) {
	t.Helper()
	act := func(before time.Duration, who, action, target, reason string) store.Audit {
		return store.Audit{At: ago(before), Who: who, Action: action, Target: target, Reason: reason, From: "10.20.1.44"}
	}
	b := store.Batch{Audits: []store.Audit{
		act(13*time.Minute, "li.wei", "resend", s.failed.String(), "the merchant has mended its side"), act(20*time.Minute, "zhang.min", "cancel", s.mended.String(), "the merchant asked for it"),
		act(47*time.Minute, "li.wei", "pause", "queue/legacy-notify", "the old system is being moved until 19:00"), act(2*time.Hour, "ops", "sign_in", "console", ""),
	}}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// sceneID is an id that is always the same.
func sceneID(name string, at time.Time) bellman.ID {
	id := bellman.FirstID(at)
	sum := sha256.Sum256([]byte(name))
	copy(id[8:], sum[:8])
	id[6], id[8] = 0x70, id[8]&0x3f|0x80
	return id
}

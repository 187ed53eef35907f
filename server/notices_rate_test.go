package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store/memory"
)

// An unsure channel reads no notice, and counts what it is asked.
type unsure struct{ asked atomic.Int32 }

func (u *unsure) Query(context.Context, *order.Order) order.QueryAnswer {
	u.asked.Add(1)
	return order.QueryAnswer{Answer: readable("{}"), Reading: order.Pending}
}

func (u *unsure) Close(context.Context, *order.Order) order.CloseAnswer { return order.CloseAnswer{} }

func (u *unsure) ReadNotice(raw *order.RawNotice) ([]order.Notice, string, error) {
	return nil, string(raw.Body), fmt.Errorf("the signature is wrong")
}

func (u *unsure) AnswerNotice(bool, string) order.NoticeAnswer {
	return order.NoticeAnswer{Status: 400}
}

// Forged notices cause ten queries a second of one account, whichever of its queues they come to.
func TestForgedNoticesKeepTheRateOfTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, s := new(unsure), &Server{log: slog.New(slog.DiscardHandler), store: memory.New(), metrics: metrics.New("test")}
		s.notices = &notices{server: s}
		c := new(config.Config)
		var queues []engine.Queue
		for _, name := range []string{"shop", "app"} {
			h, err := order.New(u, order.Rules{OnExhausted: order.OnExhaustedAlert, Identity: "alipay:1", Expires: 20 * time.Hour, Tell: s.tellHeld})
			if err != nil {
				t.Fatal(err)
			}
			queues = append(queues, engine.Queue{Name: name, Kind: bellman.KindOrder, Handler: h, Schedule: "10h*", EndpointConcurrency: 1})
			c.Queues = append(c.Queues, config.Queue{Name: name})
		}
		stop, ctx := startEngine(t, s, queues, c), t.Context()
		const each = 200
		for i := range each {
			for _, q := range queues {
				task := &bellman.Task{Queue: q.Name, MerchantNo: "M1", OrderNo: fmt.Sprint(q.Name, i)}
				if err := s.engine.Add(ctx, task)[0].Err; err != nil {
					t.Fatal(err)
				}
			}
		}
		const seconds = 5
		for second := range seconds {
			for n := range each {
				for _, q := range queues {
					i := (second*2*maxHints + n) % each // others than those that were asked about before
					if _, err := s.notices.Receive(ctx, q.Name, "", nil, &order.RawNotice{Body: fmt.Append(nil, q.Name, i), At: time.Now()}); err == nil {
						t.Fatal("a forged notice was accepted")
					}
				}
			}
			time.Sleep(time.Second)
		}
		if asked := u.asked.Load(); asked == 0 || asked > seconds*maxHints {
			t.Errorf("%d queries in %d seconds; want 1 to %d", asked, seconds, seconds*maxHints)
		}
		stop()
	})
}

// However many accounts get forged notices, each keeps its limits.
func TestForgedNoticesKeepTheLimitsOfManyAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n noticeLimits
		passed := 0
		for range 20 {
			for i := range 2000 {
				_, ok := n.account(fmt.Sprint("wechatpay:", i)).records.Enter(fmt.Sprint(passed))
				if i == 0 && ok {
					passed++
				}
			}
		}
		if passed != maxRefused {
			t.Errorf("%d records of one account within a minute; want %d", passed, maxRefused)
		}
		for i := range 2 * maxLimited {
			n.account(fmt.Sprint("alipay:", i))
		}
		if len(n.of) > maxLimited+1 {
			t.Errorf("the limits of %d accounts are kept; want %d at most", len(n.of), maxLimited+1)
		}
	})
}

// While the store is away, notices from strangers write one line a second for each queue.
func TestNoticesThatCannotBeReceivedFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		n := &notices{server: &Server{log: slog.New(slog.NewTextHandler(&log, nil))}}
		away := func(_ context.Context, name string) (order.Account[order.Channel], error) {
			return order.Account[order.Channel]{}, fmt.Errorf("read account %s: %w", name, bellman.ErrUnreachable)
		}
		n.set(map[string]*queueReceivers{"shop": {accounts: away, limits: &n.limits}})
		for range 2 {
			for i := range 200 {
				r := httptest.NewRequest(http.MethodPost, "/notices/shop/account", nil)
				r.SetPathValue("queue", "shop")
				r.SetPathValue("account", strings.Repeat("x", 10_000)+fmt.Sprint(i))
				w := httptest.NewRecorder()
				if n.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable {
					t.Fatalf("answered %d %s; want 503", w.Code, w.Body)
				}
			}
			time.Sleep(time.Second)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 || log.Len() > 2000 || !strings.Contains(log.String(), "others=199") {
			t.Errorf("%d lines, %d bytes: %.2000s; want 2 short ones, the second after 199 others", lines, log.Len(), &log)
		}
	})
}

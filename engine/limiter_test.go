package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A limited handler says how many attempts each endpoint takes in an hour.
type limited struct {
	*receiver
	hourly *atomic.Int64
}

func (l limited) Limits() bool { return true }

func (l limited) RateOf(_ context.Context, endpoint string) (float64, error) {
	if endpoint != "account" {
		return 0, nil
	}
	return float64(l.hourly.Load()) / 3600, nil
}

// The tasks of two queues for one endpoint share the rate that their handlers say, those for
// another endpoint do not, and a new rate holds at once.
func TestQueuesShareTheRateOfAnEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, other := &receiver{answer: accept}, &receiver{answer: accept}
		hourly := new(atomic.Int64)
		hourly.Store(60)
		e, stop := runWith(t, engine.Options{Store: memory.New(), Queues: []engine.Queue{
			{Name: "orders", Handler: limited{shared, hourly}},
			{Name: "refunds", Handler: limited{shared, hourly}},
			{Name: "others", Handler: limited{other, hourly}},
		}})
		defer stop()
		for range 100 {
			add(t, e, &bellman.Task{Queue: "orders", Endpoint: "account"})
			add(t, e, &bellman.Task{Queue: "refunds", Endpoint: "account"})
			add(t, e, &bellman.Task{Queue: "others", Endpoint: "free"})
		}
		made := func(after time.Duration, want, slack int) {
			t.Helper()
			before := len(shared.times())
			time.Sleep(after)
			synctest.Wait()
			if n := len(shared.times()) - before; n < want-slack || n > want+slack {
				t.Errorf("%d attempts of both queues in %v; want %d", n, after, want)
			}
		}
		made(30*time.Minute, 30, 1) // one a minute
		if n := len(other.times()); n != 100 {
			t.Errorf("%d attempts to the endpoint without a rate; want 100", n)
		}
		hourly.Store(600)
		e.Relimited("account")
		made(10*time.Minute, 100, 1)
	})
}

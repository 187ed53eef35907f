package poll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/alerts"
	"github.com/bellmanhq/bellman/schedule"
)

// Rules of a queue of polls.
type Rules struct {
	// Request says that each task asks the channel for its refund, and polls it then. It needs a
	// channel that is a [Requester].
	Request bool

	// Of is what the queue polls: refund, transfer or profitsharing. It is a part of the alias.
	// Default: refund.
	Of order.NoticeOf

	// Identity says which account the queue's own channel is, for tasks that name none; see
	// [order.Account].
	Identity string

	// Endpoint names the account for limits: rate, concurrency and breaker belong to it. Empty: the
	// queue is one account.
	Endpoint string

	// Accounts, Default and Rate are those of [order.Rules].
	Accounts order.Accounts[Channel]
	Default  string
	Rate     func(ctx context.Context, endpoint string) (float64, error)

	// Orders returns all tasks of an order of a merchant, in any queue. Check asks it for a refund
	// without a ChannelOrderNo, and gives the refund the number by which the channel knows the
	// order. It must bound its time. Nil: the channel is asked about the task's OrderNo.
	Orders func(ctx context.Context, merchantNo, orderNo string) ([]*bellman.Task, error)

	// Known returns the task of the order that an account knows under a number; nil: bellman has
	// none. Check asks it, and refuses a caller's refund of another merchant's order. It must bound
	// its time. Nil: that is not checked.
	Known func(ctx context.Context, account, number string) (*bellman.Task, error)

	// Then says who is notified how it ended. Its Taken gets the fields of a query's answer; its
	// state is DONE or FAILED_THERE.
	Then order.Then

	// Alert is called when a person has to act. The tasks that it returns are added in the
	// transaction that records the attempt. If the attempt is lost, Alert is called again. Nil: the
	// alert is logged, as it is if Alert panics.
	Alert func(task *bellman.Task, a order.Alert) []bellman.Task
	Log   *slog.Logger // default slog.Default()

	// Schedules is a cache of parsed schedules that may be shared. Default: the handler's own.
	Schedules *schedule.Cache

	// Now is the clock of due times. Default time.Now.
	Now func() time.Time
}

// OfProfitSharing is a profit sharing; it stands beside [order.OfRefund] and [order.OfTransfer].
const OfProfitSharing order.NoticeOf = "profitsharing"

// A Handler polls the refunds or transfers of one queue, whose Kind is [bellman.KindPoll]. It is
// safe for concurrent use.
type Handler struct {
	channel   Channel // nil: there are only accounts
	rules     Rules
	schedules *schedule.Cache
}

// Channel returns the queue's own channel; nil: every task belongs to one of Accounts.
func (h *Handler) Channel() Channel { return h.channel }

var (
	_ bellman.Handler   = (*Handler)(nil)
	_ bellman.Checker   = (*Handler)(nil)
	_ bellman.Completer = (*Handler)(nil)
	_ bellman.Latecomer = (*Handler)(nil)
	_ bellman.Limiter   = (*Handler)(nil)
)

// New returns the handler of a queue of polls at the channel c, which may be nil if there is a
// Default account. An error wraps a *[bellman.Invalid] that names the wrong rule as the
// configuration does.
func New(c Channel, r Rules) (*Handler, error) {
	if c == nil && (r.Accounts == nil || r.Default == "") {
		return nil, errors.New("poll: there is no channel to ask")
	}
	h := &Handler{channel: c, schedules: cmp.Or(r.Schedules, new(schedule.Cache))}
	if r.Request && c != nil {
		if _, ok := c.(Requester); !ok {
			return nil, fmt.Errorf("poll: %w", bellman.InvalidField("request", "the channel cannot request, only query"))
		}
	}
	r.Of = cmp.Or(r.Of, order.OfRefund)
	switch r.Of {
	case order.OfRefund, order.OfTransfer, OfProfitSharing:
	default:
		return nil, fmt.Errorf("poll: %w", bellman.InvalidField("of", fmt.Sprintf("%q: want refund, transfer or profitsharing", r.Of)))
	}
	r.Log = cmp.Or(r.Log, slog.Default())
	if r.Now == nil {
		r.Now = time.Now
	}
	r.Alert = alerts.Guard(r.Alert, r.Log, func(t *bellman.Task, a order.Alert) {
		r.Log.Error("a refund or transfer needs manual action", "task", t.ID, "queue", t.Queue,
			"merchant_no", t.MerchantNo, "order_no", t.OrderNo, "poll_state", a.State, "err", a.Why)
	})
	h.rules = r
	return h, nil
}

func (h *Handler) plan(t *bellman.Task) (*plan, error) {
	s, err := h.schedules.Parse(cmp.Or(t.Schedule, "wechat_refund"))
	if err != nil {
		return nil, err
	}
	p := &plan{schedule: s, began: t.Began, timeout: t.Timeout, requests: h.rules.Request}
	if t.MaxAge > 0 {
		p.max = t.Began.Add(t.MaxAge)
	}
	return p, nil
}

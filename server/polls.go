package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/alipay"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/order/wechatpay"
	"github.com/bellmanhq/bellman/store"
)

// pollHandler makes the handler of a queue of kind poll. notify are the handlers of the queues that
// may report how a refund or transfer ended.
func (s *Server) pollHandler(q *config.Queue, c *config.Config, notify map[string]bellman.Handler) (*poll.Handler, error) {
	account := &q.Order.Channel
	var channel poll.Channel // nil: the accounts have them
	if account.Account == "" {
		var err error
		if channel, err = s.pollChannel(q); err != nil {
			return nil, ofChannel(account.Kind, err)
		}
	}
	then, err := s.thenOf(&q.Order, c, notify)
	if err != nil {
		return nil, err
	}
	return poll.New(channel, poll.Rules{
		Request:   q.Poll.BuiltIn || q.Poll.Request.URL != "",
		Of:        order.NoticeOf(account.Of),
		Endpoint:  account.Endpoint(),
		Identity:  account.Identity(),
		Accounts:  s.pollAccounts(q),
		Default:   account.Account,
		Rate:      s.ratesOf(q),
		Orders:    s.tasksOf,
		Known:     s.orderAt,
		Then:      then,
		Alert:     s.pollAlert,
		Log:       s.log,
		Schedules: &s.schedules,
		Now:       func() time.Time { return s.engine.Now() }, // the engine is set before the first task
	})
}

// tasksOf returns all tasks of an order.
func (s *Server) tasksOf(ctx context.Context, merchantNo, orderNo string) (all []*bellman.Task, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var before bellman.ID
	for {
		page, next, err := s.store.List(ctx, store.Filter{MerchantNo: merchantNo, OrderNo: orderNo}, before, 200)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); next.IsZero() {
			return all, nil
		}
		before = next
	}
}

// orderAt returns the task of the order that an account knows under a number; nil: there is none.
func (s *Server) orderAt(ctx context.Context, account, number string) (*bellman.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	t, err := s.keyed(ctx, "", order.Alias(account, order.OfPayment, number))
	if errors.Is(err, bellman.ErrNotFound) {
		return nil, nil
	}
	return t, err
}

// pollAlert reports a refund or transfer that needs manual action, as alert does.
func (s *Server) pollAlert(t *bellman.Task, a order.Alert) []bellman.Task {
	refNo := poll.StandingOf(t).RefNo
	s.log.Error("a refund or transfer needs manual action", "task", t.ID, "queue", t.Queue, "merchant_no", t.MerchantNo,
		"order_no", t.OrderNo, "ref_no", refNo, "poll_state", a.State, "err", a.Why)
	s.metrics.Alerted(t.Queue, a.State)
	return s.alarms.Needed(alarm.PollNeedsAction, a.Once, t, alarm.Case{RefNo: refNo, State: a.State, Why: a.Why}, s.engine.Now())
}

// pollChannel makes the channel of a queue of kind poll.
func (s *Server) pollChannel(q *config.Queue) (poll.Channel, error) {
	o := &q.Order
	switch of := order.NoticeOf(o.Channel.Of); o.Channel.Kind {
	case "wechatpay":
		return wechatpay.NewPoll(of, s.wechat(q))
	case "alipay":
		return alipay.NewPoll(of, s.alipay(q))
	}
	if o.Channel.Provider.Provider != "" {
		return gateway.NewProviderRefunds(s.provider(q))
	}
	query, err := readings(o.States, states.CompilePoll, states.CompilePollRules)
	if err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	about, err := aboutOf(o.About)
	if err != nil {
		return nil, err
	}
	return gateway.NewPoll(gateway.PollOptions{
		Query: o.Query, Request: q.Poll.Request, States: query, About: about, Sign: q.Sign, Transport: s.transport(q),
	})
}

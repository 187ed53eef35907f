package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

// A receiver reads the notices for the orders of one account of a queue.
type receiver struct {
	queue   string
	account string // its identity
	reader  order.NoticeReader
	limits  *limits // of the account
}

// queueReceivers are the receivers of a queue.
type queueReceivers struct {
	own      *receiver                     // of the queue's own channel; nil: there is none, or it sends no notices
	accounts order.Accounts[order.Channel] // that orders may name; nil: none
	fallback string                        // the account of a notice that names none; empty: own
	limits   *noticeLimits                 // of all queues
}

// receivers returns the queues that receive notices, and everything that is refused.
func (s *Server) receivers(queues []engine.Queue, c *config.Config) (receivers map[string]*queueReceivers, wrong config.Problems) {
	receivers = make(map[string]*queueReceivers)
	for i := range queues {
		q := &queues[i]
		h, is := q.Handler.(*order.Handler)
		if !is {
			continue
		}
		to := &queueReceivers{limits: &s.notices.limits, fallback: c.Queues[i].Order.Channel.Account}
		if kind := c.Queues[i].Order.Channel.Kind; kind != "" && kind != programChannel || to.fallback != "" {
			to.accounts = s.orderAccounts(&c.Queues[i])
		}
		reader, is := h.Channel().(order.NoticeReader)
		if own := c.Queues[i].Order.Notice; own != nil {
			var err error
			if reader, err = noticeReader(own); err != nil {
				wrong = append(wrong, c.Refused("queues."+q.Name+".notice", err)...)
				continue
			}
			is = true
		}
		if is {
			account := h.Identity(q.Name)
			to.own = &receiver{queue: q.Name, account: account, reader: reader, limits: to.limits.account(account)}
		}
		if is || to.accounts != nil {
			receivers[q.Name] = to
		}
	}
	return receivers, wrong
}

// noticeReader makes the reader of a gateway's notices.
func noticeReader(c *config.Notice) (order.NoticeReader, error) {
	o := gateway.NoticeOptions{
		Verify: c.Verify, Items: c.Items,
		Accepted: order.NoticeAnswer{Status: c.Accepted.Status, Body: c.Accepted.Body},
		Refused:  order.NoticeAnswer{Status: c.Refused.Status, Body: c.Refused.Body},
	}
	var err error
	if o.Order, err = rule.CompileValue(c.Order); err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	if c.State != "" {
		o.States, err = states.CompileQueryValue(c.State)
	} else {
		o.States, err = readings(c.States, states.CompileQuery, states.CompileQueryRules)
	}
	if err != nil {
		return nil, fmt.Errorf("states: %w", err)
	}
	return gateway.NewNotices(o)
}

// receiver returns who reads the notices for an account of a queue; an empty name: of the queue.
func (n *notices) receiver(ctx context.Context, queue, account string) (*receiver, error) {
	to := (*n.receivers.Load())[queue]
	if to == nil {
		return nil, noReceiver(queue, account)
	}
	return to.account(ctx, queue, account)
}

// noReceiver refuses a notice for a queue or account whose channel sends none.
func noReceiver(queue, account string) error {
	at := "/notices/" + queue
	if account != "" {
		at += "/" + account
	}
	return &order.RefusedNotice{Why: fmt.Errorf("no notices are received at %.160q: want a queue of orders with a built-in channel, or with notice, or a registered account", at)}
}

// account returns the receiver of an account by its name; empty: of the queue.
func (to *queueReceivers) account(ctx context.Context, queue, name string) (*receiver, error) {
	if name == "" && to.own != nil {
		return to.own, nil
	}
	if to.accounts == nil || name == "" && to.fallback == "" {
		return nil, noReceiver(queue, name)
	}
	name = cmp.Or(name, to.fallback)
	at, err := to.accounts(ctx, name)
	wrong := new(bellman.Invalid)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		return nil, &order.RefusedNotice{Why: fmt.Errorf("account %.128q is not registered", name)}
	case errors.As(err, &wrong):
		return nil, &order.RefusedNotice{Why: err}
	case err != nil:
		return nil, err
	}
	reader, is := at.Channel.(order.NoticeReader)
	if !is {
		return nil, fmt.Errorf("account %.128q cannot read notices now", name) // its keys cannot be opened
	}
	return &receiver{queue: queue, account: at.Identity, reader: reader, limits: to.limits.account(at.Identity)}, nil
}

package poll

import (
	"cmp"
	"context"
	"errors"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/order"
)

// Unavailable returns a Channel that cannot be asked because of err: no answer of it says anything
// about a refund. It is a [Requester] that sends nothing.
func Unavailable(err error) Channel { return unavailable{err} }

type unavailable struct{ why error }

func (u unavailable) answer() order.Answer {
	return order.Answer{Result: bellman.Blocked, Error: u.why.Error()}
}

func (u unavailable) Query(context.Context, *order.Order) Answer { return Answer{Answer: u.answer()} }

func (u unavailable) Request(context.Context, *order.Order) RequestAnswer {
	return RequestAnswer{Answer: u.answer()}
}

// Limits reports whether the queue has accounts with rates, which makes a Handler a
// [bellman.Limiter].
func (h *Handler) Limits() bool { return h.rules.Rate != nil }

// RateOf returns the rate of an account's endpoint.
func (h *Handler) RateOf(ctx context.Context, endpoint string) (float64, error) {
	if h.rules.Rate == nil {
		return 0, nil
	}
	return h.rules.Rate(ctx, endpoint)
}

// accept returns the account of a new task, and writes its name into ask.
func (h *Handler) accept(bad *bellman.Invalid, queue string, ask *Ask) (order.Account[Channel], error) {
	name := cmp.Or(ask.Account, h.rules.Default)
	own := order.Account[Channel]{Channel: h.channel, Identity: cmp.Or(name, h.rules.Identity, "queue:"+queue), Endpoint: h.rules.Endpoint}
	ask.Account = name
	return h.rules.Accounts.Accept(bad, name, own, func(c Channel) error {
		if _, requests := c.(Requester); h.rules.Request && !requests {
			return coded.Errorf("order.no_request", "%.128q cannot request this, as the queue does", name)
		}
		return nil
	})
}

// channelOf returns the channel of a task: its account's, or the queue's own. If it cannot be
// asked, it is one that says so.
func (h *Handler) channelOf(ctx context.Context, w *polled) Channel {
	c, err := h.rules.Accounts.Placed(ctx, cmp.Or(w.ask.Account, h.rules.Default), w.task.Alias(), h.channel, h.rules.Identity)
	if err != nil {
		return unavailable{err}
	}
	return c
}

// request asks a channel for a refund. If the channel cannot request, it has replaced another one
// since the task was accepted.
func request(ctx context.Context, c Channel, o *order.Order) RequestAnswer {
	if r, ok := c.(Requester); ok {
		return r.Request(ctx, o)
	}
	return unavailable{errors.New("the channel cannot request, only query")}.Request(ctx, o)
}

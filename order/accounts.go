package order

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

// An Account is one account at a payment channel. C is a [Channel], or what queries refunds there.
type Account[C any] struct {
	Channel C

	// Identity says which account it is at its provider: wechatpay:MCH, wechatpay:MCH:SUB,
	// alipay:APP. The channel's numbers are unique within it. Two names with one Identity are one
	// account.
	Identity string

	// Endpoint names what the provider's limits count: all accounts of one WeChat Pay merchant have
	// the same. Its rate and its pace are shared by all tasks that go there.
	Endpoint string
}

// Accounts returns an account by its name. The error is a [bellman.ErrNotFound] if there is none.
// If the account cannot be used now, its Channel says why (see [Unavailable]). It may be called
// concurrently, and should answer from memory.
type Accounts[C any] func(ctx context.Context, name string) (Account[C], error)

// account calls f. A panic is an error: the account cannot be used now.
func (f Accounts[C]) account(ctx context.Context, name string) (at Account[C], err error) {
	err = guard("the channel", func() (err error) {
		at, err = f(ctx, name)
		return err
	})
	return at, err
}

// Accept returns the account that a new task names, or own if it names none or f is nil. can
// returns an error if a channel lacks what the queue needs. That error, and an unknown name, are
// added to bad. Another error means that the account cannot be read now.
func (f Accounts[C]) Accept(bad *bellman.Invalid, name string, own Account[C], can func(C) error) (at Account[C], err error) {
	if name == "" || f == nil {
		return own, nil
	}
	wrong := new(bellman.Invalid)
	switch at, err = f.account(context.Background(), name); { // f bounds its time
	case errors.As(err, &wrong):
		bad.Fields = append(bad.Fields, wrong.Fields...)
	case errors.Is(err, bellman.ErrNotFound):
		bad.Note("account", coded.Errorf("order.no_account", "%.128q is not registered: want the name of an account", name))
	case err != nil:
		return at, fmt.Errorf("account %.128q: %w", name, err)
	default:
		if err := can(at.Channel); err != nil {
			bad.Note("account", err)
		}
	}
	return at, nil
}

// Placed returns the channel to ask about a task that was accepted under an alias: that of the
// account with a name, or own if the name is empty or f is nil. identity is own's; empty: it is not
// known, as of a gateway. An error says why the channel cannot be asked now.
func (f Accounts[C]) Placed(ctx context.Context, name, alias string, own C, identity string) (C, error) {
	if name == "" && identity != "" && alias != "" && !strings.HasPrefix(alias, identity+"/") && !strings.HasPrefix(alias, ofQueue) {
		return own, fmt.Errorf("the queue's channel is another account now, %s: it is not asked about %s", identity, alias)
	}
	if name == "" || f == nil {
		return own, nil
	}
	at, err := f.account(ctx, name)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		err = fmt.Errorf("account %.128q is not registered any more: it is asked again when it is", name)
	case err != nil:
		err = fmt.Errorf("account %.128q: %w", name, err)
	case alias != "" && !strings.HasPrefix(alias, at.Identity+"/"):
		// Another account's "no such order" must not close this one.
		err = fmt.Errorf("account %.128q is another one now, %s: it is not asked about %s", name, at.Identity, alias)
	}
	return at.Channel, err
}

// ofQueue begins the alias of a task whose queue's channel says nothing about itself.
const ofQueue = "queue:"

// Unavailable returns a Channel that cannot be asked because of err: no answer of it says anything
// about an order. It is a [Reverser].
func Unavailable(err error) Channel { return unavailable{err} }

type unavailable struct{ why error }

func (u unavailable) answer() Answer {
	return Answer{Result: bellman.Blocked, Error: u.why.Error()}
}

func (u unavailable) Query(context.Context, *Order) QueryAnswer {
	return QueryAnswer{Answer: u.answer()}
}

func (u unavailable) Close(context.Context, *Order) CloseAnswer {
	return CloseAnswer{Answer: u.answer()}
}

func (u unavailable) Reverse(context.Context, *Order) CloseAnswer {
	return CloseAnswer{Answer: u.answer()}
}

// AccountOf returns the name of the account that a task of an order or poll names; empty: its
// queue's own.
func AccountOf(task *bellman.Task) string {
	var body struct {
		Account string `json:"account"`
	}
	if task.Event == EventNotice || json.Unmarshal(task.Body, &body) != nil {
		return ""
	}
	return body.Account
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

// accept returns the account of a new order, and writes its name into ask.
func (h *Handler) accept(bad *bellman.Invalid, queue string, ask *Ask) (Account[Channel], error) {
	name := cmp.Or(ask.Account, h.rules.Default)
	own := Account[Channel]{Channel: h.channel, Identity: cmp.Or(name, h.Identity(queue)), Endpoint: h.rules.Endpoint}
	ask.Account = name
	return h.rules.Accounts.Accept(bad, name, own, func(c Channel) error {
		if _, reverses := c.(Reverser); h.reverses && !reverses {
			return coded.Errorf("order.no_reverse", "%.128q cannot reverse orders, as this queue does", name)
		}
		return nil
	})
}

// channelOf returns the channel of an order: its account's, or the queue's own. If it cannot be
// asked, it is one that says so.
func (h *Handler) channelOf(ctx context.Context, w *watched) Channel {
	c, err := h.rules.Accounts.Placed(ctx, cmp.Or(w.ask.Account, h.rules.Default), w.alias(), h.channel, h.rules.Identity)
	if err != nil {
		return unavailable{err}
	}
	return c
}

// alias is the alias of the order, also for the watch that follows its close.
func (w *watched) alias() string {
	if w.ask.Watch != nil {
		return w.ask.Watch.Alias
	}
	return w.task.Alias()
}

package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order/internal/alerts"
	"github.com/bellmanhq/bellman/schedule"
)

// Rules of a queue of orders.
type Rules struct {
	Expires       time.Duration // from creation to expiry, for orders that do not say themselves; default 30m
	Grace         time.Duration // from expiry to the first step of the close; 0: none
	MinCloseAge   time.Duration // no close before this age of the order; WeChat Pay asks for 5m
	MinReverseAge time.Duration // no reverse before this age; default 15s (WeChat Pay), negative: none

	// OnExhausted says what happens when the schedule is used up before the order has expired or is
	// decided. Required. OnExhaustedReverse needs a channel that is a Reverser; an order that
	// expires or fails is then reversed too, not closed.
	OnExhausted OnExhausted

	Confirm       string        // the schedule of the queries after a close; it must end; default "0s, 5s, 25s"
	LateWatch     time.Duration // how long the order is watched after CLOSED, REVOKED or FAILED; default 15m, negative: not at all
	WatchSchedule string        // of the watch; default "30s, 1m*15, 5m*24, 30m*"

	// GiveUp bounds the attempts after expiry. If no answer decides the order until then, the order
	// is UNKNOWN, with an alert. Default 24h; if orders are reversed 7 days, which is how long
	// WeChat Pay accepts a reverse.
	GiveUp time.Duration

	// ChannelExpires says that orders also expire at the channel. Then an order counts as closed if
	// both the query and the close right after it answer that there is no such order.
	ChannelExpires bool

	// CodeLife is how long after creation the payer's code can be scanned and paid. The channel
	// does not know an order before that scan. If such an order counts as closed, the watch for a
	// late payment lasts at least that long. Default 2h, as an Alipay code; negative: LateWatch
	// alone counts. An order may override it.
	CodeLife time.Duration

	// Endpoint names the account at the channel. Rate, concurrency and breaker belong to it. Empty:
	// the queue is one account.
	Endpoint string

	// Identity says which account the queue's own channel is; see [Account]. Orders of queues with
	// the same Identity share the channel's numbers: two of them cannot have the same one. Empty:
	// the queue is an account of its own.
	Identity string

	// Accounts are accounts that an order may name. Nil: there are none, and the Account of an
	// order is for the channel alone. Default is the account of orders that name none; empty: the
	// queue's own channel.
	Accounts Accounts[Channel]
	Default  string

	// Rate returns how many requests the endpoint of one of these accounts takes in a second; 0: no
	// limit but the queue's. Nil: none has one.
	Rate func(ctx context.Context, endpoint string) (float64, error)

	Then Then

	// Alert is called when a person has to act: an order is UNKNOWN, another amount was paid, a
	// payment came late or has no order. The tasks that it returns are added in the transaction
	// that records the attempt. If the attempt is lost, Alert is called again. Nil: the alert is
	// logged, as it is if Alert panics.
	Alert func(task *bellman.Task, a Alert) []bellman.Task
	Log   *slog.Logger // default slog.Default()

	// Tell applies a notice that was held to its order, if that exists by now. Nil: the queue
	// receives no notices.
	Tell func(ctx context.Context, queue string, told *Told) (found bool, err error)

	// Life returns the progress of the task with a key in a queue. An order's own task and its
	// watch for a late payment read each other's, so that a payment that one of them knows is
	// notified once, and another payment is a duplicate. It must return within seconds. A task that
	// does not exist is an error that wraps [bellman.ErrNotFound]. Nil: each task knows its own
	// payments alone.
	Life func(ctx context.Context, queue, key string) (Life, error)

	// Schedules is a cache of parsed schedules that may be shared. Default: the handler's own.
	Schedules *schedule.Cache

	// Now is the clock of due times. Default time.Now.
	Now func() time.Time
}

// OnExhausted is what happens when a poll schedule is used up.
type OnExhausted string

// An Alert says that a person has to act.
type Alert struct {
	Kind  AlertKind
	State string // of the order, refund or transfer
	Why   string // in one line

	// Once names a payment that several tasks can find: an alert with the same name is the same.
	// Empty: only this task finds what it is about.
	Once string
}

// An AlertKind says what happened.
type AlertKind string

// The kinds of alerts.
const (
	AlertUndecided AlertKind = "undecided"             // the order is UNKNOWN, could not be reversed so far, nobody knows whether a payment came late, or somebody could not be told
	AlertMismatch  AlertKind = "amount_mismatch"       // another amount than the order's was paid
	AlertLate      AlertKind = "late_payment"          // a payment came after the decision, or a second one
	AlertUnclaimed AlertKind = "payment_without_order" // a notice says that somebody paid, and its order has not come
	AlertPoll      AlertKind = "poll"                  // a refund or transfer: its schedule is used up, or the channel refuses or contradicts
)

// What can happen when a poll schedule is used up.
const (
	OnExhaustedClose    OnExhausted = "close"    // the order is closed at the channel
	OnExhaustedReverse  OnExhausted = "reverse"  // the order is reversed, paid or not
	OnExhaustedCallback OnExhausted = "callback" // the order is UNKNOWN, and the merchant is notified
	OnExhaustedAlert    OnExhausted = "alert"    // the order is UNKNOWN, and Alert is called
)

func (r Rules) withDefaults() Rules {
	r.Expires = cmp.Or(r.Expires, 30*time.Minute)
	r.MinReverseAge = cmp.Or(r.MinReverseAge, 15*time.Second)
	r.Confirm = cmp.Or(r.Confirm, "0s, 5s, 25s")
	r.LateWatch = cmp.Or(r.LateWatch, 15*time.Minute)
	r.WatchSchedule = cmp.Or(r.WatchSchedule, "30s, 1m*15, 5m*24, 30m*")
	r.CodeLife = cmp.Or(r.CodeLife, 2*time.Hour)
	if r.GiveUp == 0 && r.OnExhausted == OnExhaustedReverse {
		r.GiveUp = 7 * 24 * time.Hour
	}
	r.GiveUp = cmp.Or(r.GiveUp, 24*time.Hour)
	r.Log = cmp.Or(r.Log, slog.Default())
	r.Alert = alerts.Guard(r.Alert, r.Log, func(t *bellman.Task, a Alert) {
		r.Log.Error("an order needs manual action", "task", t.ID, "queue", t.Queue,
			"merchant_no", t.MerchantNo, "order_no", t.OrderNo, "order_state", a.State, "err", a.Why)
	})
	if r.Now == nil {
		r.Now = time.Now
	}
	return r
}

// A Handler watches the orders of one queue, whose Kind is [bellman.KindOrder]. It is safe for
// concurrent use.
type Handler struct {
	channel  Channel // nil: there are only accounts
	reverses bool    // instead of closing
	rules    Rules
	confirm  *schedule.Schedule
	polls    *schedule.Cache

	firstLook time.Duration // of Rules.WatchSchedule
}

// Identity returns that of the own account of a queue with this handler, which is never empty.
func (h *Handler) Identity(queue string) string { return cmp.Or(h.rules.Identity, ofQueue+queue) }

// Channel returns the queue's own channel; nil: every order belongs to one of Accounts.
func (h *Handler) Channel() Channel { return h.channel }

var (
	_ bellman.Handler   = (*Handler)(nil)
	_ bellman.Checker   = (*Handler)(nil)
	_ bellman.Completer = (*Handler)(nil)
	_ bellman.Latecomer = (*Handler)(nil)
	_ bellman.Limiter   = (*Handler)(nil)
)

// New returns the handler of a queue of orders at the channel c, which may be nil if there is a
// Default account. An error wraps a *[bellman.Invalid] that names every wrong rule as the
// configuration does.
func New(c Channel, r Rules) (*Handler, error) {
	if c == nil && (r.Accounts == nil || r.Default == "") {
		return nil, errors.New("order: there is no channel to ask")
	}
	h := &Handler{channel: c, rules: r.withDefaults(), polls: cmp.Or(r.Schedules, new(schedule.Cache))}
	r = h.rules
	bad := new(bellman.Invalid)
	for _, span := range []struct {
		name string
		d    time.Duration
	}{{"expires", r.Expires}, {"grace", r.Grace}, {"min_close_age", r.MinCloseAge}, {"give_up", r.GiveUp}} {
		if span.d < 0 {
			bad.Add(span.name, fmt.Sprintf("%v is negative", span.d))
		}
	}
	switch r.OnExhausted {
	case OnExhaustedClose, OnExhaustedAlert:
	case OnExhaustedReverse:
		h.reverses = true
		if _, ok := c.(Reverser); !ok && c != nil {
			bad.Add("on_exhausted", "the channel cannot reverse: want close, callback or alert")
		}
	case OnExhaustedCallback:
		if len(r.Then.recipients(StateUnknown)) == 0 {
			bad.Add("on_exhausted", "callback tells the queue of then, and there is none")
		}
	default:
		bad.Add("on_exhausted", fmt.Sprintf("%q: want close, reverse, callback or alert", r.OnExhausted))
	}
	var err error
	if h.confirm, err = schedule.Parse(r.Confirm); err != nil {
		bad.Note("confirm", err)
	} else if n, finite := h.confirm.Attempts(); !finite || n == 0 {
		bad.Add("confirm", fmt.Sprintf("%q: want a schedule that ends", r.Confirm))
	}
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	watch, err := h.polls.Parse(r.WatchSchedule)
	if err != nil {
		return nil, fmt.Errorf("order: watch schedule: %w", err)
	}
	h.firstLook, _ = watch.Gap(0)
	return h, nil
}

// A plan holds the times and decisions that the rules give for one order.
type plan struct {
	poll    *schedule.Schedule
	confirm *schedule.Schedule
	began   time.Time // of the schedule

	pollMax  time.Time // the schedule ends then; zero: by its attempts alone
	pollLast time.Time // its last attempt, if none is late; zero: it does not end
	expired  time.Time // the end begins then, at the latest
	from     time.Time // no close or reverse before
	giveUp   time.Time // nothing is tried any more after this
	codeEnds time.Time // an order that the channel does not know can be paid until then
	until    time.Time // a watch for a late payment ends then
	unborn   bool      // of such a watch: the channel did not know the order when it was closed

	onExhausted    OnExhausted
	reverses       bool // instead of closing
	channelExpires bool
	lateWatch      time.Duration // not above 0: none
}

func (h *Handler) plan(t *bellman.Task, ask *Ask) (*plan, error) {
	r := &h.rules
	poll, err := h.polls.Parse(cmp.Or(t.Schedule, "order_poll"))
	if err != nil {
		return nil, err
	}
	p := &plan{
		poll: poll, confirm: h.confirm, began: t.Began,
		onExhausted: r.OnExhausted, reverses: h.reverses,
		channelExpires: r.ChannelExpires, lateWatch: r.LateWatch,
	}
	if w := ask.Watch; w != nil {
		p.until, p.giveUp, p.unborn = w.Until, w.Until.Add(r.GiveUp), w.Unborn
		return p, nil
	}
	if n, finite := poll.Attempts(); finite && n > 0 {
		first, _ := poll.Gap(0)
		total, _ := poll.Total()
		p.pollLast = t.Began.Add(first + total)
	}
	for _, most := range []time.Duration{poll.MaxAge(), t.MaxAge} {
		if end := t.Began.Add(most); most > 0 && (p.pollMax.IsZero() || end.Before(p.pollMax)) {
			p.pollMax = end
		}
	}
	p.codeEnds = ask.Created.Add(cmp.Or(ask.CodeLife, r.CodeLife))
	p.from, p.expired = h.ends(ask)
	p.giveUp = later(p.expired, t.Began).Add(r.GiveUp)
	return p, nil
}

// ends returns from when an order may be closed or reversed, and when its closing begins at the
// latest.
func (h *Handler) ends(ask *Ask) (from, expired time.Time) {
	r := &h.rules
	from = ask.Created.Add(r.MinCloseAge)
	if h.reverses {
		from = ask.Created.Add(r.MinReverseAge)
	}
	return from, later(ask.Created.Add(cmp.Or(ask.Expires, r.Expires)+r.Grace), from)
}

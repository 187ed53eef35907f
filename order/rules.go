package order

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// Rules of a queue of orders.
type Rules struct {
	Expires       time.Duration // an order that says nothing itself ends so long after creation; default 30m
	Grace         time.Duration // the close begins so much later
	MinCloseAge   time.Duration // never close sooner after creation; WeChat wants 5m
	MinReverseAge time.Duration // never reverse sooner after creation; default 15s, negative: at once

	// OnExhausted says what happens when the schedule is used up, before the order
	// has expired, and nothing is decided. Required. With OnExhaustedReverse the
	// channel must be a Reverser, and an order that expires or fails is reversed
	// too instead of closed.
	OnExhausted OnExhausted

	Confirm       string        // a finite schedule's text: queries after a close; default "0s, 5s, 25s"
	LateWatch     time.Duration // after CLOSED, REVOKED or FAILED queries go on so long; default 15m, negative: they do not
	WatchSchedule string        // of those queries; default "30s, 1m*15, 5m*24, 30m*"

	// GiveUp bounds the trying after expiry, when the channel never gives an answer
	// that decides; then the order is UNKNOWN, with an alert. Default 24h; where orders
	// are reversed 7 days, which is how long WeChat Pay takes a reverse.
	GiveUp time.Duration

	// ChannelExpires says that orders expire at the channel by themselves too. Then an
	// order counts as closed if the channel knows no such order, neither when it is
	// asked nor when it is to be closed.
	ChannelExpires bool

	// CodeLife is how long after creation an order can be paid that the channel does
	// not know before its payer scans the code: where such an order counts as closed,
	// the watch for a late payment lasts as long. Default 2h, as an Alipay code does;
	// negative: LateWatch alone counts. An order may say so itself.
	CodeLife time.Duration

	// Endpoint names the account at the channel, for limits; empty: the queue is one.
	Endpoint string

	Then Then

	// Alert is called for what somebody has to look at: an order that is UNKNOWN, a
	// payment that came late. It may be called twice for the same when a node dies.
	// Default: an error in the log.
	Alert func(task *bellman.Task, state, why string)
	Log   *slog.Logger // default slog.Default()

	// Schedules are the parsed ones, shared with others that parse the same; nil: the handler's own.
	Schedules *schedule.Cache

	// Now is the clock that due times are kept by; default time.Now.
	Now func() time.Time
}

// Then says who is told how an order ended. Its zero value: nobody.
type Then struct {
	Queue  string // a notify queue
	HasURL bool   // it has an address where an order brings none

	// Merchants says that the queue knows merchants: where an order brings no address,
	// its merchant's is used as it stands when it is told, and Check says whether there
	// is one.
	Merchants bool

	// Ordered gives the notifications of one order its key as their ordering key: each
	// waits until the one before has ended. False: they go out beside one another.
	Ordered bool

	// Taken picks what the merchant is told from an answer. The answer is the one
	// that decided, or that showed a late payment; state is PAID, CLOSED, …. An
	// error goes into the log; what comes beside it is told all the same. Nil: the
	// answer's Taken.
	Taken func(o *Order, a *QueryAnswer, state string) (map[string]any, error)

	// Check refuses a notification that could not be sent, before its order is
	// accepted: an *[bellman.Invalid] names url, or body. Nil: none is refused.
	Check func(task *bellman.Task) error
}

// OnExhausted is what happens when a poll schedule is used up.
type OnExhausted string

// What can happen when a poll schedule is used up.
const (
	OnExhaustedClose    OnExhausted = "close"    // the close protocol begins
	OnExhaustedReverse  OnExhausted = "reverse"  // the payment is undone, paid or not
	OnExhaustedCallback OnExhausted = "callback" // the order is UNKNOWN, and the merchant told so
	OnExhaustedAlert    OnExhausted = "alert"    // the order is UNKNOWN, with an alert
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
	if r.Alert == nil {
		r.Alert = func(t *bellman.Task, state, why string) {
			r.Log.Error("order needs somebody to look at it", "task", t.ID, "queue", t.Queue,
				"merchant_no", t.MerchantNo, "order_no", t.OrderNo, "order_state", state, "err", why)
		}
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	return r
}

// A Handler watches the orders of one queue. It is safe for concurrent use.
type Handler struct {
	channel  Channel
	reverser Reverser // nil unless OnExhausted is reverse
	rules    Rules
	confirm  *schedule.Schedule
	polls    *schedule.Cache

	firstLook time.Duration // of Rules.WatchSchedule
}

// Channel is the channel that the handler asks.
func (h *Handler) Channel() Channel { return h.channel }

var (
	_ bellman.Handler   = (*Handler)(nil)
	_ bellman.Checker   = (*Handler)(nil)
	_ bellman.Completer = (*Handler)(nil)
	_ bellman.Latecomer = (*Handler)(nil)
)

// New returns the handler of a queue whose orders are placed at c. An error
// names the rule that is wrong.
func New(c Channel, r Rules) (*Handler, error) {
	if c == nil {
		return nil, errors.New("order: there is no channel to ask")
	}
	h := &Handler{channel: c, rules: r.withDefaults(), polls: cmp.Or(r.Schedules, new(schedule.Cache))}
	r = h.rules
	for _, span := range []struct {
		name string
		d    time.Duration
	}{{"expires", r.Expires}, {"grace", r.Grace}, {"min_close_age", r.MinCloseAge}, {"give_up", r.GiveUp}} {
		if span.d < 0 {
			return nil, fmt.Errorf("order: %s: %v is negative", span.name, span.d)
		}
	}
	switch r.OnExhausted {
	case OnExhaustedClose, OnExhaustedAlert:
	case OnExhaustedReverse:
		var ok bool
		if h.reverser, ok = c.(Reverser); !ok {
			return nil, errors.New("order: on_exhausted: the channel cannot reverse: want close, callback or alert")
		}
	case OnExhaustedCallback:
		if r.Then.Queue == "" {
			return nil, errors.New("order: on_exhausted: callback tells the queue of then, and there is none")
		}
	default:
		return nil, fmt.Errorf("order: on_exhausted: %q: want close, reverse, callback or alert", r.OnExhausted)
	}
	var err error
	if h.confirm, err = schedule.Parse(r.Confirm); err != nil {
		return nil, fmt.Errorf("order: confirm: %w", err)
	}
	if n, finite := h.confirm.Attempts(); !finite || n == 0 {
		return nil, fmt.Errorf("order: confirm: %q: want a schedule that ends", r.Confirm)
	}
	watch, err := h.polls.Parse(r.WatchSchedule)
	if err != nil {
		return nil, fmt.Errorf("order: watch schedule: %w", err)
	}
	h.firstLook, _ = watch.Gap(0)
	return h, nil
}

// A plan is what the rules make of one order: its times, and what is done then.
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
	until    time.Time // of a watch for a late payment
	unborn   bool      // … whose order the channel did not know when it was closed

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
		onExhausted: r.OnExhausted, reverses: h.reverser != nil,
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

// ends says from when an order may be closed or reversed, and when its end begins
// at the latest.
func (h *Handler) ends(ask *Ask) (from, expired time.Time) {
	r := &h.rules
	from = ask.Created.Add(r.MinCloseAge)
	if h.reverser != nil {
		from = ask.Created.Add(max(r.MinReverseAge, 0))
	}
	return from, later(ask.Created.Add(cmp.Or(ask.Expires, r.Expires)+r.Grace), from)
}

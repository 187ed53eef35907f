package order

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/schedule"
)

// Attempt takes one step: one query, one close or one reverse. A manual attempt is always a
// query. If it comes before the next scheduled step, it decides the order if its answer does;
// otherwise it changes nothing.
func (h *Handler) Attempt(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
	if task.Event == EventNotice {
		return h.attemptNotice(ctx, task)
	}
	started := h.rules.Now()
	w, err := h.read(task)
	if err != nil { // Check validated it when the task was added
		alert := h.rules.Alert(task, Alert{Kind: AlertUndecided, State: StateUnknown, Why: err.Error()})
		return bellman.Verdict{Next: bellman.GiveUp, Reason: "unreadable", Result: bellman.Refused, Error: err.Error(), Follow: alert}
	}
	w.life = w.life.resume(task, number, started)
	if v, known := h.knownLate(ctx, w); known {
		return v
	}
	v, a, said := h.ask(ctx, w)
	if a.throttled {
		v.Hold = min(a.retryAfter, maxRetryAfter) // holds all orders of the account
	}
	a.started, a.jitter = started, rand.Float64()
	f := h.facts(w, &said)
	if said.Reading.IsPaid() {
		a.mismatch, a.payment = mismatch(&w.order, f.paid), paymentOf(f.paid)
		if _, err := h.learn(ctx, w); err != nil { // then this payment is notified as if it were the first
			h.rules.Log.Warn("the known late payment of an order cannot be read", "task", task.ID, "queue", task.Queue, "err", err)
		}
	}
	if b := task.Before; b != nil {
		a.ended = b.State.Ended()
		a.aside, a.keep = a.ended || b.Due.After(started), b.Due
	}
	now := h.rules.Now()
	l, m := step(w.plan, w.life, a, now)
	l.Number, l.Asked = number, started.UnixMilli()
	w.life = l
	h.follow(&v, w, m, f, now)
	v.Next, v.Reason, v.Due = m.next, m.reason, m.due
	if a.ended {
		v.Next, v.Reason, v.Due = bellman.Again, "", time.Time{} // the task stays ended
	}
	return v
}

// knownLate ends a watch whose order already has its late payment, such as by the channel's notice:
// a query would report it once more. If that cannot be read, the watch queries.
func (h *Handler) knownLate(ctx context.Context, w *watched) (v bellman.Verdict, known bool) {
	if w.life.Stage != Watching || w.task.Before != nil {
		return v, false
	}
	if known, err := h.learn(ctx, w); err != nil || !known {
		return v, false
	}
	return bellman.Verdict{Next: bellman.Succeed, Reason: "late_payment", Action: "notice", Result: bellman.Accepted, Unsent: true, Data: w.life.encode()}, true
}

// learn adds the payments after the decision that the order's other task knows: its watch, or for a
// watch the order's own task. It reports whether only that task knew of any. Of two payments that
// the tasks find in the same moment one alone is notified, because the notifications have one key.
func (h *Handler) learn(ctx context.Context, w *watched) (learned bool, err error) {
	l, other := &w.life, w.task.Key+lateWatchKey
	if w.ask.Watch != nil {
		other = w.ask.Watch.Of
	}
	unpaid := l.watches() || l.over() && !l.isPaid() && l.State != StateUnknown
	if h.rules.Life == nil || !unpaid {
		return false, nil
	}
	var known Life
	err = guard("Rules.Life", func() (err error) {
		known, err = h.rules.Life(ctx, w.task.Queue, other)
		return err
	})
	switch {
	case errors.Is(err, bellman.ErrNotFound):
		return false, nil
	case err != nil || known.Late == "":
		return false, err
	case l.Late == "":
		l.Late, l.Taken, l.Given, l.Numbers, l.Payments = known.Late, known.Taken, known.Given, known.Numbers, known.Payments
		return true, nil
	}
	l.addPayments(&known)
	return false, nil
}

// A watched is the task of an order with its parsed parts, for one step.
type watched struct {
	task  *bellman.Task
	ask   Ask
	life  Life
	plan  *plan
	order Order
	given bool // a person or a service says what is applied now, not the channel
	aged  bool // a notice says it, or an answer that was in flight: it may be older than a reverse or cancel
}

func (h *Handler) read(task *bellman.Task) (*watched, error) {
	w := &watched{task: task}
	var err error
	if w.ask, err = accepted(task.Body); err != nil {
		return nil, fmt.Errorf("the task's body cannot be read: %w", err)
	}
	if w.life, err = ParseLife(task.Data); err != nil {
		return nil, fmt.Errorf("the task's data cannot be read: %w", err)
	}
	if s := w.ask.Watch; s != nil && len(task.Data) == 0 {
		w.life = Life{Stage: Watching, State: s.State, DecidedAt: s.Decided.UnixMilli()}
	}
	if w.ask.Created.IsZero() {
		w.ask.Created = task.Created()
	}
	if w.plan, err = h.plan(task, &w.ask); err != nil {
		return nil, fmt.Errorf("the task's schedule cannot be read: %w", err)
	}
	w.order = w.ask.order(task)
	return w, nil
}

// ask makes the one request of a step.
func (h *Handler) ask(ctx context.Context, w *watched) (v bellman.Verdict, a answer, said QueryAnswer) {
	var got Answer
	var reading string
	channel := h.channelOf(ctx, w)
	switch w.life.Stage {
	case Close, Reverse, Reclosing:
		do, act := channel.Close, askClose
		if w.life.Stage == Reverse {
			do, act = reverse(channel), askReverse
		}
		c := safely(func() CloseAnswer { return do(ctx, &w.order) }, func(a Answer) CloseAnswer { return CloseAnswer{Answer: a} })
		a, got, reading = answer{act: act, close: c.Reading}, c.Answer, c.Reading.String()
	default:
		said = safely(func() QueryAnswer { return channel.Query(ctx, &w.order) }, func(a Answer) QueryAnswer { return QueryAnswer{Answer: a} })
		if said.Reading > Failed { // not a valid reading
			said.Reading = QueryError
		}
		a, got, reading = answer{act: askQuery, reading: said.Reading, wait: max(said.Wait, 0)}, said.Answer, said.Reading.String()
	}
	if c, is := channel.(Canceller); is {
		a.cancels = c.Cancels()
	}
	a.throttled, a.retryAfter = got.Throttled, max(got.RetryAfter, 0)
	return got.Verdict(a.act, reading), a, said
}

// reverse returns how a channel reverses an order. If it cannot, it has replaced another channel
// since the order was accepted.
func reverse(c Channel) func(context.Context, *Order) CloseAnswer {
	if r, ok := c.(Reverser); ok {
		return r.Reverse
	}
	return unavailable{errors.New("the channel cannot reverse orders")}.Reverse
}

// safely calls a method of a channel. If the channel panics, there is no answer, and the watch of
// the order goes on.
func safely[A any](call func() A, of func(Answer) A) (a A) {
	if err := guard("the channel", func() error { a = call(); return nil }); err != nil {
		return of(Answer{Result: bellman.Refused, Error: err.Error()})
	}
	return a
}

// guard calls code of the program, and returns a panic as an error. what names the code.
func guard(what string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return call()
}

// maxExcerpt is the number of bytes of an answer that are passed to the log, which keeps 600
// characters.
const maxExcerpt = bellman.MaxResponse * 4

func excerpt(body []byte) string {
	s := strings.ToValidUTF8(string(body[:min(len(body), maxExcerpt)]), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// follow adds the effects of a move to a verdict, and the life that results. f are the fields of
// the answer.
func (h *Handler) follow(v *bellman.Verdict, w *watched, m move, f facts, now time.Time) {
	if _, named := h.rules.Then.For[StateUnknown]; named && m.tell == "" && m.next == bellman.GiveUp && w.life.over() {
		m.tell = tellUndecided // the queue names recipients for UNKNOWN, so they are notified of each
	}
	if f.paid != nil && m.tell != tellDuplicate && (m.tell != "" || m.reason == "amount_mismatch") {
		w.life.Taken, w.life.Given, w.life.Numbers = h.encodeTaken(w, f.paid), w.given && paymentOf(f.paid) != "", h.rules.Then.Numbers
	}
	once := ""
	if m.tell != "" {
		paid := json.RawMessage(w.life.Taken)
		if m.tell == tellDuplicate { // the life keeps the fields of the first payment
			paid = h.encodeTaken(w, f.paid)
		}
		told := paid
		if h.rules.Then.tellsOnly() && f.told != nil {
			told = h.encodeTaken(w, f.told)
		}
		news := w.news(m, told, now)
		news.Paid = paid
		// If the queue reads payments in another way now, another number may name the same payment.
		news.NoRefund = news.NoRefund || m.tell == tellDuplicate && w.life.firstPayment() != "" && w.life.Numbers != h.rules.Then.Numbers
		if m.kind == AlertLate {
			once = TellKey(w.task.Queue, news.Key, news.What)
		}
		tasks, err := h.rules.Then.Tell(&news)
		v.Follow = append(tasks, v.Follow...)
		if err != nil {
			v.Follow = append(v.Follow, h.rules.Alert(w.task, Alert{Kind: AlertUndecided, State: w.life.State, Why: "somebody could not be told, or not in full: " + err.Error()})...)
		}
	}
	if !m.watch.IsZero() {
		times := h.rules.WatchSchedule
		if long := m.watch.Sub(now); long < h.firstLook {
			times = schedule.FormatDuration(long.Truncate(time.Millisecond)) // a single query, at the end
		}
		v.Follow = append(v.Follow, w.lateWatch(m.watch, times))
	}
	if m.alert != "" {
		v.Follow = append(v.Follow, h.rules.Alert(w.task, Alert{cmp.Or(m.kind, AlertUndecided), w.life.State, m.alert, once})...)
	}
	v.Data = w.life.encode()
}

// facts returns the fields of an answer that decides; none if it does not decide or has none.
func (h *Handler) facts(w *watched, said *QueryAnswer) facts {
	if !said.Reading.Decides() {
		return facts{}
	}
	f, err := h.rules.Then.take(&w.order, said, said.Reading.String())
	if err != nil {
		h.lacks(w, err)
	}
	return f
}

// encodeTaken returns fields as an object.
func (h *Handler) encodeTaken(w *watched, taken Taken) []byte {
	out, err := encodeTaken(taken)
	if err != nil {
		h.lacks(w, err)
		return nil
	}
	return out
}

func (h *Handler) lacks(w *watched, err error) {
	h.rules.Log.Error("an answer lacks fields of a payment", "task", w.task.ID, "queue", w.task.Queue, "err", err)
}

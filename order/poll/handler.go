package poll

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// The events of tasks. A notification's event is poll.done or poll.failed.
const (
	EventPoll   = "poll.watch" // a task that names no event
	EventDone   = "poll.done"
	EventFailed = "poll.failed"
)

// The decisions that a queue's Then may name.
const (
	DecisionDone   = "done"
	DecisionFailed = "failed"
)

// Decisions lists the decisions about a refund or transfer of which queues can be notified.
func Decisions() []string { return []string{DecisionDone, DecisionFailed} }

// tellDecided ends the key of a notification.
const tellDecided = "decided"

// Attempt makes one query or one request, or announces a request. An attempt that a person asked
// for never sends a request. Out of turn it decides if the answer does, and changes nothing
// otherwise.
func (h *Handler) Attempt(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
	started := h.rules.Now()
	w, err := h.read(task)
	if err != nil { // Check validated it when the task was added
		told := h.rules.Alert(task, order.Alert{Kind: order.AlertPoll, State: StateUnknown, Why: err.Error()})
		return bellman.Verdict{Next: bellman.GiveUp, Reason: "unreadable", Result: bellman.Refused, Error: err.Error(), Follow: told}
	}
	w.life = w.life.resume(task, number, h.rules.Request, started)
	v, a, said := h.ask(ctx, w)
	if a.throttled {
		v.Hold = min(a.retryAfter, maxRetryAfter) // holds all queries of the account
	}
	a.started, a.jitter = started, rand.Float64()
	ended := task.State.Ended()
	if b := task.Before; b != nil {
		ended = b.State.Ended()
		a.aside, a.keep = ended || b.Due.After(started), b.Due
	}
	now := h.rules.Now()
	var m move
	w.life, m = step(w.plan, w.life, a, now)
	w.life.Number = number
	h.follow(&v, w, m, &said)
	v.Next, v.Reason, v.Due = m.next, m.reason, m.due
	if ended {
		v.Next, v.Reason, v.Due = bellman.Again, "", time.Time{} // the task stays ended
	}
	return v
}

// Late handles the verdict of an attempt that was in flight while the task was completed. If the
// answer contradicts the decision, or the request of a refund that was decided as failed was sent,
// an alert is raised. The zero Verdict: nothing follows.
func (h *Handler) Late(task *bellman.Task, verdict bellman.Verdict, _ time.Time) bellman.Verdict {
	w, err := h.read(task)
	found, err2 := ParseLife(verdict.Data)
	if err != nil || err2 != nil || !w.life.over() {
		return bellman.Verdict{}
	}
	var v bellman.Verdict
	switch sent := verdict.Action == actRequest && found.Request != RequestRefused.String(); {
	case found.over() && found.State != w.life.State && w.life.warn(alertContradicts):
		h.follow(&v, w, move{alert: "after the decision the channel says " + found.State}, nil)
	case sent && w.life.State == StateFailedThere && w.life.warn(alertSent):
		h.follow(&v, w, move{alert: "its request was sent while it was decided as FAILED_THERE: the money may move"}, nil)
	}
	return v
}

// A polled is a task with its parsed parts, for one step.
type polled struct {
	task *bellman.Task
	ask  Ask
	life Life
	plan *plan
	ref  order.Order
}

func (h *Handler) read(task *bellman.Task) (*polled, error) {
	w := &polled{task: task}
	var err error
	if w.ask, err = ParseAsk(task.Body); err != nil {
		return nil, fmt.Errorf("the task's body cannot be read: %w", err)
	}
	if w.life, err = ParseLife(task.Data); err != nil {
		return nil, fmt.Errorf("the task's data cannot be read: %w", err)
	}
	if len(task.Data) == 0 && h.rules.Request {
		w.life.Stage = Announcing
	}
	if w.plan, err = h.plan(task); err != nil {
		return nil, fmt.Errorf("the task's schedule cannot be read: %w", err)
	}
	w.ref = w.ask.order(task)
	return w, nil
}

// order returns the refund as a Channel takes it.
func (a *Ask) order(task *bellman.Task) order.Order {
	o := order.Order{MerchantNo: task.MerchantNo, OrderNo: cmp.Or(a.ChannelOrderNo, task.OrderNo), OwnNo: task.OrderNo, RefNo: a.RefNo, Account: a.Account, Vars: a.Vars, Created: a.Created}
	if o.Created.IsZero() {
		o.Created = task.Created()
	}
	return o
}

// ask does what the stage says. A request is announced and goes out only in a scheduled attempt.
func (h *Handler) ask(ctx context.Context, w *polled) (v bellman.Verdict, a answer, said Answer) {
	channel := h.channelOf(ctx, w)
	switch {
	case w.life.Stage == Announcing && w.task.Before == nil:
		return bellman.Verdict{Action: actAnnounce, Result: bellman.Accepted, Unsent: true}, answer{act: actAnnounce}, said
	case w.life.Stage == Requesting && w.task.Before == nil && w.task.Trigger == bellman.BySchedule:
		got := safely(func() RequestAnswer { return request(ctx, channel, &w.ref) }, func(a order.Answer) RequestAnswer { return RequestAnswer{Answer: a} })
		a = answer{act: actRequest, request: min(got.Reading, RequestRefused), throttled: got.Throttled, retryAfter: max(got.RetryAfter, 0)}
		return got.Verdict(a.act, a.request.String()), a, said
	}
	said = safely(func() Answer { return channel.Query(ctx, &w.ref) }, func(a order.Answer) Answer { return Answer{Answer: a} })
	if said.Reading > FailedThere { // not a valid reading
		said.Reading = QueryError
	}
	if why := h.otherAmount(w, &said); why != "" {
		said = Answer{Answer: said.Answer, Person: why}
		said.Result, said.Error = bellman.Refused, why
	}
	a = answer{act: actQuery, reading: said.Reading, throttled: said.Throttled, retryAfter: max(said.RetryAfter, 0), wait: max(said.Wait, 0), person: said.Person}
	return said.Verdict(a.act, a.reading.String()), a, said
}

// otherAmount says why money that arrived is not what the task is about: the answer, or the queue's
// Then, takes another amount from it than vars.amount, or another currency than vars.currency.
// Empty: it is, or one of the two is not said.
func (h *Handler) otherAmount(w *polled, said *Answer) string {
	want, err := AmountVar(&w.ref, "amount")
	if said.Reading != Done || err != nil {
		return ""
	}
	_, paid, _ := h.rules.Then.Fields(&w.ref, &order.QueryAnswer{Answer: said.Answer, Taken: said.Taken}, StateDone) // an error is logged when it decides
	var got struct {
		Amount   json.RawMessage `json:"amount"`
		Currency any             `json:"currency"`
	}
	if json.Unmarshal(paid, &got) != nil {
		return ""
	}
	is, _ := got.Currency.(string)
	if is, wanted := money.Code(is), money.Code(w.ref.Vars["currency"]); is != "" && wanted != "" && is != wanted {
		return fmt.Sprintf("the answer is about an amount in %s, not in %s", is, wanted)
	}
	text := strings.TrimSuffix(string(got.Amount), ".0")
	if unquoted := strings.Trim(text, `"`); unquoted != text {
		if _, err := strconv.ParseInt(unquoted, 10, 64); err != nil {
			return "" // the queue tells amounts in a form of its own, such as "1.00"
		}
		text = unquoted
	}
	if text == "" || text == "null" || text == strconv.FormatInt(want, 10) {
		return ""
	}
	return fmt.Sprintf("the answer is about the amount %.40s, not %d", text, want)
}

// safely calls a method of the channel. If the channel panics, there is no answer, and the life
// goes on.
func safely[A any](call func() A, of func(order.Answer) A) (a A) {
	defer func() {
		if p := recover(); p != nil {
			a = of(order.Answer{Result: bellman.Refused, Error: fmt.Sprintf("the channel panicked: %v", p)})
		}
	}()
	return call()
}

// follow adds the effects of a move to a verdict, and the life that results.
func (h *Handler) follow(v *bellman.Verdict, w *polled, m move, said *Answer) {
	if m.tell {
		told, paid, err := h.rules.Then.Fields(&w.ref, &order.QueryAnswer{Answer: said.Answer, Taken: said.Taken}, w.life.State)
		if err != nil {
			h.rules.Log.Error("an answer lacks fields of a refund or transfer", "task", w.task.ID, "queue", w.task.Queue, "err", err)
		}
		w.life.Taken = paid
		news := w.news()
		news.Taken = told
		tasks, err := h.rules.Then.Tell(&news)
		v.Follow = append(v.Follow, tasks...)
		switch {
		case err != nil:
			w.life.warn(alertUntold)
			v.Follow = append(v.Follow, h.rules.Alert(w.task, order.Alert{Kind: order.AlertPoll, State: w.life.State, Why: "somebody could not be told, or not in full: " + err.Error()})...)
		case h.rules.Request && said.Reading == FailedThere && len(tasks) == 0 && m.alert == "": // bellman itself may have wanted it
			w.life.warn(alertUntold)
			m.alert = "the refund failed, and nobody is notified: the payer does not have the money"
		}
	}
	if m.alert != "" {
		v.Follow = append(v.Follow, h.rules.Alert(w.task, order.Alert{Kind: order.AlertPoll, State: w.life.State, Why: m.alert})...)
	}
	v.Data = w.life.encode()
}

// news returns the content of the notifications of the result. Its key is the same whatever found
// the result, so that there is one notification.
func (w *polled) news() order.News {
	l, event, decision := &w.life, EventDone, DecisionDone
	if l.State == StateFailedThere {
		event, decision = EventFailed, DecisionFailed
	}
	return order.News{
		Of: w.task, Order: w.ask.order(w.task), Decision: decision, Key: w.task.Key, What: tellDecided, Event: event,
		Notify: w.ask.Notify, Taken: json.RawMessage(l.Taken),
		Fields: map[string]any{
			"merchant_no": w.task.MerchantNo,
			"order_no":    w.task.OrderNo,
			"ref_no":      w.ask.RefNo,
			"state":       l.State,
			"decided_at":  wire.When(time.UnixMilli(l.DecidedAt)),
		},
	}
}

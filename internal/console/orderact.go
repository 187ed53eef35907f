package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
)

// settleWait is how long a page waits for the channel's answer.
const settleWait = 10 * time.Second

// didAsk is the message for a query whose answer is pending.
const didAsk = "ask"

// outcomes are the states as which a person can complete an order whose answer came another way.
var outcomes = []string{"PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED"}

// pollOutcomes are the states as which a person can complete a refund or transfer.
var pollOutcomes = []string{poll.StateDone, poll.StateFailedThere}

// An orderAct holds the input of an order's form that was refused.
type orderAct struct {
	Reason, Outcome string
	Wrong           string // why it was refused; empty: it was not refused
}

// orderAction performs a manual action on an order and shows the order.
func (q *request) orderAction() error {
	in := q.r.PostForm
	merchant, order := in.Get("merchant_no"), in.Get("order_no")
	if merchant == "" || order == "" {
		return fail(http.StatusUnprocessableEntity, "error.action")
	}
	own, err := q.ownTasks(merchant, order)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fail(http.StatusNotFound, "error.not_found")
	}
	form := orderAct{Reason: strings.TrimSpace(in.Get("reason")), Outcome: in.Get("outcome")}
	done := in.Get("action")
	by := q.by(form.Reason)
	if need := map[string]access.Role{"complete": access.Decide, "once": access.Operate}[done]; need != "" && !q.visitor.May(need) {
		return fail(http.StatusForbidden, "error.role", "role", string(need))
	}
	switch done {
	case "settle":
		if err = unreasoned(form.Reason); err == nil {
			err = q.settle(own, by)
		}
	case "complete":
		var t *bellman.Task
		if t, err = decidable(own); err == nil {
			err = q.complete(t.ID, form.Outcome, by)
		}
	case "once":
		err = q.resendNotice(merchant, order, by)
	default:
		err = errAction
	}
	switch {
	case err == nil:
		return q.goDone(orderAddress(merchant, order), done)
	case errors.Is(err, bellman.ErrWaiting):
		return q.goDone(orderAddress(merchant, order), didAsk)
	default:
		status := 0
		status, form.Wrong = q.wrong(err)
		return q.showOrder(status, merchant, order, form)
	}
}

// resendNotice makes one attempt of the newest notification of an order's merchant.
func (q *request) resendNotice(merchant, order string, by bellman.By) error {
	if err := unreasoned(by.Reason); err != nil {
		return err
	}
	tasks, _, err := q.tasksOf(merchant, order)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tasks, func(t *bellman.Task) bool { return t.Kind == bellman.KindNotify && t.MerchantNo != "" })
	if i < 0 {
		return errAction
	}
	_, err = q.o.Engine.Resend(q.r.Context(), tasks[i].ID, engine.ResendOnce, by)
	return err
}

// ownTasks returns the order's own tasks, newest first: those that query the channel.
func (q *request) ownTasks(merchant, order string) (own []*bellman.Task, err error) {
	tasks, _, err := q.tasksOf(merchant, order)
	for _, t := range tasks {
		if o, is := q.order(t); is && !o.Beside {
			own = append(own, t)
		}
	}
	return own, err
}

// decidable returns the task that a decision of an order is about: the pending one, as in the API,
// or else the newest. An order that is at several channels, for example, has several tasks.
func decidable(own []*bellman.Task) (*bellman.Task, error) {
	open := slices.DeleteFunc(slices.Clone(own), func(t *bellman.Task) bool { return t.State.Ended() })
	switch len(open) {
	case 0:
		return own[0], nil
	case 1:
		return open[0], nil
	}
	return nil, errSeveral
}

// settle queries the channel about an order now and waits for the answer.
func (q *request) settle(own []*bellman.Task, by bellman.By) error {
	ctx, cancel := context.WithTimeout(q.r.Context(), settleWait)
	defer cancel()
	ids := make([]bellman.ID, len(own))
	for i, t := range own {
		ids[i] = t.ID
	}
	settled, err := q.o.Engine.Settle(ctx, by, ids...)
	for _, s := range settled {
		if s.Err != nil && (err == nil || !errors.Is(s.Err, bellman.ErrWaiting)) {
			err = s.Err
		}
	}
	return err
}

// complete ends a task whose answer came another way. outcome is the state of an order, which is
// decided by hand, or of a poll; a notification has none. The error lists everything that is wrong,
// including a missing reason.
func (q *request) complete(id bellman.ID, outcome string, by bellman.By) error {
	t, err := q.o.Reader.Task(q.r.Context(), id)
	if err != nil {
		return err
	}
	wrong := mistakes{unreasoned(by.Reason), nil}
	o, _ := q.order(t)
	is := isOrder(t)
	p, isPoll := q.poll(t)
	switch {
	case isPoll && !slices.Contains(pollOutcomes, outcome):
		wrong[1] = errOutcome
	case isPoll && wrong[0] != nil && p.Refuses(outcome):
		wrong[1] = coded.Errorf("poll.decided", "%w: the refund or transfer is %s and stays so", bellman.ErrConflict, p.State)
	case isPoll:
	case is != slices.Contains(outcomes, outcome) || !is && outcome != "":
		wrong[1] = errOutcome
	case is && wrong[0] != nil && o.Refuses(outcome): // otherwise the order's handler returns the error
		wrong[1] = coded.Errorf("order.decided", "%w: the order is %s and stays so: only a payment, PAID or PAID_REFUNDED, can still be reported", bellman.ErrConflict, o.State)
	}
	if err := wrong.err(); err != nil {
		return err
	}
	with := bellman.Completion{Outcome: outcome}
	if is {
		with.Detail = order.Vouched{}
		_, err = q.o.Engine.Decide(q.r.Context(), id, with, by)
	} else {
		_, err = q.o.Engine.Complete(q.r.Context(), id, with, by)
	}
	return err
}

// reasoned reports whether a reason is present and not too long.
func reasoned(reason string) bool { return reason != "" && len([]rune(reason)) <= maxReason }

// unreasoned returns errReason if a reason is missing or too long.
func unreasoned(reason string) error {
	if !reasoned(reason) {
		return errReason
	}
	return nil
}

package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

// settleWait is how long a page waits for a channel.
const settleWait = 10 * time.Second

// didAsk is what was done when a channel was asked whose answer is still to come.
const didAsk = "ask"

// outcomes are what an order can be completed as, when the answer came another way.
var outcomes = []string{"PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED"}

// An orderAct is what was typed into the form of an order that was refused.
type orderAct struct {
	Reason, Outcome string
	Wrong           string // why it was; empty: it was not
}

// orderAction does something with an order by hand, and shows it then.
func (q *request) orderAction() {
	in := q.r.PostForm
	merchant, order := in.Get("merchant_no"), in.Get("order_no")
	if merchant == "" || order == "" {
		q.fail(http.StatusUnprocessableEntity, "error.action")
		return
	}
	ids, err := q.orderIDs(merchant, order)
	if err != nil {
		q.refuse(err)
		return
	}
	if len(ids) == 0 {
		q.fail(http.StatusNotFound, "error.not_found")
		return
	}
	form := orderAct{Reason: strings.TrimSpace(in.Get("reason")), Outcome: in.Get("outcome")}
	done := in.Get("action")
	by := q.by(form.Reason)
	switch done {
	case "settle":
		if err = unreasoned(form.Reason); err == nil {
			err = q.settle(ids, by)
		}
	case "complete":
		err = q.complete(ids[0], form.Outcome, by)
	default:
		err = errAction
	}
	switch {
	case err == nil:
		q.goDone(orderAddress(merchant, order), done)
	case errors.Is(err, bellman.ErrWaiting):
		q.goDone(orderAddress(merchant, order), didAsk)
	default:
		status := 0
		status, form.Wrong = q.wrong(err)
		q.showOrder(status, merchant, order, form)
	}
}

// orderIDs are the tasks that are an order's own, the newest first: those that a
// channel is asked about.
func (q *request) orderIDs(merchant, order string) (ids []bellman.ID, err error) {
	tasks, _, err := q.tasksOf(merchant, order)
	for _, t := range tasks {
		if o, is := q.order(t); is && !o.Watch {
			ids = append(ids, t.ID)
		}
	}
	return ids, err
}

// settle asks the channel about an order now, and waits for its answer.
func (q *request) settle(ids []bellman.ID, by bellman.By) error {
	ctx, cancel := context.WithTimeout(q.r.Context(), settleWait)
	defer cancel()
	settled, err := q.engine.Settle(ctx, by, ids...)
	for _, s := range settled {
		if s.Err != nil && (err == nil || !errors.Is(s.Err, bellman.ErrWaiting)) {
			err = s.Err
		}
	}
	return err
}

// complete ends a task: the answer came another way. Of an order it says which; of a
// notice there is none. It says all that is wrong, a missing reason too.
func (q *request) complete(id bellman.ID, outcome string, by bellman.By) error {
	t, err := q.reader.Task(q.r.Context(), id)
	if err != nil {
		return err
	}
	wrong := mistakes{unreasoned(by.Reason), nil}
	switch o, is := q.order(t); {
	case is != slices.Contains(outcomes, outcome) || !is && outcome != "":
		wrong[1] = errOutcome
	case is && wrong[0] != nil && o.Refuses(outcome): // else the order's handler says so
		wrong[1] = coded.Errorf("order.decided", "%w: the order is %s", bellman.ErrConflict, o.State)
	}
	if err := wrong.err(); err != nil {
		return err
	}
	_, err = q.engine.Complete(q.r.Context(), id, outcome, by)
	return err
}

// reasoned reports whether a reason can be kept.
func reasoned(reason string) bool { return reason != "" && len([]rune(reason)) <= maxReason }

// unreasoned is errReason for a reason that cannot be kept.
func unreasoned(reason string) error {
	if !reasoned(reason) {
		return errReason
	}
	return nil
}

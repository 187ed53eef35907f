package order

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order/internal/wire"
)

// HoldNotices is how long a notice is kept whose order does not exist yet.
const HoldNotices = 24 * time.Hour

// holdSchedule is when a held notice looks for its order.
const holdSchedule = "1s*10, 5s*12, 30s*20, 1m*"

// alertHeld is how long after it came the held notice of a payment raises an alert: by default an
// order that was created then has expired.
const alertHeld = 30 * time.Minute

// Held returns the task that keeps a notice until its order exists. A repeat of the notice has the
// same key, so that it is kept once.
func (t *Told) Held(queue string) bellman.Task {
	held := *t
	held.Result = NoticeHeld
	sum := sha256.Sum256([]byte(strings.Join([]string{held.Account, string(held.Of), held.OrderNo, held.RefNo, held.ID, held.Reading, held.Content}, "\x00")))
	return bellman.Task{
		Queue: queue, Key: "notice/" + hex.EncodeToString(sum[:16]), OrderNo: cut(held.OrderNo, bellman.MaxName),
		Event: EventNotice, Schedule: holdSchedule, MaxAge: HoldNotices, Body: held.ask(),
	}
}

// A hold is the Data of the task of a held notice, as JSON.
type hold struct {
	Alerted bool `json:"alerted,omitempty"` // an alert was raised, and nobody has seen to the payment since
}

// attemptNotice looks for the order of a notice that is held. Once the order is there, Rules.Tell
// applies the notice and records it there, and this task ends. If the order of a payment does not
// come, an alert is raised, once.
func (h *Handler) attemptNotice(ctx context.Context, task *bellman.Task) bellman.Verdict {
	told := ToldOf(task)
	if told == nil || h.rules.Tell == nil {
		return bellman.Verdict{Next: bellman.GiveUp, Reason: string(NoticeRefused), Unsent: true, Error: "the queue receives no notices, or this one cannot be read"}
	}
	v := bellman.Verdict{Unsent: true, Action: "notice", Result: bellman.Refused, Error: "its order does not exist yet", Minor: true}
	found := false
	err := guard("handler", func() (err error) {
		found, err = h.rules.Tell(ctx, task.Queue, told)
		return err
	})
	switch {
	case err != nil:
		v.Error, v.Minor = err.Error(), false
	case !found && told.Of == OfPayment && told.Reading == Paid.String() && task.Before == nil && Unclaimed(task) == nil && h.rules.Now().Sub(told.Came) >= alertHeld:
		v.Data = wire.Encode(hold{Alerted: true})
		v.Follow = h.rules.Alert(task, Alert{Kind: AlertUnclaimed, State: StateUnknown, Why: told.Missing()})
	case found:
		v = bellman.Verdict{Next: bellman.Succeed, Reason: string(NoticeHeld), Action: "notice", Result: bellman.Accepted}
	}
	return v
}

// Missing says which payment has no order.
func (t *Told) Missing() string {
	paid := "a payment"
	if amount, currency := t.Price(); amount > 0 && currency != "" {
		paid = money.Format(amount, currency)
	}
	return fmt.Sprintf("a notice says that %s was paid, and its order has not come since: channel_order_no %.128s, transaction_id %.128s, account %.160s",
		paid, t.OrderNo, cmp.Or(paymentOf(t.Taken), "not said"), t.Account)
}

// completeNotice notes that a person has seen to the payment of a held notice.
func completeNotice(task *bellman.Task, outcome string) (v bellman.Verdict, err error) {
	told := ToldOf(task)
	switch {
	case outcome != "":
		return v, bellman.InvalidField("outcome", "a notice that is held is completed without one")
	case told == nil || told.Result != NoticeHeld:
		return v, coded.Errorf("order.record", "%w: the task is the record of a notice, and nothing follows from it", bellman.ErrConflict)
	case Unclaimed(task) != nil && task.State.Ended():
		return bellman.Verdict{Data: []byte("{}")}, nil
	}
	return bellman.Verdict{Next: bellman.Succeed}, nil
}

// Unclaimed returns the notice of a payment that a task holds, once an alert was raised because its
// order has not come. Nil: it holds none, its order came, or a person has seen to it. An order that
// came after HoldNotices is not known here.
func Unclaimed(task *bellman.Task) *Told {
	var l hold
	if task.Event != EventNotice || task.State == bellman.Succeeded || task.State == bellman.Cancelled ||
		json.Unmarshal(task.Data, &l) != nil || !l.Alerted {
		return nil
	}
	return ToldOf(task)
}

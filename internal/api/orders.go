package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// The bounds of what is shown of one order.
const (
	orderTasks    = 200
	orderAttempts = 1000
)

// registerOrders registers the calls on orders by number.
func (a *API) registerOrders(h part) {
	register(h, scoped(operation("list-orders", http.MethodGet, "/v1/orders", access.MayRead, "Orders that fit, newest first, without what belongs to them: notifications, refunds, notices.")), a.listOrders)
	register(h, scoped(operation("get-order", http.MethodGet, orderPath, access.MayGet, "Everything about one order: how it stands, its tasks, and their attempts in time order.")), a.getOrder)
	register(h, scoped(operation("complete-order", http.MethodPost, orderPath+"/complete", access.MayReport, "Decide an order: the answer came another way, such as the channel's own notice. After the decision, a payment is noted as a late one.")),
		func(ctx context.Context, in *struct {
			Caller
			OrderNumbers
			Body client.CompleteTask
		}) (*answer[client.Task], error) {
			if in.Body.Outcome == "" {
				return nil, wrongField("body.outcome", "is required: want PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED")
			}
			return a.onOrder(ctx, &in.Caller, &in.OrderNumbers, completes, func(id bellman.ID) (*bellman.Task, error) {
				return a.complete(ctx, id, &in.Body, in.by(cmp.Or(in.Body.Reason, "callback")))
			})
		})
	register(h, scoped(operation("cancel-order", http.MethodPost, orderPath+"/cancel", access.MayOperate|access.MayReport, "End the watch of an order. Nothing is decided, and nothing is closed at the channel.")),
		func(ctx context.Context, in *struct {
			Caller
			OrderNumbers
			Body *client.Because
		}) (*answer[client.Task], error) {
			return a.onOrder(ctx, &in.Caller, &in.OrderNumbers, cancels, func(id bellman.ID) (*bellman.Task, error) {
				return a.o.Engine.Cancel(ctx, id, in.by(given(in.Body).Reason))
			})
		})

	register(h, scoped(operation("decide-order", http.MethodPost, orderPath+"/decide", access.MayDecide, "Decide an order by hand: a person knows the outcome. It raises the alarm order_decided_by_hand. Otherwise as complete-order.")),
		func(ctx context.Context, in *struct {
			Caller
			OrderNumbers
			Body client.DecideOrder
		}) (*answer[client.Task], error) {
			return a.onOrder(ctx, &in.Caller, &in.OrderNumbers, decides, func(id bellman.ID) (*bellman.Task, error) {
				return a.o.Engine.Decide(ctx, id, bellman.Completion{Outcome: in.Body.Outcome, Detail: order.Vouched{}}, in.by(in.Body.Reason))
			})
		})

	op := scoped(operation("settle-orders", http.MethodPost, "/v1/orders/settle", access.MaySettle, "Ask the channel about up to 1,000 orders now, decided ones too, and answer how each stands."))
	op.MaxBodyBytes = maxSettleBody + 1
	register(h, op, a.settleOrders)
}

// complete applies a result from outside to a task.
func (a *API) complete(ctx context.Context, id bellman.ID, in *client.CompleteTask, by bellman.By) (*bellman.Task, error) {
	with := bellman.Completion{Outcome: in.Outcome}
	if in.Taken != nil {
		var taken order.Taken
		d := json.NewDecoder(bytes.NewReader(in.Taken))
		d.UseNumber()
		if err := d.Decode(&taken); err != nil || taken == nil {
			return nil, wrongField("body.taken", "want an object with fields of the payment, such as {\"amount\":8800,\"currency\":\"CNY\"}")
		}
		with.Detail = taken
	}
	return a.o.Engine.Complete(ctx, id, with, by)
}

const orderPath = "/v1/orders/{merchant_no}/{order_no}"

// OrderNumbers name an order in a path.
type OrderNumbers struct {
	MerchantNo string `path:"merchant_no" maxLength:"128" doc:"Escape slashes as %2F."`
	OrderNo    string `path:"order_no" maxLength:"128" doc:"Escape slashes as %2F."`
}

// missing returns the problem of an unknown order.
func (n *OrderNumbers) missing() *client.Problem {
	return newProblem(http.StatusNotFound, fmt.Sprintf("there is no order %q of the merchant %q", cut(n.OrderNo), cut(n.MerchantNo)))
}

func (a *API) getOrder(ctx context.Context, in *struct {
	Caller
	OrderNumbers
	Settle string `query:"settle" maxLength:"64" example:"3s" doc:"Attempts overdue tasks now and waits for them, 60s at most, and for steps of the close protocol that become due meanwhile. settled in the answer says whether all were done. Default: only shows the present state."`
}) (*answer[client.Order], error) {
	wait, refused := waiting("query.settle", in.Settle, 0)
	if refused != nil {
		return nil, refused
	}
	if wait > 0 && in.may&access.MaySettle == 0 {
		return nil, newProblem(http.StatusForbidden, "this key may not settle an order: it takes the role "+access.MaySettle.String())
	}
	if wait > 0 && in.foreign {
		return nil, newProblem(http.StatusForbidden, "a page of another origin may not do that")
	}
	tasks, more, err := a.tasksOf(ctx, &in.holder, &in.OrderNumbers)
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 {
		return nil, in.missing()
	}
	var settled *bool
	if wait > 0 {
		leave, refused := a.enterSettle(1)
		if refused != nil {
			return nil, refused
		}
		defer leave()
		var whole bool
		if whole, err = a.settleOrder(ctx, &in.Caller, &in.OrderNumbers, tasks, wait); err != nil {
			return nil, err
		}
		settled = &whole
		if tasks, more, err = a.tasksOf(ctx, &in.holder, &in.OrderNumbers); err != nil {
			return nil, err
		}
	}
	if tasks, err = order.AddOwn(ctx, a.o.Reader.List, tasks, in.sees); err != nil {
		return nil, err
	}
	out, err := a.order(ctx, tasks)
	if err != nil {
		return nil, err
	}
	out.MerchantNo, out.OrderNo, out.More, out.Settled = in.MerchantNo, in.OrderNo, out.More || more, settled
	return ok(*out)
}

// tasksOf returns the tasks with these numbers that the caller reaches, the newest first; more
// reports that there are older ones. Behind many notices it also returns the order's own task.
func (a *API) tasksOf(ctx context.Context, by *holder, n *OrderNumbers) (tasks []*bellman.Task, more bool, err error) {
	if refused := by.checkMerchant(n.MerchantNo, false); refused != nil {
		return nil, false, refused
	}
	f := store.Filter{MerchantNo: n.MerchantNo, OrderNo: n.OrderNo}
	if f.MerchantNo == "" || f.OrderNo == "" {
		return nil, false, nil // the filter would select all tasks
	}
	var before bellman.ID
	for range maxReads {
		page, next, err := a.o.Reader.List(ctx, f, before, orderTasks-len(tasks))
		if err != nil {
			return nil, false, err
		}
		for _, t := range page {
			if by.sees(t) {
				tasks = append(tasks, t)
			}
		}
		more, before = !next.IsZero(), next
		if !more || len(tasks) >= orderTasks {
			break
		}
	}
	for reads := 0; more && !before.IsZero() && reads < maxReads && len(a.own(tasks)) == 0; reads++ {
		page, next, err := a.o.Reader.List(ctx, f, before, orderTasks)
		if err != nil {
			return nil, false, err
		}
		tasks = append(tasks, slices.DeleteFunc(a.own(page), func(t *bellman.Task) bool { return !by.sees(t) })...)
		before = next
	}
	return tasks, more, nil
}

// order shows the tasks of one order, which must be sorted from the newest.
func (a *API) order(ctx context.Context, tasks []*bellman.Task) (*client.Order, error) {
	out := &client.Order{Tasks: make([]client.Task, 0, len(tasks)), Attempts: []client.OrderAttempt{}}
	whole, own := order.Overall(tasks)
	out.OrderState, out.LatePayment, out.Payment = whole.State, whole.Late, payment(&whole)
	if own != nil {
		ask := orderAsk(own)
		out.ChannelOrderNo, out.Account, out.Amount, out.Currency = cmp.Or(ask.ChannelOrderNo, own.OrderNo), ask.Account, ask.Amount, ask.Currency
	}
	for _, t := range slices.Backward(tasks) {
		out.Tasks = append(out.Tasks, a.Shown(t))
		if t.Attempts == 0 {
			continue
		}
		after := max(int(t.Attempts)-newestAttempts, 0)
		log, err := a.o.Reader.Attempts(ctx, t.ID, after, newestAttempts)
		if err != nil {
			return nil, fmt.Errorf("attempts of task %s: %w", t.ID, err)
		}
		out.More = out.More || after > 0
		for i := range log {
			out.Attempts = append(out.Attempts, client.OrderAttempt{Task: t.ID.String(), Queue: t.Queue, Attempt: attempt(&log[i])})
		}
		if len(out.Attempts) > 2*orderAttempts {
			newest(out)
		}
	}
	newest(out)
	return out, nil
}

// newest sorts attempts by start, and keeps the newest.
func newest(o *client.Order) {
	slices.SortStableFunc(o.Attempts, func(a, b client.OrderAttempt) int { return a.Started.Compare(b.Started.Time) })
	if n := len(o.Attempts) - orderAttempts; n > 0 {
		o.Attempts = slices.Delete(o.Attempts, 0, n)
		o.More = true
	}
}

// onOrder acts on the order task with these numbers, and returns it afterwards. If there are
// several, it takes the pending one.
func (a *API) onOrder(ctx context.Context, by *Caller, n *OrderNumbers, need needs, do func(bellman.ID) (*bellman.Task, error)) (*answer[client.Task], error) {
	tasks, _, err := a.tasksOf(ctx, &by.holder, n)
	if err != nil {
		return nil, err
	}
	own := a.own(tasks)
	if len(own) == 0 {
		return nil, n.missing()
	}
	id, open := own[0].ID, 0
	for _, t := range own {
		if !t.State.Ended() {
			id = t.ID
			open++
		}
	}
	if open > 1 {
		return nil, newProblem(http.StatusConflict, fmt.Sprintf("%d tasks of this order are pending, in one queue or several: name one by its id", open))
	}
	return a.act(ctx, by, &ID{id.String()}, need, do)
}

// own returns the order tasks among tasks.
func (a *API) own(tasks []*bellman.Task) []*bellman.Task {
	return slices.DeleteFunc(slices.Clone(tasks), func(t *bellman.Task) bool {
		return t.Kind != bellman.KindOrder || standing(t).Beside
	})
}

// waiting reads the time that a caller wants to wait.
func waiting(field, text string, otherwise time.Duration) (time.Duration, *client.Problem) {
	if text == "" {
		return otherwise, nil
	}
	f := faults{at: single}
	d := duration(&f, "wait", text, time.Millisecond, maxWait)
	if len(f.list) > 0 {
		return 0, wrongField(field, f.list[0].Message)
	}
	return d, nil
}

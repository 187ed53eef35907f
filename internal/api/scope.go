package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/order"
)

// A holder is the caller of a request, as its key describes it.
type holder struct {
	who   string        // the key's name; empty: there are no keys
	may   access.Rights // the rights of the key
	scope access.Scope  // the queues and merchants of the key
}

// creator reports whether the key reaches only tasks that a key of its name created: it has neither
// a scope nor the right to read everything.
func (h *holder) creator() bool { return !h.scope.Named() && h.may&access.MayRead == 0 }

// limited reports whether there are tasks that the key does not reach.
func (h *holder) limited() bool { return h.scope.Limited() || h.creator() }

// sees reports whether the key reaches a task.
func (h *holder) sees(t *bellman.Task) bool {
	if h.creator() {
		return t.CreatedBy() == h.who
	}
	return h.scope.Has(t.Queue, t.MerchantNo)
}

// limits describes which tasks the key reaches.
func (h *holder) limits() string {
	if h.creator() {
		return "the tasks that it created, because the configuration gives it neither queues nor merchants"
	}
	return h.scope.String()
}

// outside returns the problem of a request for something that the key does not reach. what must not
// say more about the thing than the request does.
func (h *holder) outside(what string) *client.Problem {
	return newProblem(http.StatusForbidden, what+": the scope of this key is "+h.limits())
}

// outsideQueue is outside for a queue that the request names.
func (h *holder) outsideQueue(name string) *client.Problem {
	return h.outside(fmt.Sprintf("queue %q is outside this key's scope", cut(name)))
}

// outsideMerchant is outside for a merchant that the request names.
func (h *holder) outsideMerchant(no string) *client.Problem {
	return h.outside(fmt.Sprintf("merchant %q is outside this key's scope", cut(no)))
}

// checkQueue returns why the key may not act on all tasks of a queue; nil: it may.
func (h *holder) checkQueue(name string) *client.Problem {
	switch {
	case !h.scope.HasQueue(name):
		return h.outsideQueue(name)
	case !h.scope.AllMerchants():
		return h.outside("a queue is of all merchants")
	}
	return nil
}

// checkMerchant returns why the key may not see a merchant or, with allQueues, may not act on what
// concerns the merchant in every queue; nil: it may.
func (h *holder) checkMerchant(no string, allQueues bool) *client.Problem {
	switch {
	case !h.scope.HasMerchant(no):
		return h.outsideMerchant(no)
	case allQueues && !h.scope.AllQueues():
		return h.outside("this call concerns the merchant in all queues")
	}
	return nil
}

// checkCreate returns why the key may not create a task; nil: it may. A queue that is missing is
// reported later.
func (h *holder) checkCreate(in *client.CreateTask) *client.Problem {
	switch {
	case in.Queue != "" && !h.scope.HasQueue(in.Queue):
		return h.outsideQueue(in.Queue)
	case !h.scope.HasMerchant(in.MerchantNo) && in.MerchantNo == "":
		return h.outside("a task without merchant_no is outside this key's scope")
	case !h.scope.HasMerchant(in.MerchantNo):
		return h.outsideMerchant(in.MerchantNo)
	case in.Supersedes && !h.scope.AllMerchants():
		return h.outside("supersedes ends tasks of any merchant that have the same ordering_key")
	}
	return nil
}

// narrow limits a filter to the scope: if the scope has one queue or one merchant, it is the
// default. It returns a problem if the filter selects more than the scope, or does not say which
// part of it.
func (h *holder) narrow(f *client.Filter) *client.Problem {
	switch {
	case h.scope.AllQueues():
	case f.Queue == "" && h.scope.OneQueue() == "":
		return h.outside("name one queue in queue")
	case f.Queue == "":
		f.Queue = h.scope.OneQueue()
	case !h.scope.HasQueue(f.Queue):
		return h.outsideQueue(f.Queue)
	}
	switch {
	case h.scope.AllMerchants():
	case f.MerchantNo == "" && h.scope.OneMerchant() == "":
		return h.outside("name one merchant in merchant_no")
	case f.MerchantNo == "":
		f.MerchantNo = h.scope.OneMerchant()
	case !h.scope.HasMerchant(f.MerchantNo):
		return h.outsideMerchant(f.MerchantNo)
	}
	return nil
}

// covers reports whether all tasks of a filter are in the scope.
func (h *holder) covers(f *resend.Pick) bool {
	return (h.scope.AllQueues() || f.Queue != "" && h.scope.HasQueue(f.Queue)) &&
		(h.scope.AllMerchants() || f.MerchantNo != "" && h.scope.HasMerchant(f.MerchantNo))
}

// narrowMerchants is narrow for a search of merchants, where merchant_no is the beginning of
// numbers. With only, the one merchant of exactly that number is in the scope.
func (h *holder) narrowMerchants(q *client.MerchantSearch) (only bool, refused *client.Problem) {
	if h.scope.AllMerchants() {
		return false, nil
	}
	if q.Name != "" {
		return false, h.outside("a search by name is of all merchants, search by merchant_no instead")
	}
	if q.MerchantNo == "" {
		if len(h.scope.Merchants) != 1 {
			return false, h.outside("give the beginning of a number in merchant_no")
		}
		beginning, open := strings.CutSuffix(h.scope.Merchants[0], "*")
		q.MerchantNo = beginning
		return !open, nil
	}
	for _, pattern := range h.scope.Merchants {
		if beginning, open := strings.CutSuffix(pattern, "*"); open && strings.HasPrefix(q.MerchantNo, beginning) {
			return false, nil
		}
	}
	if h.scope.HasMerchant(q.MerchantNo) {
		return true, nil
	}
	return false, h.outside(fmt.Sprintf("not all merchants that begin with %q are in this key's scope", cut(q.MerchantNo)))
}

// reach returns why a caller may not act on a task; nil: it may.
func (a *API) reach(ctx context.Context, by *holder, id bellman.ID, need needs) error {
	if by.may&need.tasks != 0 && by.may&need.orders != 0 && !by.limited() {
		return nil
	}
	t, err := a.o.Reader.Task(ctx, id)
	switch {
	case err != nil:
		return missing(err, "task "+id.String())
	case !by.sees(t):
		return by.outside("this task is outside this key's scope")
	}
	right, what := need.tasks, ""
	if t.Kind == bellman.KindOrder && t.Event != order.EventNotice {
		right, what = need.orders, " to an order"
	}
	if by.may&right == 0 {
		return newProblem(http.StatusForbidden, "this key may not do that"+what+": it takes the role "+right.String())
	}
	return nil
}

// reaches reports whether a caller reaches a task that its request did not name.
func (a *API) reaches(ctx context.Context, by *holder, id bellman.ID) bool {
	if !by.limited() {
		return true
	}
	t, err := a.o.Reader.Task(ctx, id)
	return err == nil && by.sees(t)
}

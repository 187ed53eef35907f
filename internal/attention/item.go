package attention

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
)

// The kinds of items.
const (
	Overloaded        = "overloaded"         // nodes accept no new tasks
	NotReady          = "not_ready"          // this node attempts nothing
	StoreFull         = "store_full"         // the store has no room for new tasks
	StoreSlow         = "store_slow"         // commits take long, or the store rejects outcomes of attempts
	ShardsUnowned     = "shards_unowned"     // no node attempts the tasks of some shards
	NodeGone          = "node_gone"          // a node stopped without releasing its shards
	NodeSilent        = "node_silent"        // a living node does not report its figures
	NodeClock         = "node_clock"         // the clock of a node is off
	EndpointFailing   = "endpoint_failing"   // its breaker is open, or it accepts nothing
	EndpointThrottled = "endpoint_throttled" // it asked for fewer attempts than wait for it
	EndpointPaused    = "endpoint_paused"
	MerchantFailing   = "merchant_failing" // it accepts nothing
	MerchantPaused    = "merchant_paused"
	QueueLate         = "queue_late" // a task is overdue
	QueuePaused       = "queue_paused"
	SourceStopped     = "source_stopped" // a broker's queue is not consumed
	TasksFailed       = "tasks_failed"   // tasks of a queue failed within the last hour
	OrdersUnknown     = "orders_unknown"
	AmountMismatch    = "amount_mismatch" // another amount than the order's was paid
	LatePayment       = "late_payment"
	DuplicatePayment  = "duplicate_payment"
	PollNeedsAction   = "poll_needs_action" // a refund, transfer or profit sharing

	PaymentWithoutOrder = "payment_without_order" // a notice says that somebody paid, and its order has not come

	BillDiffers       = "bill_differs"
	BillMissing       = "bill_missing"
	CredentialExpires = "credential_expires"
	NoticesRefused    = "notices_refused"    // notices of a channel that were not the channel's, or cannot be read
	FollowUpsRefused  = "follow_ups_refused" // notifications or other tasks that should follow from a task, and are not valid for their queue
	Alarm             = "alarm"              // a raised alarm that no other item is about
)

// Kinds are all kinds.
var Kinds = []string{
	Overloaded, StoreSlow, ShardsUnowned, NodeGone, NodeSilent, NodeClock, EndpointFailing, EndpointThrottled, EndpointPaused, MerchantFailing, MerchantPaused,
	QueueLate, QueuePaused, SourceStopped, TasksFailed, OrdersUnknown, AmountMismatch, LatePayment, DuplicatePayment, PaymentWithoutOrder, PollNeedsAction, BillDiffers,
	BillMissing, CredentialExpires, NoticesRefused, FollowUpsRefused, NotReady, StoreFull, Alarm,
}

// An Item is one thing that needs a person.
type Item struct {
	Kind    string
	Name    string    // what it is about: an endpoint, merchant, queue, node, store, source, credential, order or alarm; empty: the server as a whole
	Queue   string    // empty: it is about none, or about several
	Since   time.Time // zero: not known
	Tasks   int       // tasks or orders that are affected, or differences; 0: not known
	More    bool      // there may be more of them
	Amounts []Amount  // of the orders that are affected, as far as known
	Why     string    // in English; empty: the kind says it
	Failure *figures.Failure
	Who     string        // who paused it
	Rate    float64       // of a throttled endpoint: attempts a second
	Late    time.Duration // of a queue: how long the oldest task is overdue; of a node: how far its clock is ahead, or behind if negative
	Expires time.Time     // of a credential
	Urgent  bool          // money or tasks are stuck; otherwise it will get worse, or somebody chose it

	MerchantNo, OrderNo, RefNo, Task string // of one order, refund or transfer

	Alarm  string         // name of the raised alarm about it; empty: none
	Untold string         // why no task reports that alarm; empty: a task does
	Run    string         // id of the reconciliation
	Bill   *reconcile.Run // the reconciliation that left differences; nil: the item is about something else
}

// An Amount is a sum of money of one currency.
type Amount struct {
	Currency string
	Amount   int64 // in the smallest unit
	Orders   int   // orders that it is the sum of
}

// whole is more than 0 if an item concerns every task, and the highest if it explains others.
func (i *Item) whole() int {
	switch i.Kind {
	case NotReady, StoreFull:
		return 2
	case Overloaded, StoreSlow, ShardsUnowned:
		return 1
	}
	return 0
}

// money returns the amounts in main units. Amounts of different currencies are added as they are,
// because bellman knows no exchange rates.
func (i *Item) money() (sum float64) {
	for _, a := range i.Amounts {
		decimals, _ := money.Decimals(a.Currency)
		sum += float64(a.Amount) / math.Pow10(decimals)
	}
	return sum
}

// Page returns the address of the console's page on which a person deals with an item.
func (i *Item) Page() string {
	at := func(path string, values ...string) string {
		q := url.Values{}
		for k := 0; k < len(values); k += 2 {
			q.Set(values[k], values[k+1])
		}
		return path + "?" + q.Encode()
	}
	ofOrder := func() string {
		if i.MerchantNo == "" || i.OrderNo == "" {
			return at("/orders", "order_state", "UNKNOWN")
		}
		return at("/orders", "merchant_no", i.MerchantNo, "order_no", i.OrderNo)
	}
	switch i.Kind {
	case Overloaded, StoreSlow, StoreFull, SourceStopped:
		return "/queues"
	case NotReady, ShardsUnowned, NodeGone, NodeSilent, NodeClock:
		return "/nodes"
	case EndpointFailing, EndpointThrottled, EndpointPaused:
		return at("/endpoints", "name", i.Name)
	case MerchantFailing, MerchantPaused:
		return at("/merchants/show", "no", i.Name)
	case QueueLate:
		return at("/tasks", "queue", i.Name, "state", "pending")
	case QueuePaused:
		return at("/queues", "name", i.Name)
	case TasksFailed:
		return at("/tasks", "queue", i.Name, "state", "failed")
	case OrdersUnknown, AmountMismatch, LatePayment, DuplicatePayment:
		return ofOrder()
	case PollNeedsAction, PaymentWithoutOrder:
		if i.Task != "" {
			return "/tasks/" + url.PathEscape(i.Task)
		}
		if i.Kind == PaymentWithoutOrder {
			return at("/tasks", "queue", i.Queue, "event", order.EventNotice, "result", bellman.Refused.String())
		}
		return at("/tasks", "queue", i.Queue, "state", "pending")
	case BillDiffers, BillMissing:
		return "/reconciliations/" + url.PathEscape(i.Run)
	case CredentialExpires:
		if account, is := strings.CutPrefix(i.Name, "accounts."); is {
			return at("/accounts/show", "account", accountIn(account))
		}
		if i.Queue != "" {
			return at("/queues", "name", i.Queue)
		}
		if key, is := strings.CutPrefix(i.Name, "keys."); is {
			return at("/audit", "by", key)
		}
		return "/audit"
	case FollowUpsRefused:
		return "/tasks/" + url.PathEscape(i.Task)
	case NoticesRefused:
		return at("/tasks", "queue", i.Name, "event", order.EventNotice, "state", "failed")
	}
	if i.OrderNo != "" {
		return ofOrder()
	}
	return "/audit"
}

// accountIn returns the account in the name of a credential, without "accounts.". The field of the
// account follows the last dot, or is platform_keys.SERIAL; the account may have dots of its own.
func accountIn(name string) string {
	if i := strings.LastIndex(name, ".platform_keys."); i >= 0 {
		return name[:i]
	}
	return name[:max(strings.LastIndexByte(name, '.'), 0)]
}

// rank orders items: those that stop everything, then by money, by tasks, urgent ones, the oldest
// first.
func rank(items []Item) {
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(
			b.whole()-a.whole(),
			cmp.Compare(b.money(), a.money()),
			cmp.Compare(b.Tasks, a.Tasks),
			number(b.Urgent)-number(a.Urgent),
			a.Since.Compare(b.Since),
			strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Name, b.Name),
		)
	})
}

func number(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// A purse sums up amounts of orders, each once.
type purse struct {
	seen map[string]bool
	sums map[string]*Amount
}

func (p *purse) add(order, currency string, amount int64) {
	if amount <= 0 || currency == "" || p.seen[order] {
		return
	}
	if p.seen == nil {
		p.seen, p.sums = make(map[string]bool), make(map[string]*Amount)
	}
	p.seen[order] = true
	s := p.sums[currency]
	if s == nil {
		s = &Amount{Currency: currency}
		p.sums[currency] = s
	}
	s.Orders++
	if s.Amount += amount; s.Amount < 0 { // beyond an int64
		s.Amount = math.MaxInt64
	}
}

func (p *purse) amounts() []Amount {
	var all []Amount
	for _, s := range p.sums {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Amount) int { return cmp.Or(b.Orders-a.Orders, strings.Compare(a.Currency, b.Currency)) })
	return all
}

package attention

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
)

// A maker makes one list.
type maker struct {
	*Desk
	f     *figures.Figures
	rows  *rows
	now   time.Time
	rules []alarm.Rule
	items []Item
}

func (m *maker) add(i Item) { m.items = append(m.items, i) }

// trouble returns why this node attempts nothing, or accepts no new tasks. away means that the
// database cannot be read.
func (d *Desk) trouble(ctx context.Context) (items []Item, away bool) {
	if d.o.Ready == nil {
		return nil, false
	}
	since, err := d.o.Ready(ctx)
	item := Item{Kind: NotReady, Name: d.o.StoreName, Since: since, Urgent: true}
	switch {
	case err == nil, errors.Is(err, bellman.ErrClosed):
		return nil, false
	case errors.Is(err, bellman.ErrFull):
		item.Kind, item.Why = StoreFull, "new tasks are rejected until the store has room: give it more disk or memory; attempts continue"
	default:
		item.Why = strings.TrimPrefix(err.Error(), "bellman: ")
	}
	if away = errors.Is(err, bellman.ErrUnreachable); away {
		item.Why += "; repair it, and bellman continues by itself"
	}
	return []Item{item}, away
}

// server adds what concerns every task.
func (m *maker) server() {
	if n := m.f.Gauges.Refusing; n > 0 {
		m.add(Item{Kind: Overloaded, Tasks: m.f.Gauges.Waiting, Urgent: true})
	}
	slow, rejected := m.f.Gauges.SlowCommit, m.f.Gauges.Rejected
	if rejected > 0 {
		m.add(Item{Kind: StoreSlow, Late: slow, Tasks: rejected, Urgent: true, Why: "the store rejects the outcomes of these attempts, which are retried: the log says why"})
	} else if slow.Seconds() > alarm.Above(m.rules, alarm.StoreSlow, "") {
		m.add(Item{Kind: StoreSlow, Late: slow, Urgent: true, Why: "look at the database's locks, disk and load"})
	}
	if m.o.Sources == nil {
		return
	}
	for _, s := range m.o.Sources() {
		if s.Why != "" && s.State != "stopped" {
			m.add(Item{Kind: SourceStopped, Name: s.Name, Queue: s.Into, Since: s.Since, Why: s.Why, Urgent: s.State != "connecting"})
		}
	}
}

func (m *maker) nodes(ctx context.Context) error {
	for _, name := range m.f.Silent {
		m.add(Item{Kind: NodeSilent, Name: name})
	}
	for _, s := range m.f.Skewed {
		m.add(Item{Kind: NodeClock, Name: s.Node, Late: s.Ahead, Urgent: true})
	}
	if m.o.Nodes == nil {
		return nil
	}
	nodes, unowned, err := m.o.Nodes(ctx)
	if err != nil {
		return err
	}
	alive := map[string]bool{}
	for _, n := range nodes {
		if n.Alive {
			alive[process(n.Name)] = true
		}
	}
	for _, n := range nodes {
		if rejoined := alive[process(n.Name)] && len(n.Shards) == 0; !n.Alive && !rejoined {
			m.add(Item{Kind: NodeGone, Name: n.Name, Since: n.Beat, Urgent: len(n.Shards) > 0})
		}
	}
	if len(unowned) > 0 {
		m.add(Item{Kind: ShardsUnowned, Tasks: len(unowned), Urgent: true})
	}
	return nil
}

// process returns the name of a node without the id of its registration. A process that was away
// from the store for a while joins again under another id.
func process(node string) string {
	at := strings.LastIndex(node, "/")
	if _, err := bellman.ParseID(node[at+1:]); at < 0 || err != nil {
		return node
	}
	return node[:at]
}

func (m *maker) endpoints() {
	failing := alarm.Failing(m.f)
	for i := range m.f.Endpoints {
		e := &m.f.Endpoints[i]
		of := in(m.rows.endpoints, e.Endpoint)
		item := Item{Name: e.Endpoint, Since: e.Oldest, Tasks: max(e.Waiting, of.tasks), More: of.more(m.rows), Amounts: of.amounts()}
		if e.Hour != nil {
			item.Failure = e.Hour.Failure
		}
		switch {
		case e.Pause != nil && m.pausedAsQueue(e):
			continue
		case e.Pause != nil:
			item.Kind, item.Since, item.Who, item.Why, item.Failure = EndpointPaused, e.Pause.At, e.Pause.Who, e.Pause.Reason, nil
		case failing[e.Endpoint], e.Fails():
			item.Kind, item.Urgent = EndpointFailing, true
			if e.Hour != nil && e.Hour.Fails() {
				item.Since = e.Hour.Since
			}
		case e.Rate > 0 && e.Waiting > 0:
			item.Kind, item.Rate = EndpointThrottled, e.Rate
		default:
			continue
		}
		m.add(item)
	}
}

// pausedAsQueue reports whether an endpoint is paused because its queue is. The tasks of a queue
// without addresses have an endpoint of the queue's name.
func (m *maker) pausedAsQueue(e *figures.Endpoint) bool {
	return slices.ContainsFunc(m.f.Queues, func(q figures.Queue) bool {
		return q.Name == e.Endpoint && q.Pause != nil && q.Pause.At.Equal(e.Pause.At)
	})
}

func (m *maker) merchants() {
	paused := map[string]bool{}
	for _, p := range m.o.Engine.PausedMerchants() {
		paused[p.MerchantNo] = true
		of := in(m.rows.merchants, p.MerchantNo)
		m.add(Item{Kind: MerchantPaused, Name: p.MerchantNo, MerchantNo: p.MerchantNo, Since: p.At, Who: p.Who, Why: p.Reason, Tasks: of.tasks, More: of.cut, Amounts: of.amounts()})
	}
	for _, f := range m.f.Failing {
		if paused[f.MerchantNo] {
			continue
		}
		of := in(m.rows.merchants, f.MerchantNo)
		m.add(Item{Kind: MerchantFailing, Name: f.MerchantNo, MerchantNo: f.MerchantNo, Since: f.Since, Urgent: true, Tasks: of.tasks, More: of.cut, Amounts: of.amounts(), Failure: m.rows.failures[f.MerchantNo]})
	}
}

func (m *maker) queues() {
	for i := range m.f.Queues {
		q := &m.f.Queues[i]
		of := in(m.rows.queues, q.Name)
		if q.Pause != nil {
			m.add(Item{Kind: QueuePaused, Name: q.Name, Queue: q.Name, Since: q.Pause.At, Who: q.Pause.Who, Why: q.Pause.Reason,
				Tasks: max(q.Waiting, of.tasks), More: of.more(m.rows), Amounts: of.amounts()})
			continue
		}
		late := m.now.Sub(q.OldestOverdue)
		if !q.OldestOverdue.IsZero() && late.Seconds() > alarm.Above(m.rules, alarm.Overdue, q.Name) {
			m.add(Item{Kind: QueueLate, Name: q.Name, Queue: q.Name, Since: q.OldestOverdue, Late: late, Urgent: true,
				Tasks: max(q.Waiting-q.Held, of.free), More: of.more(m.rows), Amounts: of.amounts()})
		}
		if q.Kind != "order" && float64(q.FailedHour) > alarm.Above(m.rules, alarm.TasksFailed, q.Name) {
			failed := m.rows.failed[q.Name]
			m.add(Item{Kind: TasksFailed, Name: q.Name, Queue: q.Name, Since: failed.since, Tasks: int(q.FailedHour), MerchantNo: failed.merchant, Failure: failed.last, Urgent: true})
		}
	}
}

func (m *maker) refused() {
	for _, r := range m.f.Refused {
		m.add(Item{Kind: NoticesRefused, Name: r.Queue, Queue: r.Queue, Since: r.Since, Tasks: r.Count, Why: r.Why})
	}
	for _, r := range m.f.Follows {
		m.add(Item{Kind: FollowUpsRefused, Name: r.Queue, Queue: r.Queue, Since: r.Since, Tasks: r.Count, Why: r.Why, Task: r.Task, Urgent: true})
	}
}

func (m *maker) credentials() {
	if m.o.Credentials == nil {
		return
	}
	all, within := alarm.Expiring(m.o.Credentials(), m.now)
	for i, c := range all {
		m.add(Item{Kind: CredentialExpires, Name: c.Name, Queue: c.Queue, Since: c.Expires.Add(-within[i]), Expires: c.Expires, Urgent: within[i] <= 24*time.Hour})
	}
}

// kindOf are the kinds of items that the alarms of a condition are about.
var kindOf = map[string][]string{
	alarm.Overdue: {QueueLate}, alarm.EndpointFailing: {EndpointFailing, EndpointPaused}, alarm.OrdersUnknown: {OrdersUnknown, AmountMismatch}, alarm.TasksFailed: {TasksFailed},
	alarm.StoreSlow: {StoreSlow}, alarm.Overloaded: {Overloaded}, alarm.NodeSilent: {NodeSilent}, alarm.CredentialExpires: {CredentialExpires},
	alarm.OrderNeedsAction: {OrdersUnknown}, alarm.AmountMismatch: {AmountMismatch}, alarm.LatePayment: {LatePayment, DuplicatePayment}, alarm.PollNeedsAction: {PollNeedsAction},
	alarm.PaymentWithoutOrder: {PaymentWithoutOrder},
}

// alarms names the raised alarm of each item, and adds the alarms that no item is about.
func (m *maker) alarms(ctx context.Context) error {
	if m.o.Alarms == nil {
		return nil
	}
	all, err := m.o.Alarms.List(ctx)
	if err != nil {
		return err
	}
	// The alarm about one order is named before one about orders as a whole.
	slices.SortStableFunc(all, func(a, b alarm.Alarm) int { return number(b.Affected != nil) - number(a.Affected != nil) })
	for i := range all {
		a := &all[i]
		if !a.Raised() || m.named(a) {
			continue
		}
		item := Item{Kind: Alarm, Name: a.Name, Queue: a.Queue, Since: a.Since, Why: a.When, Alarm: a.Name, Untold: a.Untold, Urgent: !alarm.Momentary(a.When)}
		item.Expires = a.Expires
		if d := a.Decision; d != nil {
			item.MerchantNo, item.OrderNo, item.Task, item.Who, item.Why = d.MerchantNo, d.OrderNo, d.Task, d.Who, d.Reason
		}
		if a.Affected != nil {
			continue // it was settled meanwhile
		}
		m.add(item)
	}
	return nil
}

// named notes an alarm at the items that it is about, and reports whether there are any.
func (m *maker) named(a *alarm.Alarm) (found bool) {
	for _, kind := range kindOf[a.When] {
		for i := range m.items {
			item := &m.items[i]
			if item.Kind != kind || !about(a, item) {
				continue
			}
			found = true
			item.Alarm, item.Untold = cmp.Or(item.Alarm, a.Name), cmp.Or(item.Untold, a.Untold)
		}
	}
	return found
}

func about(a *alarm.Alarm, i *Item) bool {
	switch {
	case a.Credential != "":
		return a.Credential == i.Name
	case a.Endpoint != "" && a.Endpoint != "*":
		return a.Endpoint == i.Name
	case a.Affected != nil && i.Task != "":
		return a.Affected.Task == i.Task
	}
	return a.Queue == "" || a.Queue == i.Queue
}

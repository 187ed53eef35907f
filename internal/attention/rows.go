package attention

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/store"
)

// The bounds of one reading.
const (
	dueRows      = 1000 // overdue tasks, and as many deferred ones
	loadRows     = 200
	merchantRows = 200 // pending tasks of one merchant
	mostLooked   = 20  // merchants, and queues, whose tasks are read
	failedRows   = 200 // failed tasks of one queue
	briefRows    = 1000
	failedWithin = 100 * time.Millisecond // for reading past other failed tasks of a queue of orders
	billRuns     = 1000
	billRows     = 200 // differences of one reconciliation
)

// beyondTasks is later than every task's time. Later entries of the due index are deferred
// (engine/DESIGN.md).
const beyondTasks = 1 << 50 // Unix ms

// rows are what the store says.
type rows struct {
	dueMore, deferredMore bool // there are more tasks than were read

	queues, endpoints map[string]*group // of the overdue and deferred tasks
	merchants         map[string]*group // of the pending tasks of merchants in trouble
	failures          map[string]*figures.Failure
	failed            map[string]failedTasks // of queues
	orders, bills     []Item
	paused            []figures.MerchantPause // when it was read
	late              map[lateOf]time.Time    // due time of the notification that has waited longest
}

type lateOf struct{ merchant, queue string }

// A group of tasks.
type group struct {
	tasks, free int // free: not deferred
	cut         bool
	purse
}

// failedTasks are the tasks of a queue, or of one of its merchants, that failed within the last
// hour.
type failedTasks struct {
	since    time.Time
	n        int
	newest   time.Time        // when the last of them failed
	last     *figures.Failure // the newest; of a queue: the newest of the merchant with the most
	merchant string           // of a queue: the merchant of all these tasks; empty: they are of several merchants, or of none
}

// add counts a task.
func (of *failedTasks) add(t *bellman.Task) {
	of.n++
	of.since = figures.Sooner(of.since, t.Finished)
	if t.Last != nil && t.Finished.After(of.newest) {
		of.newest = t.Finished
		of.last = failureOf(t)
	}
}

// sumOf returns the failed tasks of a queue. Its failure is the newest of the merchant with the
// most failed tasks: a single later failure of another merchant does not explain the others.
func sumOf(merchants map[string]*failedTasks) (of failedTasks) {
	most := &failedTasks{}
	for no, m := range merchants {
		of.since, of.n = figures.Sooner(of.since, m.since), of.n+m.n
		if m.n > most.n || m.n == most.n && m.newest.After(most.newest) {
			most, of.merchant = m, no
		}
	}
	if of.last = most.last; len(merchants) > 1 {
		of.merchant = ""
	}
	return of
}

func (g *group) count(t *bellman.Task, deferred bool) {
	g.tasks++
	if !deferred {
		g.free++
	}
	if amount, currency := price(t); amount > 0 {
		g.add(t.MerchantNo+"\x00"+t.OrderNo, currency, amount)
	}
}

// in returns a group of tasks, which may be empty.
func in(groups map[string]*group, name string) *group {
	if g := groups[name]; g != nil {
		return g
	}
	return &group{}
}

// more reports whether the group may have more tasks than were read.
func (g *group) more(r *rows) bool { return g.tasks > 0 && (r.dueMore || r.deferredMore) }

func (d *Desk) readRows(ctx context.Context, f *figures.Figures) (*rows, error) {
	r := &rows{queues: map[string]*group{}, endpoints: map[string]*group{}, merchants: map[string]*group{}, failures: map[string]*figures.Failure{}, failed: map[string]failedTasks{}, late: map[lateOf]time.Time{}}
	r.paused = d.o.Engine.PausedMerchants()
	for _, read := range []func(context.Context, *rows, *figures.Figures) error{d.readDue, d.readMerchants, d.readFailed, d.readOrders, d.readBills} {
		if err := read(ctx, r, f); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readDue reads overdue tasks, the longest overdue first, and deferred ones.
func (d *Desk) readDue(ctx context.Context, r *rows, f *figures.Figures) error {
	waiting := f.Gauges.Waiting > 0 || !f.Gauges.OldestOverdue.IsZero()
	state, err := d.o.Store.State(ctx, "")
	if err != nil {
		return err
	}
	var shards []uint16
	for _, s := range state.Shards {
		shards = append(shards, s.Shard)
	}
	of := func(groups map[string]*group, name string) *group {
		if groups[name] == nil {
			groups[name] = &group{}
		}
		return groups[name]
	}
	for _, part := range []struct {
		from     int64
		to       int64
		deferred bool
		more     *bool
	}{{0, time.Now().UnixMilli(), false, &r.dueMore}, {beyondTasks, store.MaxTime, true, &r.deferredMore}} {
		if !part.deferred && !waiting {
			continue
		}
		entries, err := d.o.Store.Due(ctx, shards, store.Position{VisibleAt: part.from}, part.to, dueRows, nil)
		if err != nil {
			return err
		}
		*part.more = len(entries) == dueRows
		for chunk := range slices.Chunk(entries, loadRows) {
			tasks, err := d.o.Store.Load(ctx, chunk)
			if err != nil {
				return err
			}
			for _, t := range tasks {
				if t == nil { // it changed meanwhile
					continue
				}
				of(r.queues, t.Queue).count(t, part.deferred)
				if to := (lateOf{t.MerchantNo, t.Queue}); t.MerchantNo != "" && !part.deferred && !asks(t) {
					r.late[to] = figures.Sooner(r.late[to], t.Due)
				}
				of(r.endpoints, cmp.Or(d.o.Engine.Route(t).Endpoint, t.Endpoint, t.Queue)).count(t, part.deferred)
			}
		}
	}
	return nil
}

// readMerchants reads the pending tasks of merchants that fail or are paused.
func (d *Desk) readMerchants(ctx context.Context, r *rows, f *figures.Figures) error {
	var failing, names []string
	for _, one := range f.Failing[:min(len(f.Failing), mostLooked)] {
		failing = append(failing, one.MerchantNo)
	}
	for _, p := range r.paused[:min(len(r.paused), mostLooked)] {
		names = append(names, p.MerchantNo)
	}
	if len(failing) > 0 {
		recent, err := d.o.Engine.Figures(ctx, figures.Ask{Recent: &figures.RecentAsk{Merchants: failing}})
		if err != nil {
			return err
		}
		for _, one := range recent.RecentMerchants {
			r.failures[one.Name] = one.Failure
		}
	}
	pending := bellman.Pending
	for _, no := range append(names, failing...) {
		tasks, next, err := d.o.Store.List(ctx, store.Filter{MerchantNo: no, State: &pending}, bellman.ID{}, merchantRows)
		if err != nil {
			return err
		}
		g := &group{cut: !next.IsZero()}
		for _, t := range tasks {
			if !asks(t) {
				g.count(t, false)
			}
		}
		r.merchants[no] = g
	}
	return nil
}

// asks reports whether a task asks a channel: the merchant gets no request by it.
func asks(t *bellman.Task) bool { return t.Kind == bellman.KindOrder || t.Kind == bellman.KindPoll }

// readFailed reads why the tasks of queues failed within the last hour.
func (d *Desk) readFailed(ctx context.Context, r *rows, f *figures.Figures) error {
	state := bellman.Failed
	rules, looked := d.Rules(), 0
	for i := range f.Queues {
		q := &f.Queues[i]
		if q.Kind == "order" || float64(q.FailedHour) <= alarm.Above(rules, alarm.TasksFailed, q.Name) {
			continue
		}
		if looked++; looked > mostLooked {
			return nil
		}
		tasks, _, err := d.o.Store.List(ctx, store.Filter{Queue: q.Name, State: &state}, bellman.ID{}, failedRows)
		if err != nil {
			return err
		}
		merchants := map[string]*failedTasks{}
		for _, t := range tasks {
			if time.Since(t.Finished) > time.Hour {
				continue
			}
			if merchants[t.MerchantNo] == nil {
				merchants[t.MerchantNo] = &failedTasks{}
			}
			merchants[t.MerchantNo].add(t)
		}
		r.failed[q.Name] = sumOf(merchants)
	}
	return nil
}

// readBills reads the comparisons of the last day that found differences, or failed.
func (d *Desk) readBills(ctx context.Context, r *rows, _ *figures.Figures) error {
	if d.o.Reconciliations == nil {
		return nil
	}
	runs, err := d.o.Reconciliations.List(ctx, billRuns)
	if err != nil {
		return err
	}
	for i := range runs {
		run := &runs[i]
		item := Item{Queue: run.Queue, Name: run.Queue + " " + run.Date, Run: run.ID, Urgent: true}
		if run.State == reconcile.Failed && time.Since(run.Created) <= alarm.Keep {
			item.Kind, item.Since, item.Why = BillMissing, run.Created, run.Error
			r.bills = append(r.bills, item) // other accounts may be compared, and differ
		}
		left := run.Total() - run.Settling.Settled
		if run.Finished.IsZero() || time.Since(run.Finished) > alarm.Keep || left <= 0 {
			continue
		}
		var of purse
		differences, _, err := d.o.Reconciliations.Differences(ctx, run.ID, "", 0, billRows)
		if err != nil {
			return err
		}
		for k := range differences {
			differs(&of, &differences[k])
		}
		item.Kind, item.Since, item.Tasks, item.Bill, item.Amounts, item.Why = BillDiffers, run.Finished, left, run, of.amounts(), differing(run)
		r.bills = append(r.bills, item)
	}
	return nil
}

// differing says which bill differs, and in what, in the words of the API: fund_flow, account
// shop1: 2 missing_here, 1 amount.
func differing(run *reconcile.Run) string {
	var which, kinds []string
	if run.Bill == reconcile.FundFlow {
		which = append(which, string(run.Bill))
	}
	if run.Source == reconcile.FromFile {
		which = append(which, run.Source)
	}
	if run.Account != "" {
		which = append(which, "account "+run.Account)
	}
	for _, kind := range bill.Kinds() {
		if n := run.Counts.Differences[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprint(n, " ", kind))
		}
	}
	if len(which) == 0 {
		return strings.Join(kinds, ", ")
	}
	return strings.Join(which, ", ") + ": " + strings.Join(kinds, ", ")
}

// price returns what the order of a task costs; 0: that is not known. A notification of the order's
// end has the amount in its body.
func price(t *bellman.Task) (amount int64, currency string) {
	switch {
	case t.Kind == bellman.KindOrder:
		if told := order.ToldOf(t); told != nil {
			return told.Price()
		}
		if ask, err := order.ParseAsk(t.Body); err == nil {
			return ask.Amount, ask.Currency
		}
	case t.Kind == bellman.KindPoll:
		if ask, err := poll.ParseAsk(t.Body); err == nil {
			amount, _ = strconv.ParseInt(ask.Vars["amount"], 10, 64)
			return amount, ask.Vars["currency"]
		}
	case strings.HasPrefix(t.Event, "order."):
		var said struct {
			Amount   int64  `json:"amount"`
			Currency string `json:"currency"`
		}
		if json.Unmarshal(t.Body, &said) == nil && said.Currency != "" {
			return said.Amount, said.Currency
		}
	}
	return 0, ""
}

// differs adds the amount about which a bill and bellman differ.
func differs(of *purse, i *reconcile.Item) {
	if i.Asked != nil && i.Asked.Settled {
		return
	}
	var amount int64
	var currency string
	key := i.ChannelOrderNo
	if there := i.There; there != nil {
		amount, currency = cmp.Or(there.RefundAmount, there.Amount), there.Currency
		key += "\x00" + there.RefundNo
	}
	if here := i.Here; here != nil {
		if amount -= here.Amount; amount == 0 || i.There == nil {
			amount = here.Amount
		}
		currency = cmp.Or(currency, here.Currency)
	}
	of.add(key, currency, max(amount, -amount))
}

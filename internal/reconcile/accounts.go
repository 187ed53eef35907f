package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

// A failure says why orders of an account are not compared.
type failure struct {
	Left
	err error
}

// accounts returns the accounts whose bills a run compares: the one that it names, those that are
// left of a try before, or all that the queue's orders have. failures are of accounts that cannot
// be asked.
func (w *writer) accounts(ctx context.Context, q *Queue) (all []Account, failures []failure, err error) {
	var wanted []Left
	unused := false // no order names the default account
	switch {
	case w.run.Account != "":
		wanted = []Left{{Account: w.run.Account}}
	case w.run.Partial:
		for _, l := range w.run.Left {
			if l.Compared {
				w.partly = append(w.partly, failure{l, errors.New(l.Error)})
			} else {
				wanted = append(wanted, l)
			}
		}
	default:
		named, err := w.named(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		unused = q.Account.Name != "" && !slices.ContainsFunc(named, func(l Left) bool { return l.Account == q.Account.Name })
		if unused || q.Account.Name == "" && q.Account.of(w.run.Bill).Lines != nil {
			wanted = append(wanted, Left{Account: q.Account.Name})
		}
		wanted = append(wanted, named...)
		w.known, w.strange = map[string]bool{q.Identity: q.Account.Name == ""}, map[string]string{}
	}
	seen := map[string]bool{}
	for _, l := range wanted {
		at, err := q.account(ctx, l.Account)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		moved := err == nil && l.Identity != "" && at.Identity != l.Identity
		if w.known != nil {
			w.known[at.Identity] = true
			w.known[l.Identity] = w.known[l.Identity] || !moved
		}
		missing := errors.Is(err, bellman.ErrNotFound)
		switch l.Gone = missing || moved && w.known == nil; {
		case missing && unused && l.Account == q.Account.Name:
			w.log.Warn("a queue's default account is not registered, and no order names it", "reconciliation", w.run.ID, "queue", q.Name, "account", l.Account)
			continue
		case missing:
			err = unregistered(cmp.Or(l.Account, q.Account.Name))
		case moved && w.known == nil:
			err = elsewhere(l, at.Identity)
		case err == nil && at.of(w.run.Bill).Lines == nil && w.run.Bill == FundFlow && w.run.Account == "":
			w.log.Warn("an account has no fund flow bill, and is left out", "reconciliation", w.run.ID, "queue", q.Name, "account", cmp.Or(l.Account, at.Identity))
			continue
		case err == nil && at.of(w.run.Bill).Lines == nil:
			err = errors.New("its channel has no such bill that can be asked for")
		}
		if err != nil {
			failures = append(failures, failure{l, err})
		} else if !seen[at.Identity] { // an account may have several names
			seen[at.Identity] = true
			all = append(all, at)
		}
	}
	return all, failures, nil
}

func unregistered(name string) error { return fmt.Errorf("account %.128q is not registered", name) }

// elsewhere says that the name of an account, or the queue's own channel, is another account now.
func elsewhere(l Left, now string) error {
	if l.Account == "" {
		return fmt.Errorf("the queue's channel is another account now, %s: the orders of %s are not compared", now, l.Identity)
	}
	return fmt.Errorf("account %.128q is another one now, %s: the orders of %s are not compared", l.Account, now, l.Identity)
}

// named returns the accounts that the queue's orders name, and those of refunds that were accepted
// in the period, of each account one name. If no account is registered, the queue's own channel has
// the bill of all orders, and named reads none of them: strangers finds those of others.
func (w *writer) named(ctx context.Context, q *Queue) (named []Left, err error) {
	if q.Registry == nil {
		return nil, nil
	}
	if q.Account.Name == "" && q.Account.of(w.run.Bill).Lines != nil {
		if any, err := q.Registry.Any(ctx); err != nil || !any {
			return nil, err
		}
	}
	from, to, err := bill.Day(w.run.Date)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, queue := range append([]string{q.Name}, q.Refunds...) {
		for t, err := range w.tasksOf(ctx, q.around(queue, from, to), w.still) {
			if err != nil {
				return nil, err
			}
			account := order.AccountIn(t.Alias())
			if account == "" || seen[account] {
				continue
			}
			if queue != q.Name {
				switch is, err := w.refundedIn(ctx, q, t, from, to); {
				case err != nil:
					return nil, err
				case !is:
					continue
				}
			}
			seen[account] = true
			if name := order.AccountOf(t); name != "" {
				named = append(named, Left{Account: name, Identity: account})
			}
		}
	}
	slices.SortFunc(named, func(a, b Left) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(a.Identity, b.Identity))
	})
	return named, nil
}

// refundedIn reports whether a refund was accepted in a period, and its order is one of the queue.
func (w *writer) refundedIn(ctx context.Context, q *Queue, t *bellman.Task, from, to time.Time) (bool, error) {
	d, ok, err := w.polled(q, t)
	if err != nil || !ok || w.run.NoRefunds || d.PaidAt.Before(from.Add(-edge)) || !d.PaidAt.Before(to) {
		return false, err
	}
	id, err := store.Lookup(ctx, w.store, "", order.Alias(d.Account, order.OfPayment, d.ChannelOrderNo))
	if err == nil {
		t, err = w.store.Task(ctx, id)
	}
	if errors.Is(err, bellman.ErrNotFound) {
		return false, nil
	}
	return err == nil && t.Queue == q.Name, err
}

// noted yields items, and notes the accounts of orders that were paid in a period, if the account
// is not known.
func (w *writer) noted(items iter.Seq2[bill.Decided, error], from, to time.Time) iter.Seq2[bill.Decided, error] {
	if w.known == nil {
		return items
	}
	return func(yield func(bill.Decided, error) bool) {
		for d, err := range items {
			if !w.known[d.Account] && d.Paid && d.RefundNo == "" && !d.PaidAt.Before(from) && d.PaidAt.Before(to) {
				w.strange[d.Account] = d.TaskID
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// strangers returns the accounts that were noted. Their names, or the queue's own channel, are
// other accounts now, or no account is registered any more.
func (w *writer) strangers(ctx context.Context, q *Queue) (failures []failure, err error) {
	for _, identity := range slices.Sorted(maps.Keys(w.strange)) {
		l := Left{Identity: identity}
		id, err := bellman.ParseID(w.strange[identity])
		if err != nil {
			return nil, err
		}
		switch t, err := w.store.Task(ctx, id); {
		case err == nil:
			l.Account = order.AccountOf(t)
		case !errors.Is(err, bellman.ErrNotFound): // retention may have deleted it meanwhile
			return nil, err
		}
		at, err := q.account(ctx, l.Account)
		missing := errors.Is(err, bellman.ErrNotFound)
		switch l.Gone = missing || err == nil; {
		case missing:
			err = unregistered(cmp.Or(l.Account, q.Account.Name))
		case err == nil:
			err = elsewhere(l, at.Identity)
		}
		failures = append(failures, failure{l, err})
	}
	return failures, nil
}

// patientBefore is the number of tries for which a comparison waits for the bill of the day before.
const patientBefore = 3

// once asks for the bills that are left, and compares them. What is missing near midnight is looked
// for in the bill of the day before. If that one does not come in several tries, the comparison is
// made without it, and marks what is near midnight. If orders of some accounts are not compared,
// the run has the result of the others, and an error.
func (r *Runs) once(ctx context.Context, run *Run) error {
	all := r.queues()
	i := slices.IndexFunc(all, func(q Queue) bool { return q.Name == run.Queue && (q.Lines != nil || q.Registry != nil) })
	if i < 0 {
		return fmt.Errorf("the queue %s is not configured any more, or its channel has no bill that can be asked for", run.Queue)
	}
	q := &all[i]
	w := r.writer(run, r.leads)
	if run.current() {
		if err := w.resume(ctx); err != nil {
			return err
		}
	}
	accounts, failures, err := w.accounts(ctx, q)
	if err != nil {
		return err
	}
	failed, err := w.each(ctx, q, accounts)
	if err != nil {
		return err
	}
	strangers, err := w.strangers(ctx, q)
	if err != nil {
		return err
	}
	failures = slices.Concat(failures, failed, strangers, w.partly)
	of := len(failures) - len(w.partly) + w.bills
	switch {
	case len(failures) == 0:
		return w.finish(ctx)
	case len(failures) == 1 && w.bills == 0 && !failures[0].Gone:
		return failures[0].err
	case w.bills > 0:
		if err := w.finish(ctx); err != nil {
			return err
		}
		run.Partial = true
	}
	run.Left = nil
	why := failures[0]
	for i, f := range failures {
		if f.Error = ""; i < leftErrors {
			f.Error = fmt.Sprintf("%.300s", f.err)
		}
		run.Left = append(run.Left, f.Left)
		if errors.Is(f.err, order.ErrBillNotReady) && !errors.Is(why.err, order.ErrBillNotReady) {
			why = f
		}
	}
	if of == 1 {
		return why.err
	}
	return fmt.Errorf("orders of %d of %d accounts are not compared; %s: %w", len(failures), of, cmp.Or(why.Account, "the queue's own"), why.err)
}

// leftErrors is the number of accounts that are left whose errors are kept.
const leftErrors = 100

// each compares the bills of accounts. The failures name the accounts as they are registered.
func (w *writer) each(ctx context.Context, q *Queue, accounts []Account) (failures []failure, err error) {
	from, _, err := bill.Day(w.run.Date)
	if err != nil || len(accounts) == 0 {
		return nil, err
	}
	yesterday := from.AddDate(0, 0, -1).Format(time.DateOnly)
	lacks := map[string]error{} // why there is no bill of the day before, by identity; nil: there is one
	bills := make([]bill.Bill, len(accounts))
	for i, at := range accounts {
		before := w.lines(ctx, &at, yesterday)
		bills[i] = bill.Bill{Account: at.Identity, Owner: at.Owner, Lines: w.lines(ctx, &at, w.run.Date), Before: func(yield func(bill.Line, error) bool) {
			for l, err := range before {
				lacks[at.Identity] = err
				if !yield(l, err) {
					return
				}
			}
		}}
	}
	failed, err := w.compare(ctx, q, bills)
	var without []bill.Bill // compared without the bill of the day before
	if err == nil && w.run.Tries+1 >= patientBefore {
		failed = slices.DeleteFunc(failed, func(f bill.Failure) bool {
			why := lacks[f.Account]
			if why == nil {
				return false
			}
			w.log.Warn("the bill of the day before is missing: differences near midnight are marked", "reconciliation", w.run.ID, "queue", w.run.Queue, "account", f.Account, "err", why)
			i := slices.IndexFunc(bills, func(b bill.Bill) bool { return b.Account == f.Account })
			without = append(without, bill.Bill{Account: f.Account, Owner: bills[i].Owner, Lines: bills[i].Lines})
			return true
		})
	}
	if len(without) > 0 {
		var again []bill.Failure
		again, err = w.compare(ctx, q, without)
		failed = append(failed, again...)
	}
	if err == nil && !w.still() {
		err = errLost
	}
	for _, at := range accounts {
		l := Left{Account: at.Name, Identity: at.Identity}
		is := func(account string) bool { return account == at.Identity }
		if i := slices.IndexFunc(failed, func(f bill.Failure) bool { return is(f.Account) }); i >= 0 {
			failures = append(failures, failure{l, failed[i].Err})
		} else if l.Compared = slices.ContainsFunc(without, func(b bill.Bill) bool { return is(b.Account) }); l.Compared {
			w.partly = append(w.partly, failure{l, fmt.Errorf("payments and refunds of the last hour of %s that its bill lacks are not compared: that bill is not available: %v", yesterday, lacks[at.Identity])})
		}
	}
	return failures, err
}

// lines yields the bill of an account, after the pause that its pace wants.
func (w *writer) lines(ctx context.Context, at *Account, date string) iter.Seq2[bill.Line, error] {
	return func(yield func(bill.Line, error) bool) {
		if !sleep.For(ctx, time.Until(w.asked.Add(at.Pace))) {
			yield(bill.Line{}, ctx.Err())
			return
		}
		w.asked = time.Now()
		at.of(w.run.Bill).Lines(ctx, date)(yield)
	}
}

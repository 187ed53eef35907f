package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
)

// accounts returns the accounts whose bills a run compares: the one that it names, those that are left of a try
// before, or all that the queue's orders have. failures are of accounts that cannot be asked.
func (w *writer) accounts(ctx context.Context, q *Queue) (all []Account, failures []bill.Failure, err error) {
	var names []string
	unused := false // the first name is that of the default account, which no order names
	switch {
	case w.run.Account != "":
		names = []string{w.run.Account}
	case len(w.run.Left) > 0:
		for _, l := range w.run.Left {
			names = append(names, l.Account)
		}
	default:
		if q.Account.of(w.run.Bill).Lines != nil || q.Account.Name != "" {
			names = []string{q.Account.Name}
		}
		more, err := w.named(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		unused = q.Account.Name != "" && !slices.Contains(more, q.Account.Name)
		names = append(names, slices.DeleteFunc(more, func(name string) bool { return name == q.Account.Name })...)
	}
	seen := map[string]bool{}
	for _, name := range names {
		at, err := q.account(ctx, name)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		switch missing := errors.Is(err, bellman.ErrNotFound); {
		case missing && unused && name == q.Account.Name:
			w.log.Warn("a queue's default account is not registered, and no order names it", "reconciliation", w.run.ID, "queue", q.Name, "account", name)
			continue
		case missing:
			err = fmt.Errorf("account %.128q is not registered", name)
		case err == nil && at.of(w.run.Bill).Lines == nil && w.run.Bill == FundFlow && w.run.Account == "":
			w.log.Warn("an account has no fund flow bill, and is left out", "reconciliation", w.run.ID, "queue", q.Name, "account", cmp.Or(name, at.Identity))
			continue
		case err == nil && at.of(w.run.Bill).Lines == nil:
			err = errors.New("its channel has no such bill that can be asked for")
		}
		if err != nil {
			failures = append(failures, bill.Failure{Account: name, Err: err})
		} else if !seen[at.Identity] { // an account may have several names
			seen[at.Identity] = true
			all = append(all, at)
		}
	}
	return all, failures, nil
}

// named returns the registered accounts that the queue's orders name, of each account one name.
func (w *writer) named(ctx context.Context, q *Queue) (names []string, err error) {
	if q.Registry == nil {
		return nil, nil
	}
	if any, err := q.Registry.Any(ctx); err != nil || !any {
		return nil, err
	}
	from, to, err := bill.Day(w.run.Date, nil)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for t, err := range w.tasksOf(ctx, q.around(from, to), w.still) {
		if err != nil {
			return nil, err
		}
		account := order.AccountIn(t.Alias())
		if account == "" || seen[account] {
			continue
		}
		seen[account] = true
		if name := order.AccountOf(t); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// patientBefore is the number of tries for which a comparison waits for the bill of the day before.
const patientBefore = 3

// once asks for the bills that are left, and compares them. What is missing near midnight is looked for in the bill of
// the day before. If that one does not come in several tries, the comparison is made without it, and marks what is near
// midnight. If the bills of some accounts cannot be had, the run has the result of the others, and an error.
func (r *Runs) once(ctx context.Context, run *Run) error {
	all := r.queues()
	i := slices.IndexFunc(all, func(q Queue) bool { return q.Name == run.Queue && (q.Lines != nil || q.Registry != nil) })
	if i < 0 {
		return fmt.Errorf("the queue %s is not configured any more, or its channel has no bill that can be asked for", run.Queue)
	}
	q := &all[i]
	w := r.writer(run, r.leading)
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
	failures = append(failures, failed...)
	switch {
	case len(failures) == 0:
		return w.finish(ctx)
	case len(failures) == 1 && w.bills == 0:
		return failures[0].Err
	case w.bills > 0:
		if err := w.finish(ctx); err != nil {
			return err
		}
		run.Partial = true
	}
	run.Left = nil
	why := failures[0]
	for i, f := range failures {
		l := Left{Account: f.Account}
		if i < leftErrors {
			l.Error = fmt.Sprintf("%.300s", f.Err)
		}
		run.Left = append(run.Left, l)
		if errors.Is(f.Err, order.ErrBillNotReady) && !errors.Is(why.Err, order.ErrBillNotReady) {
			why = f
		}
	}
	return fmt.Errorf("%d of %d accounts have no bill; %s: %w", len(failures), len(failures)+w.bills, cmp.Or(why.Account, "the queue's own"), why.Err)
}

// leftErrors is the number of accounts without a bill whose errors are kept.
const leftErrors = 100

// each compares the bills of accounts. The failures name the accounts as they are registered.
func (w *writer) each(ctx context.Context, q *Queue, accounts []Account) (failures []bill.Failure, err error) {
	from, _, err := bill.Day(w.run.Date, nil)
	if err != nil || len(accounts) == 0 {
		return nil, err
	}
	lacks := map[string]bool{} // the bill of the day before, by identity
	bills := make([]bill.Bill, len(accounts))
	for i, at := range accounts {
		before := w.lines(ctx, &at, from.AddDate(0, 0, -1).Format(time.DateOnly))
		bills[i] = bill.Bill{Account: at.Identity, Owner: at.Owner, Lines: w.lines(ctx, &at, w.run.Date), Before: func(yield func(bill.Line, error) bool) {
			for l, err := range before {
				lacks[at.Identity] = err != nil
				if !yield(l, err) {
					return
				}
			}
		}}
	}
	failed, err := w.compare(ctx, q, bills)
	if err == nil && w.run.Tries+1 >= patientBefore && len(lacks) > 0 {
		failed, err = w.withoutBefore(ctx, q, bills, failed, lacks)
	}
	if err == nil && !w.still() {
		err = errLost
	}
	for _, f := range failed {
		i := slices.IndexFunc(accounts, func(at Account) bool { return at.Identity == f.Account })
		failures = append(failures, bill.Failure{Account: accounts[i].Name, Err: f.Err})
	}
	return failures, err
}

// withoutBefore compares failed bills again that lack only the bill of the day before. It returns the other failures, and
// those of the second try.
func (w *writer) withoutBefore(ctx context.Context, q *Queue, bills []bill.Bill, failed []bill.Failure, lacks map[string]bool) (left []bill.Failure, err error) {
	var again []bill.Bill
	for _, f := range failed {
		if !lacks[f.Account] {
			left = append(left, f)
			continue
		}
		w.log.Warn("the bill of the day before is missing: differences near midnight are marked", "reconciliation", w.run.ID, "queue", w.run.Queue, "account", f.Account, "err", f.Err)
		i := slices.IndexFunc(bills, func(b bill.Bill) bool { return b.Account == f.Account })
		again = append(again, bill.Bill{Account: f.Account, Owner: bills[i].Owner, Lines: bills[i].Lines})
	}
	if len(again) == 0 {
		return left, nil
	}
	more, err := w.compare(ctx, q, again)
	return append(left, more...), err
}

// lines yields the bill of an account, after the pause that its pace wants.
func (w *writer) lines(ctx context.Context, at *Account, date string) iter.Seq2[bill.Line, error] {
	return func(yield func(bill.Line, error) bool) {
		timer := time.NewTimer(time.Until(w.asked.Add(at.Pace)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			yield(bill.Line{}, ctx.Err())
			return
		}
		w.asked = time.Now()
		at.of(w.run.Bill).Lines(ctx, date)(yield)
	}
}

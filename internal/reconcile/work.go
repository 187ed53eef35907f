package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

const (
	lookEvery = 10 * time.Second // runs that another process started are found within this time

	notReady   = 30 * time.Minute // until a bill that is not ready is asked for again
	firstRetry = time.Minute      // after another error; doubled with each, up to notReady
)

// zone is the time zone of bills.
var zone = time.FixedZone("UTC+8", 8*60*60)

// Run starts the daily jobs and works on all runs until ctx ends, and then returns nil. Call it once at a time.
func (r *Runs) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	said := "" // the last logged error
	for {
		err := r.round(ctx)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && !errors.Is(err, errLost) && err.Error() != said:
			said = err.Error()
			r.log.Error("reconciliations make no progress; retrying", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-r.wake:
		}
	}
}

// round does everything that is due now.
func (r *Runs) round(ctx context.Context) error {
	if !r.leading() {
		return nil
	}
	heads, err := r.all(ctx)
	if err != nil {
		return err
	}
	started, err := r.daily(ctx, heads)
	errs := []error{err}
	if started {
		if heads, err = r.all(ctx); err != nil {
			return err
		}
	}
	for _, h := range heads {
		switch {
		case h.State == Running, h.State == Waiting && !h.Next.After(time.Now()):
			err = r.try(ctx, h)
		case h.Settling.State == Running:
			err = r.settle(ctx, h)
		case h.State != Waiting && time.Since(h.Created) > Keep:
			err = r.forget(ctx, h)
		default:
			continue
		}
		if errors.Is(err, errLost) || ctx.Err() != nil {
			return err
		}
		if !errors.Is(err, bellman.ErrConflict) { // somebody requested it again meanwhile
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// try makes one try of a run.
func (r *Runs) try(ctx context.Context, h *head) error {
	run := h.Run
	run.State, run.Next = Running, time.Time{}
	if err := r.save(ctx, h, run); err != nil {
		return err
	}
	err := r.once(ctx, &run)
	if errors.Is(err, errLost) || ctx.Err() != nil {
		return err // the next leader begins again
	}
	if err != nil {
		run.State, run.Error, run.Tries = Waiting, err.Error(), run.Tries+1
		wait := min(firstRetry<<min(run.Tries-1, 10), notReady)
		if errors.Is(err, order.ErrBillNotReady) {
			wait = notReady
		}
		if run.Next = now().Add(wait); run.Next.After(run.Created.Add(Patience)) {
			run.State, run.Next = Failed, time.Time{}
		}
		r.log.Warn("an order queue cannot be reconciled", "reconciliation", run.ID, "queue", run.Queue, "next", run.Next, "err", err)
	}
	if err := r.report(ctx, &run); err != nil {
		return err
	}
	if err := r.save(ctx, h, run); err != nil {
		return err
	}
	if run.State == Done {
		r.log.Info("an order queue is reconciled", "reconciliation", run.ID, "queue", run.Queue, "matched", run.Counts.Matched, "differences", run.Total())
		r.swept(ctx, &run)
	}
	return nil
}

// patientBefore is the number of tries for which a comparison waits for the bill of the day before.
const patientBefore = 3

// once asks for the bill and compares it. What is missing near midnight is looked for in the bill of the day
// before. If that one does not come in several tries, the comparison is made without it, and marks what is near
// midnight.
func (r *Runs) once(ctx context.Context, run *Run) error {
	all := r.queues()
	i := slices.IndexFunc(all, func(q Queue) bool { return q.Name == run.Queue && q.Lines != nil })
	if i < 0 {
		return fmt.Errorf("the queue %s is not configured any more, or its channel has no bill that can be asked for", run.Queue)
	}
	q := &all[i]
	from, _, err := bill.Day(run.Date, nil)
	if err != nil {
		return err
	}
	var failed error // of the bill of the day before
	before := func(yield func(bill.Line, error) bool) {
		for l, err := range q.Lines(ctx, from.AddDate(0, 0, -1).Format(time.DateOnly)) {
			failed = err
			if !yield(l, err) {
				return
			}
		}
	}
	err = r.compare(ctx, run, q, q.Lines(ctx, run.Date), before, r.leading)
	if failed == nil || run.Tries+1 < patientBefore || ctx.Err() != nil {
		return err
	}
	r.log.Warn("the bill of the day before is missing: differences near midnight are marked", "reconciliation", run.ID, "queue", run.Queue, "err", failed)
	return r.compare(ctx, run, q, q.Lines(ctx, run.Date), nil, r.leading)
}

// report reports the end of a run that has an Alarm: differences, or that there is no bill. It comes before
// the save, so that a crash between the two cannot lose it; the alarm's id and time make a repeat harmless.
func (r *Runs) report(ctx context.Context, run *Run) error {
	a := alarm.Alarm{
		ID: "reconcile/" + run.Queue + "/" + run.Date, Name: "reconcile-" + run.Queue, Queue: run.Queue, To: run.Alarm,
		Date: run.Date, Since: run.Created,
	}
	switch {
	case run.Alarm == "":
		return nil
	case run.State == Failed:
		a.When, a.Value = alarm.ReconcileFailed, float64(run.Tries)
	case run.State == Done && run.Total() > run.Edge: // the others may be in the bill of the day before or after
		a.When, a.Value, a.Counts = alarm.ReconcileDifferences, float64(run.Total()), map[string]int{}
		for of, n := range run.Counts.Differences {
			a.Counts[string(of)] = n
		}
	default:
		return nil
	}
	if err := r.alarms.Report(ctx, a); err != nil {
		return fmt.Errorf("report reconciliation %s: %w", run.ID, err)
	}
	return nil
}

// forget deletes a run and its differences.
func (r *Runs) forget(ctx context.Context, h *head) error {
	err := r.clean(ctx, h.ID, "")
	if err == nil {
		err = r.store.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: kind, Name: h.ID, Was: h.was}}})
	}
	if err != nil && !errors.Is(err, bellman.ErrConflict) {
		return fmt.Errorf("delete reconciliation %s: %w", h.ID, err)
	}
	return nil
}

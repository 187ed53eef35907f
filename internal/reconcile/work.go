package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store"
)

const (
	lookEvery = 10 * time.Second // runs that another process started are found within this time

	notReady   = 30 * time.Minute // until a bill that is not ready is asked for again
	firstRetry = time.Minute      // after another error; doubled with each, up to notReady
)

// Run starts the daily jobs and works on all runs until ctx ends, and then returns nil. Call it
// once at a time.
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
	if !r.leads() {
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
	run, before := h.Run, h.Token
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
		if run.Next = now().Add(wait); run.Next.After(run.Created.Add(patience)) || run.over() {
			run.State, run.Next = Failed, time.Time{}
		}
		r.log.Warn("an order queue cannot be reconciled", "reconciliation", run.ID, "queue", run.Queue, "next", run.Next, "err", err)
	}
	if err == nil {
		run.State = Done
	}
	if err := r.report(ctx, &run); err != nil {
		return err
	}
	if err := r.save(ctx, h, run); err != nil {
		return err
	}
	if run.State == Done {
		r.log.Info("an order queue is reconciled", "reconciliation", run.ID, "queue", run.Queue, "bill", run.Bill, "bills", run.Bills, "matched", run.Counts.Matched, "differences", run.Total())
	}
	if run.Token != before {
		r.swept(ctx, &run)
	}
	return nil
}

// report reports the end of a run that has an Alarm: differences, and that there is no bill. It
// comes before the save, so that a crash between the two cannot lose it; the alarm's id and time
// make a repeat harmless.
func (r *Runs) report(ctx context.Context, run *Run) error {
	if run.Alarm == "" || run.State != Failed && run.State != Done {
		return nil
	}
	a := alarm.Alarm{
		ID: "reconcile/" + run.Queue + "/" + run.Date, Name: "reconcile-" + run.Queue, Queue: run.Queue, To: run.Alarm,
		Date: run.Date, Since: run.Created,
	}
	if run.Bill == FundFlow {
		a.ID += "/" + string(FundFlow)
	}
	var all []alarm.Alarm
	if run.State == Failed {
		failed := a
		failed.When, failed.Value = alarm.ReconcileFailed, float64(run.Tries)
		all = append(all, failed)
	}
	if run.current() && run.Total() > run.Edge { // the others may be in the bill of the day before or after
		if len(all) > 0 {
			a.ID += "/differences"
		}
		a.When, a.Value, a.Counts = alarm.ReconcileDifferences, float64(run.Total()), map[string]int{}
		for of, n := range run.Counts.Differences {
			a.Counts[string(of)] = n
		}
		all = append(all, a)
	}
	for _, a := range all {
		if err := r.alarms.Report(ctx, a); err != nil {
			return fmt.Errorf("report reconciliation %s: %w", run.ID, err)
		}
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

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	errs := []error{r.daily(ctx)}
	heads, err := r.all(ctx)
	if err != nil {
		return err
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

// daily starts the daily jobs whose time has come.
func (r *Runs) daily(ctx context.Context) error {
	var errs []error
	for _, q := range r.queues() {
		if q.Daily == nil || q.Lines == nil {
			continue
		}
		here := time.Now().In(q.Daily.Zone)
		if sinceMidnight(here) < q.Daily.At {
			continue
		}
		in := Request{Queue: q.Name, Date: here.In(zone).AddDate(0, 0, -1).Format(time.DateOnly), NoRefunds: q.Daily.NoRefunds}
		h, err := r.read(ctx, runID(q.Name, in.Date, FromChannel))
		switch {
		case err == nil && h.Daily:
			continue
		case err == nil || errors.Is(err, bellman.ErrNotFound):
			in.By = bellman.By{Reason: "daily"}
			_, err = r.start(ctx, in, q.Daily)
		}
		if err != nil && !errors.Is(err, bellman.ErrConflict) {
			errs = append(errs, fmt.Errorf("queue %s: start the daily reconciliation: %w", q.Name, err))
		}
	}
	return errors.Join(errs...)
}

// sinceMidnight returns what a clock on the wall shows.
func sinceMidnight(t time.Time) time.Duration {
	h, m, s := t.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
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

// once asks for the bill and compares it.
func (r *Runs) once(ctx context.Context, run *Run) error {
	all := r.queues()
	i := slices.IndexFunc(all, func(q Queue) bool { return q.Name == run.Queue && q.Lines != nil })
	if i < 0 {
		return fmt.Errorf("the queue %s is not configured any more, or its channel has no bill that can be asked for", run.Queue)
	}
	return r.compare(ctx, run, &all[i], all[i].Lines(ctx, run.Date), r.leading)
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
	case run.State == Done && run.Total() > run.Edge: // the others may be in the neighbouring bill
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

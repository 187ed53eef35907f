package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
)

const (
	// catchUp is how many days back the daily job makes up for missed days.
	catchUp = 31

	// again is for how long a day that was not compared, or not in full, is tried again, once with
	// each daily job. If it lacks only accounts that are gone, it is not tried again.
	again = 7 * 24 * time.Hour
)

// daily starts the daily jobs whose time has come, each for the day before. It also starts those
// that were missed since the queue's last one, because no process ran or the bill could not be had.
// It reports whether it started any. heads are all runs.
func (r *Runs) daily(ctx context.Context, heads []*head) (started bool, err error) {
	var errs []error
	for _, q := range r.queues() {
		if q.Daily == nil || q.Lines == nil && q.Registry == nil {
			continue
		}
		kinds := []BillKind{TradeBill}
		if q.Daily.FundFlow {
			kinds = append(kinds, FundFlow)
		}
		for _, kind := range kinds {
			runs := map[string]*head{} // of the queue's channel, by date
			last := ""                 // date of its newest daily job
			for _, h := range heads {
				if h.Queue == q.Name && h.Account == "" && h.Bill == kind && h.Source == FromChannel {
					runs[h.Date] = h
					if h.Daily {
						last = max(last, h.Date)
					}
				}
			}
			for _, date := range slices.Backward(q.Daily.due(time.Now(), runs, last)) {
				in := Request{Queue: q.Name, Bill: kind, Date: date, NoRefunds: q.Daily.NoRefunds, By: bellman.By{Reason: "daily"}}
				if _, err := r.start(ctx, in, q.Daily); err != nil {
					if !errors.Is(err, bellman.ErrConflict) {
						errs = append(errs, fmt.Errorf("queue %s: start the daily reconciliation of %s: %w", q.Name, date, err))
					}
					break // a later day would be the newest, and this one no longer be looked for
				}
				started = true
			}
		}
	}
	return started, errors.Join(errs...)
}

// due returns the dates whose daily job has to start now, the newest first. runs are the queue's,
// and last is the date of its newest daily job; empty: it had none, and so none was missed.
func (d *Daily) due(now time.Time, runs map[string]*head, last string) (dates []string) {
	newest := time.Time{} // when the newest job was to start
	today := now.In(bill.Zone)
	for back := range catchUp + 1 {
		day := time.Date(today.Year(), today.Month(), today.Day()-1-back, 0, 0, 0, 0, bill.Zone)
		at := d.after(day.AddDate(0, 0, 1))
		if at.After(now) {
			continue
		}
		if newest.IsZero() {
			newest = at
		}
		date := day.Format(time.DateOnly)
		switch h := runs[date]; {
		case h != nil && h.State == Failed && (!h.Daily || h.Created.Before(newest) && !h.gone()) && now.Sub(at.AddDate(0, 0, -1)) < again:
		case h != nil && (h.Daily || !h.Created.Before(at)):
			continue
		case back > 0 && (last == "" || date < last):
			continue
		}
		dates = append(dates, date)
	}
	return dates
}

// after returns the first time of the daily job that is not before a time. If its zone has summer
// time, there may be none or two between two midnights of UTC+8.
func (d *Daily) after(t time.Time) time.Time {
	here := t.In(d.Zone)
	at := func(days int) time.Time {
		return time.Date(here.Year(), here.Month(), here.Day()+days, int(d.At/time.Hour), int(d.At/time.Minute)%60, 0, 0, d.Zone)
	}
	if first := at(0); !first.Before(t) {
		return first
	}
	return at(1)
}

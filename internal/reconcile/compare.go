package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/store"
)

// A writer makes the result of a run: it counts what was compared, and writes the differences in
// pages.
type writer struct {
	*Runs
	run    *Run
	still  func() bool // whether this process may go on; the work ends with errLost when it may not
	items  []Item      // of the page that is not full
	counts bill.Counts
	bills  int
	token  string
	pages  int // full pages that were written
	kept   int
	edge   int
	asked  time.Time // when a bill was asked for last

	partly  []failure         // accounts that were compared without the bill of the day before
	known   map[string]bool   // accounts that are compared or are among the failures, by identity; nil: not all of the queue's are looked for
	strange map[string]string // the task of an order of each account that is not known
}

// writer begins a new result of a run.
func (r *Runs) writer(run *Run, still func() bool) *writer {
	return &writer{Runs: r, run: run, still: still, token: bellman.NewID().String(), counts: bill.Counts{Differences: map[bill.DifferenceKind]int{}}}
}

// resume goes on with the result that a run has.
func (w *writer) resume(ctx context.Context) error {
	run := w.run
	w.counts, w.bills, w.token, w.kept, w.edge = run.Counts, run.Bills, run.Token, run.Kept, run.Edge
	if w.counts.Differences == nil {
		w.counts.Differences = map[bill.DifferenceKind]int{}
	}
	if w.pages = run.Kept / pageSize; run.Kept%pageSize == 0 {
		return nil
	}
	items, err := w.page(ctx, run, w.pages)
	w.items = items[:min(len(items), run.Kept%pageSize)] // a try that did not end may have added others
	return err
}

// compare compares bills with the orders of a queue and writes full pages of differences. failed
// are the bills that could not be read; they change nothing.
func (w *writer) compare(ctx context.Context, q *Queue, bills []bill.Bill) (failed []bill.Failure, err error) {
	from, to, err := bill.Day(w.run.Date)
	if err != nil {
		return nil, err
	}
	counts, failed, err := bill.Compare(ctx, bills, w.noted(w.orders(ctx, q, from, to, w.still), from, to), bill.Options{
		From: from, To: to, NoRefunds: w.run.NoRefunds, Received: w.run.Bill == FundFlow, Dir: w.dir,
		Find: func(ctx context.Context, account string, numbers []string) ([]bill.Decided, error) {
			return w.find(ctx, q, account, numbers)
		},
	}, func(d bill.Difference) error { return w.add(ctx, d) })
	if err != nil {
		return nil, err
	}
	w.counts.Add(&counts)
	w.bills += len(bills) - len(failed)
	return failed, nil
}

// add keeps a difference.
func (w *writer) add(ctx context.Context, d bill.Difference) error {
	if d.Edge {
		w.edge++
	}
	if w.kept == maxKept {
		return nil
	}
	w.kept++
	w.items = append(w.items, Item{Number: w.kept, Difference: d})
	if len(w.items) < pageSize {
		return nil
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	w.pages++
	w.items = w.items[:0]
	return nil
}

func (w *writer) write(ctx context.Context) error {
	if !w.still() {
		return errLost
	}
	doc := pageDoc(w.run.ID, w.token, w.pages, w.items)
	if err := w.store.Commit(ctx, &store.Batch{Docs: []store.Doc{doc}}); err != nil {
		return fmt.Errorf("keep differences: %w", err)
	}
	return nil
}

// discard deletes the pages of a result that is refused. Those that remain after an error are
// deleted after the next result.
func (w *writer) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute) // the caller may have gone
	defer cancel()
	var gone []store.Doc
	for page := range w.pages {
		gone = append(gone, store.Doc{Kind: pageKind, Name: pageName(w.run.ID, w.token, page)})
	}
	if err := w.erase(ctx, gone); err != nil {
		w.log.Warn("pages of a refused reconciliation cannot be deleted", "reconciliation", w.run.ID, "err", err)
	}
}

// finish writes the last page, and sets the result of the run, which the caller saves.
func (w *writer) finish(ctx context.Context) error {
	pages := w.pages
	if len(w.items) > 0 {
		if err := w.write(ctx); err != nil {
			return err
		}
		pages++
	}
	run := w.run
	run.Finished, run.Error, run.Left, run.Partial = now(), "", nil, false
	run.Counts, run.Edge, run.Kept, run.Bills = w.counts, w.edge, w.kept, w.bills
	run.Token, run.Pages, run.Settling = w.token, pages, Settling{}
	return nil
}

// swept deletes the pages of results before the newest. Those that remain after an error are
// deleted after the next result.
func (r *Runs) swept(ctx context.Context, run *Run) {
	if err := r.clean(ctx, run.ID, run.Token); err != nil {
		r.log.Warn("pages of an older reconciliation cannot be deleted", "reconciliation", run.ID, "err", err)
	}
}

package reconcile

import (
	"context"
	"fmt"
	"iter"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/store"
)

// compare compares a bill with the orders of a queue and writes the pages of differences. before is the bill of
// the day before; nil: there is none. Then it sets the result of run, which the caller saves. It ends with errLost
// when still returns false.
func (r *Runs) compare(ctx context.Context, run *Run, q *Queue, lines, before iter.Seq2[bill.Line, error], still func() bool) error {
	from, to, err := bill.Day(run.Date, nil)
	if err != nil {
		return err
	}
	w := &writer{runs: r, id: run.ID, token: bellman.NewID().String(), still: still}
	counts, err := bill.Compare(ctx, lines, r.orders(ctx, q, from, to, still), bill.Options{
		From: from, To: to, Before: before, NoRefunds: run.NoRefunds, Dir: r.dir,
		Find: func(ctx context.Context, numbers []string) ([]bill.Decided, error) { return r.find(ctx, q, numbers) },
	}, func(d bill.Difference) error { return w.add(ctx, d) })
	if err == nil {
		err = w.flush(ctx)
	}
	if err != nil {
		return err
	}
	run.State, run.Finished, run.Error = Done, now(), ""
	run.Counts, run.Edge, run.Kept = counts, w.edge, w.kept
	run.Token, run.Pages, run.Settling = w.token, w.pages, Settling{}
	return nil
}

// A writer writes differences in pages.
type writer struct {
	runs        *Runs
	id, token   string
	still       func() bool
	items       []Item
	pages, kept int
	edge        int
}

func (w *writer) add(ctx context.Context, d bill.Difference) error {
	if d.Edge {
		w.edge++
	}
	if w.kept == MaxKept {
		return nil
	}
	w.kept++
	w.items = append(w.items, Item{Number: w.kept, Difference: d})
	if len(w.items) < pageSize {
		return nil
	}
	return w.flush(ctx)
}

func (w *writer) flush(ctx context.Context) error {
	if len(w.items) == 0 {
		return nil
	}
	if !w.still() {
		return errLost
	}
	doc := pageDoc(w.id, w.token, w.pages, w.items)
	if err := w.runs.store.Commit(ctx, &store.Batch{Docs: []store.Doc{doc}}); err != nil {
		return fmt.Errorf("keep differences: %w", err)
	}
	w.pages++
	w.items = w.items[:0]
	return nil
}

// swept deletes the pages of results before the newest. Those that remain after an error are deleted after the
// next result.
func (r *Runs) swept(ctx context.Context, run *Run) {
	if err := r.clean(ctx, run.ID, run.Token); err != nil {
		r.log.Warn("pages of an older reconciliation cannot be deleted", "reconciliation", run.ID, "err", err)
	}
}

package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/store"
)

// The kinds of documents: a run by its id, and a page of its differences.
const (
	kind     = "reconciliation"
	pageKind = "reconciliation-page"
)

// A head is a run as the store has it.
type head struct {
	Run
	was []byte // the stored document; nil: there is none
}

// save writes a run. It returns bellman.ErrConflict if another process has changed it meanwhile.
func (r *Runs) save(ctx context.Context, h *head, run Run, audits ...store.Audit) error {
	doc := store.DocOf(kind, run.ID, run)
	if doc.Was = h.was; doc.Was == nil {
		doc.Was = []byte{}
	}
	if err := r.store.Commit(ctx, &store.Batch{Docs: []store.Doc{doc}, Audits: audits}); err != nil {
		return fmt.Errorf("keep reconciliation %s: %w", run.ID, err)
	}
	h.Run, h.was = run, doc.Value
	return nil
}

// read reads a run. It returns bellman.ErrNotFound if there is none.
func (r *Runs) read(ctx context.Context, id string) (*head, error) {
	doc, err := store.ReadDoc(ctx, r.store, kind, id)
	if err != nil {
		return nil, fmt.Errorf("read reconciliation %.60s: %w", id, err)
	}
	return parse(doc)
}

func parse(doc store.Doc) (*head, error) {
	h := &head{was: doc.Value}
	if err := json.Unmarshal(doc.Value, &h.Run); err != nil {
		return nil, fmt.Errorf("read reconciliation %s: %w", doc.Name, err)
	}
	h.Bill = cmp.Or(h.Bill, TradeBill)
	return h, nil
}

// all reads all runs, in order of their dates.
func (r *Runs) all(ctx context.Context) (heads []*head, err error) {
	for doc, err := range store.EachDoc(ctx, r.store, kind, "") {
		if err != nil {
			return nil, fmt.Errorf("read reconciliations: %w", err)
		}
		h, err := parse(doc)
		if err != nil {
			r.log.Error("a reconciliation cannot be read and is skipped", "err", err)
			continue
		}
		heads = append(heads, h)
	}
	return heads, nil
}

func pageName(id, token string, page int) string { return fmt.Sprintf("%s/%s/%05d", id, token, page) }

func pageDoc(id, token string, page int, items []Item) store.Doc {
	return store.DocOf(pageKind, pageName(id, token, page), items)
}

// page reads a page of the newest result. A page that is missing belongs to a result that was
// replaced meanwhile: bellman.ErrConflict.
func (r *Runs) page(ctx context.Context, run *Run, page int) (items []Item, err error) {
	doc, err := store.ReadDoc(ctx, r.store, pageKind, pageName(run.ID, run.Token, page))
	if errors.Is(err, bellman.ErrNotFound) {
		return nil, fmt.Errorf("%w: the reconciliation was run again meanwhile: begin at its first page", bellman.ErrConflict)
	}
	if err == nil {
		err = json.Unmarshal(doc.Value, &items)
	}
	if err != nil {
		return nil, fmt.Errorf("read differences of reconciliation %s: %w", run.ID, err)
	}
	return items, nil
}

// mostScanned bounds the pages that one call of Differences reads.
const mostScanned = 50

// Differences returns differences of a run whose numbers are above after, of one kind or, if of is
// empty, of all, at most limit. next is where the next page starts; 0: there is none. A page may be
// short, even empty, although more follow.
func (r *Runs) Differences(ctx context.Context, id string, of bill.DifferenceKind, after, limit int) (items []Item, next int, err error) {
	h, err := r.read(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	after = max(after, 0)
	for first := after / pageSize; first < h.Pages; first++ {
		if first-after/pageSize >= mostScanned {
			return items, first * pageSize, nil
		}
		page, err := r.page(ctx, &h.Run, first)
		if err != nil {
			return nil, 0, err
		}
		for _, item := range page {
			if item.Number <= after || of != "" && item.Kind != of {
				continue
			}
			if len(items) == limit {
				return items, items[limit-1].Number, nil
			}
			items = append(items, item)
		}
	}
	return items, 0, nil
}

// clean deletes the pages of a run, except those of the token.
func (r *Runs) clean(ctx context.Context, id, token string) error {
	var gone []store.Doc
	for doc, err := range store.EachDoc(ctx, r.store, pageKind, id+"/") {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(doc.Name, id+"/") {
			break
		}
		if token != "" && strings.HasPrefix(doc.Name, id+"/"+token+"/") {
			continue
		}
		gone = append(gone, store.Doc{Kind: pageKind, Name: doc.Name})
	}
	return r.erase(ctx, gone)
}

// erase deletes pages.
func (r *Runs) erase(ctx context.Context, pages []store.Doc) error {
	for some := range slices.Chunk(pages, pageSize) {
		if err := r.store.Commit(ctx, &store.Batch{Docs: some}); err != nil {
			return err
		}
	}
	return nil
}

package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// How often expired secrets are looked for, and how long after their end they are deleted: the
// clocks of nodes differ.
const (
	sweepEvery = 30 * time.Second
	sweepAfter = 10 * time.Second
)

// Sweep deletes expired secrets from the store, each within a minute of its end, until ctx ends;
// then it returns nil. It works only while leads returns true; nil means that there is no other
// process. If several processes sweep, no harm is done.
func (r *Registry[T, P, K]) Sweep(ctx context.Context, leads func() bool) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	noted := false // noteEnds was done since this process leads
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if leads != nil && !leads() {
			noted = false
			continue
		}
		var err error
		if !noted {
			err = r.noteEnds(ctx)
			noted = err == nil
		}
		n := 0
		if err == nil {
			n, err = r.sweep(ctx, moment().Add(-sweepAfter))
		}
		if n > 0 {
			r.log.Info("expired secrets were deleted", "kind", r.kind.Name, "entries", n)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("expired secrets cannot be deleted", "kind", r.kind.Name, "err", err)
		}
	}
}

// noteEnds notes the ends of the secrets of all entries: an older version may have written entries
// without these notes.
func (r *Registry[T, P, K]) noteEnds(ctx context.Context) error {
	for after := ""; ; {
		docs, err := r.store.Docs(ctx, store.DocFilter{Kind: r.kind.Name, After: after}, pageSize)
		if err != nil {
			return fmt.Errorf("read %ss: %w", r.kind.Name, err)
		}
		b := &store.Batch{}
		for _, d := range docs {
			after = d.Name
			if e, err := r.parse(d); err == nil {
				b.Docs = append(b.Docs, r.ends(P(&e).head())...)
			}
		}
		if len(b.Docs) > 0 {
			if err := r.store.Commit(ctx, b); err != nil {
				return fmt.Errorf("note when secrets end: %w", err)
			}
		}
		if len(docs) < pageSize {
			return nil
		}
	}
}

// sweep deletes the secrets that ended at or before a time. It returns the number of entries that
// lost some. An entry that cannot be read is logged and skipped.
func (r *Registry[T, P, K]) sweep(ctx context.Context, over time.Time) (entries int, err error) {
	for d, err := range store.EachDoc(ctx, r.store, r.kind.endKind(), "") {
		if err != nil {
			return entries, fmt.Errorf("read when secrets end: %w", err)
		}
		if endOf(d.Name).After(over) { // the following ends are later
			break
		}
		dropped := false
		err := r.retry(func() (err error) {
			dropped, err = r.drop(ctx, d.Name, over)
			return err
		})
		if err != nil {
			return entries, err
		}
		if dropped {
			entries++
		}
	}
	return entries, nil
}

// drop deletes a note of an end, and the secrets of its entry that ended.
func (r *Registry[T, P, K]) drop(ctx context.Context, end string, over time.Time) (dropped bool, err error) {
	_, id, _ := strings.Cut(end, mark)
	b := &store.Batch{}
	doc, err := store.ReadDoc(ctx, r.store, r.kind.Name, id)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
	case err != nil:
		return false, fmt.Errorf("read %s %s: %w", r.kind.Name, id, err)
	default:
		e, err := r.parse(doc)
		if err != nil {
			r.log.Error("expired secrets of an entry that cannot be read are not deleted", "kind", r.kind.Name, "id", id, "err", err)
			return false, nil
		}
		was, head := e, P(&e).head()
		active, _ := head.Active(over)
		if dropped = len(active) < len(head.Secrets); dropped {
			head.Secrets = active
			r.write(b, &e, &was)
		}
	}
	b.Docs = append(b.Docs, store.Doc{Kind: r.kind.endKind(), Name: end})
	return dropped, r.commit(ctx, b, "delete expired secrets of "+r.kind.Name+" "+id)
}

// ends returns the notes of the ends of an entry's secrets. Their names begin with the time.
func (r *Registry[T, P, K]) ends(h *Head) (docs []store.Doc) {
	for i := range h.Secrets {
		if until := h.Secrets[i].Until; !until.IsZero() {
			docs = append(docs, store.Doc{Kind: r.kind.endKind(), Name: fmt.Sprintf("%015d", until.UnixMilli()) + mark + h.ID, Value: []byte("{}")})
		}
	}
	return docs
}

// endOf returns the time in the name of a note; the zero time if it cannot be read.
func endOf(name string) time.Time {
	text, _, _ := strings.Cut(name, mark)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

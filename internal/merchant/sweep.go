package merchant

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

// How often secrets whose time is over are looked for, and how long after it they go:
// the clocks of nodes differ.
const (
	sweepEvery = 30 * time.Second
	sweepAfter = 10 * time.Second
)

// Sweep deletes secrets whose time is over from the store, within a minute, until ctx
// ends; that is no error. It does so while leads says that this process does what one
// has to do for all; nil: there is no other. Several that do are no harm.
func (r *Registry) Sweep(ctx context.Context, leads func() bool) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	noted := false // every secret's end, since this process leads
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
			r.log.Info("expired secrets were deleted", "merchants", n)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("expired secrets cannot be deleted", "err", err)
		}
	}
}

// noteEnds writes down when secrets end, of all merchants: a bellman that did not do so
// when it wrote them may have been here.
func (r *Registry) noteEnds(ctx context.Context) error {
	for after := ""; ; {
		docs, err := r.store.Docs(ctx, store.DocFilter{Kind: Kind, After: after}, pageSize)
		if err != nil {
			return fmt.Errorf("read merchants: %w", err)
		}
		b := &store.Batch{}
		for _, d := range docs {
			after = d.Name
			if m, err := parse(d); err == nil {
				b.Docs = append(b.Docs, ends(&m)...)
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

// sweep deletes the secrets that ended at a time or before, and says of how many
// merchants.
func (r *Registry) sweep(ctx context.Context, over time.Time) (merchants int, err error) {
	for {
		docs, err := r.store.Docs(ctx, store.DocFilter{Kind: endKind}, pageSize)
		if err != nil {
			return merchants, fmt.Errorf("read when secrets end: %w", err)
		}
		for _, d := range docs {
			if endOf(d.Name).After(over) { // and so are those behind it
				return merchants, nil
			}
			dropped := false
			err := r.anew(func() (err error) {
				dropped, err = r.drop(ctx, d.Name, over)
				return err
			})
			if err != nil {
				return merchants, err
			}
			if dropped {
				merchants++
			}
		}
		if len(docs) < pageSize {
			return merchants, nil
		}
	}
}

// drop deletes what an end was noted for, if it is there still, and the note.
func (r *Registry) drop(ctx context.Context, end string, over time.Time) (dropped bool, err error) {
	_, no, _ := strings.Cut(end, nameEnd)
	b := &store.Batch{}
	m, err := r.read(ctx, no)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
	case err != nil:
		return false, fmt.Errorf("read merchant %s: %w", no, err)
	default:
		was := m
		active, _ := m.Sign.active(over)
		if dropped = len(active) < len(m.Sign.Secrets); dropped {
			m.Sign.Secrets = active
			r.write(b, &m, &was)
		}
	}
	b.Docs = append(b.Docs, store.Doc{Kind: endKind, Name: end})
	return dropped, r.commit(ctx, b, "delete secrets of merchant "+no+" whose time is over")
}

// ends are the documents that say when secrets of a merchant end.
func ends(m *Merchant) (docs []store.Doc) {
	for i := range m.Sign.Secrets {
		if until := m.Sign.Secrets[i].Until; !until.IsZero() {
			docs = append(docs, store.Doc{Kind: endKind, Name: fmt.Sprintf("%015d", until.UnixMilli()) + nameEnd + m.No, Value: []byte("{}")})
		}
	}
	return docs
}

// endOf is the time of such a document; of one that nobody can read, long ago.
func endOf(name string) time.Time {
	text, _, _ := strings.Cut(name, nameEnd)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

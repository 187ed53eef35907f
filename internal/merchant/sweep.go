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

// How often expired secrets are looked for, and how long after their end they are deleted: the clocks of
// nodes differ.
const (
	sweepEvery = 30 * time.Second
	sweepAfter = 10 * time.Second
)

// Sweep deletes expired secrets from the store, each within a minute of its end, until ctx ends; then it
// returns nil. It works only while leads returns true; nil means that there is no other process. If several
// processes sweep, no harm is done.
func (r *Registry) Sweep(ctx context.Context, leads func() bool) error {
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
			r.log.Info("expired secrets were deleted", "merchants", n)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("expired secrets cannot be deleted", "err", err)
		}
	}
}

// noteEnds notes the ends of the secrets of all merchants: an older version may have written merchants
// without these notes.
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

// sweep deletes the secrets that ended at or before a time. It returns the number of merchants that lost
// some. A merchant that cannot be read is logged and skipped.
func (r *Registry) sweep(ctx context.Context, over time.Time) (merchants int, err error) {
	for after := ""; ; {
		docs, err := r.store.Docs(ctx, store.DocFilter{Kind: endKind, After: after}, pageSize)
		if err != nil {
			return merchants, fmt.Errorf("read when secrets end: %w", err)
		}
		for _, d := range docs {
			if endOf(d.Name).After(over) { // the following ends are later
				return merchants, nil
			}
			after = d.Name
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

// drop deletes a note of an end, and the secrets of its merchant that ended.
func (r *Registry) drop(ctx context.Context, end string, over time.Time) (dropped bool, err error) {
	_, no, _ := strings.Cut(end, nameEnd)
	b := &store.Batch{}
	doc, err := store.ReadDoc(ctx, r.store, Kind, no)
	switch {
	case errors.Is(err, bellman.ErrNotFound):
	case err != nil:
		return false, fmt.Errorf("read merchant %s: %w", no, err)
	default:
		m, err := parse(doc)
		if err != nil {
			r.log.Error("expired secrets of a merchant that cannot be read are not deleted", "merchant", no, "err", err)
			return false, nil
		}
		was := m
		active, _ := m.Sign.active(over)
		if dropped = len(active) < len(m.Sign.Secrets); dropped {
			m.Sign.Secrets = active
			r.write(b, &m, &was)
		}
	}
	b.Docs = append(b.Docs, store.Doc{Kind: endKind, Name: end})
	return dropped, r.commit(ctx, b, "delete expired secrets of merchant "+no)
}

// ends returns the notes of the ends of a merchant's secrets. Their names begin with the time.
func ends(m *Merchant) (docs []store.Doc) {
	for i := range m.Sign.Secrets {
		if until := m.Sign.Secrets[i].Until; !until.IsZero() {
			docs = append(docs, store.Doc{Kind: endKind, Name: fmt.Sprintf("%015d", until.UnixMilli()) + nameEnd + m.No, Value: []byte("{}")})
		}
	}
	return docs
}

// endOf returns the time in the name of a note; the zero time if it cannot be read.
func endOf(name string) time.Time {
	text, _, _ := strings.Cut(name, nameEnd)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

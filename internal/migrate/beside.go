package migrate

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// beside moves documents and audit records, and returns how many differed.
func (r *run) beside(ctx context.Context) (differed int, err error) {
	for _, kind := range r.Kinds {
		n, err := r.documents(ctx, kind)
		if err != nil {
			return differed, fmt.Errorf("documents %s: %w", kind, err)
		}
		differed += n
	}
	n, err := r.audits(ctx)
	if err != nil {
		err = fmt.Errorf("audit records: %w", err)
	}
	return differed + n, err
}

// documents makes the documents of a kind equal in the target.
func (r *run) documents(ctx context.Context, kind string) (differed int, err error) {
	source, target := &documents{s: r.From, kind: kind}, &documents{s: r.To, kind: kind}
	b := &store.Batch{Leases: r.fence()}
	want, err := source.next(ctx)
	if err != nil {
		return 0, err
	}
	have, err := target.next(ctx)
	for err == nil && (want != nil || have != nil) {
		switch {
		case have == nil || want != nil && want.Name < have.Name:
			b.Docs = append(b.Docs, *want)
			want, err = source.next(ctx)
		case want == nil || have.Name < want.Name:
			b.Docs = append(b.Docs, store.Doc{Kind: kind, Name: have.Name})
			have, err = target.next(ctx)
		default:
			if !bytes.Equal(want.Value, have.Value) {
				b.Docs = append(b.Docs, *want)
			}
			if want, err = source.next(ctx); err == nil {
				have, err = target.next(ctx)
			}
		}
		if err == nil && len(b.Docs) >= page {
			err = r.flush(ctx, b, &differed)
		}
	}
	if err == nil {
		err = r.flush(ctx, b, &differed)
	}
	return differed, err
}

// flush commits the documents and audit records of b, counts them, and removes them from b.
func (r *run) flush(ctx context.Context, b *store.Batch, differed *int) error {
	n := len(b.Docs) + len(b.Audits)
	if *differed += n; n == 0 {
		return nil
	}
	_, err := r.commit(ctx, b)
	b.Docs, b.Audits = nil, nil
	return err
}

// documents iterates over the documents of a kind, by name.
type documents struct {
	s     store.Pages
	kind  string
	after string
	held  []store.Doc
	over  bool
}

// next returns the next document; nil at the end.
func (d *documents) next(ctx context.Context) (*store.Doc, error) {
	if len(d.held) == 0 && !d.over {
		var err error
		if d.held, err = d.s.Docs(ctx, store.DocFilter{Kind: d.kind, After: d.after}, page); err != nil {
			return nil, err
		}
		d.over = len(d.held) < page
	}
	if len(d.held) == 0 {
		return nil, nil
	}
	doc := d.held[0]
	d.held, d.after = d.held[1:], doc.Name
	return &doc, nil
}

// audits appends the records that the target lacks. Records have no names: the records of each
// millisecond are compared by value and number.
func (r *run) audits(ctx context.Context) (differed int, err error) {
	source, target := &audits{s: r.From}, &audits{s: r.To}
	b := &store.Batch{Leases: r.fence()}
	have, err := target.next(ctx)
	if err != nil {
		return 0, err
	}
	for {
		want, err := source.next(ctx)
		if err != nil {
			return differed, err
		}
		if want == nil {
			err := r.flush(ctx, b, &differed)
			return differed, err
		}
		at := want[0].At
		for have != nil && have[0].At.After(at) {
			if have, err = target.next(ctx); err != nil {
				return differed, err
			}
		}
		if have != nil && have[0].At.Equal(at) {
			for _, a := range have {
				a.At = at // the same moment in the same representation
				if i := slices.IndexFunc(want, func(w store.Audit) bool { w.At = at; return reflect.DeepEqual(w, a) }); i >= 0 {
					want = slices.Delete(want, i, i+1)
				}
			}
		}
		slices.Reverse(want) // the newest came first
		b.Audits = append(b.Audits, want...)
		if len(b.Audits) >= page {
			if err := r.flush(ctx, b, &differed); err != nil {
				return differed, err
			}
		}
	}
}

// audits iterates over the audit records, the newest first.
type audits struct {
	s      store.Pages
	before time.Time
	held   []store.Audit
	over   bool
}

// next returns all records of the next millisecond; none at the end.
func (l *audits) next(ctx context.Context) (group []store.Audit, err error) {
	if len(l.held) == 0 && !l.over {
		if l.held, err = l.s.Audits(ctx, l.before, page); err != nil {
			return nil, err
		}
		l.over = len(l.held) == 0
	}
	n := 0
	for n < len(l.held) && l.held[n].At.Equal(l.held[0].At) {
		n++
	}
	if n > 0 {
		l.before = l.held[0].At
	}
	group, l.held = slices.Clone(l.held[:n]), l.held[n:]
	return group, nil
}

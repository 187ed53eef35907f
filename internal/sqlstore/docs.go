package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// standing returns conditional writes of documents. A write affects no row if its document differs
// from the expected value.
func standing(docs []store.Doc) (writes []*Statement) {
	var fresh [3][][]byte
	for _, d := range docs {
		kind, name := []byte(d.Kind), []byte(d.Name)
		switch {
		case d.Was == nil:
		case len(d.Was) > 0 && d.Value == nil:
			writes = append(writes, &Statement{Name: "delete a document", Text: `DELETE FROM bellman_doc WHERE kind = ? AND name = ? AND value = ?`,
				Args: []any{kind, name, d.Was}, Want: 1})
		case len(d.Was) > 0:
			writes = append(writes, &Statement{Name: "write a document", Text: `UPDATE bellman_doc SET value = ? WHERE kind = ? AND name = ? AND value = ?`,
				Args: []any{d.Value, kind, name, d.Was}, Want: 1})
		case d.Value != nil:
			for i, b := range [...][]byte{kind, name, d.Value} {
				fresh[i] = append(fresh[i], b)
			}
		}
	}
	if len(fresh[0]) > 0 {
		writes = append(writes, &Statement{Name: "write new documents", Insert: &Insert{Into: "bellman_doc",
			Columns: []Column{{"kind", fresh[0]}, {"name", fresh[1]}, {"value", fresh[2]}}}})
	}
	return writes
}

// conditional reports whether any document has an expected value.
func conditional(docs []store.Doc) bool {
	return slices.ContainsFunc(docs, func(d store.Doc) bool { return d.Was != nil })
}

// stand sends the conditional writes. ErrConflict: a document differs from its expected value.
func (g *stage) stand(ctx context.Context, docs []store.Doc) error {
	writes := standing(docs)
	if len(writes) == 0 {
		return nil
	}
	err := g.tx.Send(ctx, writes...)
	if failed, is := errors.AsType[*Failed](err); is && (errors.Is(err, ErrRaced) || g.s.d.Kind(err) == Duplicate) {
		return fmt.Errorf("%w: %s: another was written meanwhile", bellman.ErrConflict, failed.Statement.Name)
	}
	return err
}

// docWrites sets and deletes the unconditional documents. If a document occurs twice, the last
// write wins.
func docWrites(docs []store.Doc) (writes []*Statement) {
	type name struct{ kind, name string }
	last := map[name]int{}
	for i, d := range docs {
		if d.Was != nil {
			continue
		}
		last[name{d.Kind, d.Name}] = i
	}
	var set [3][][]byte
	var gone [2][][]byte
	for i, d := range docs {
		if d.Was != nil || last[name{d.Kind, d.Name}] != i {
			continue
		}
		if d.Value == nil {
			gone[0], gone[1] = append(gone[0], []byte(d.Kind)), append(gone[1], []byte(d.Name))
			continue
		}
		for i, b := range [...][]byte{[]byte(d.Kind), []byte(d.Name), d.Value} {
			set[i] = append(set[i], b)
		}
	}
	if len(gone[0]) > 0 {
		writes = append(writes, &Statement{Name: "delete documents", Text: `DELETE FROM bellman_doc WHERE (kind, name) IN (???)`, Args: []any{gone[0], gone[1]}})
	}
	if len(set[0]) > 0 {
		writes = append(writes, &Statement{Name: "write documents", Insert: &Insert{Into: "bellman_doc", Key: []string{"kind", "name"}, Then: Replace,
			Columns: []Column{{"kind", set[0]}, {"name", set[1]}, {"value", set[2]}}}})
	}
	return writes
}

// Docs reads the documents that match f, in order of their names.
func (s *Store) Docs(ctx context.Context, f store.DocFilter, limit int) (docs []store.Doc, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, nil
	}
	text, args := `SELECT name, value FROM bellman_doc WHERE kind = ? AND name > ? ORDER BY name LIMIT ?`, []any{[]byte(f.Kind), []byte(f.After), int64(limit)}
	if f.Name != "" {
		if f.Name <= f.After {
			return nil, nil
		}
		text, args = `SELECT name, value FROM bellman_doc WHERE kind = ? AND name = ?`, []any{[]byte(f.Kind), []byte(f.Name)}
	}
	err = s.read(ctx, func() []*Statement {
		docs = nil
		return []*Statement{{Name: "read documents", Text: text, Args: args, Each: func(r Row) error {
			var name, value []byte
			err := r.Scan(&name, &value)
			docs = append(docs, store.Doc{Kind: f.Kind, Name: string(name), Value: append([]byte{}, value...)})
			return err
		}}}
	})
	return docs, err
}

func auditWrites(audits []store.Audit) []*Statement {
	if len(audits) == 0 {
		return nil
	}
	var ats []int64
	var ids []bellman.ID
	var texts [7][][]byte
	for _, a := range audits {
		ats, ids = append(ats, a.At.UnixMilli()), append(ids, bellman.NewID())
		for i, text := range [...]string{a.Who, a.Action, a.Target, a.Reason, a.From, a.Job, string(pack.Changes(a.Changes))} {
			texts[i] = append(texts[i], []byte(text))
		}
	}
	return []*Statement{{Name: "insert audit records", Insert: &Insert{Into: "bellman_audit", Columns: []Column{{"at", ats}, {"id", ids},
		{"who", texts[0]}, {"action", texts[1]}, {"target", texts[2]}, {"reason", texts[3]}, {"address", texts[4]},
		{"job", texts[5]}, {"changes", texts[6]}}}}}
}

// Audits reads up to limit audit records older than before, newest first. It returns all records of
// the last record's millisecond, even above limit.
func (s *Store) Audits(ctx context.Context, before time.Time, limit int) (audits []store.Audit, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, nil
	}
	high := int64(1<<63 - 1)
	if !before.IsZero() {
		high = before.UnixMilli()
	}
	var part []store.Audit
	each := func(r Row) error {
		var at int64
		var who, action, target, reason, from, job, changes []byte
		if err := r.Scan(&at, &who, &action, &target, &reason, &from, &job, &changes); err != nil {
			return err
		}
		a := store.Audit{At: pack.FromMilli(at), Who: string(who), Action: string(action), Target: string(target),
			Reason: string(reason), From: string(from), Job: string(job)}
		var err error
		a.Changes, err = pack.ParseChanges(changes)
		part = append(part, a)
		return err
	}
	const text = `SELECT at, who, action, target, reason, address, job, changes FROM bellman_audit `
	err = s.read(ctx, func() []*Statement {
		part = nil
		return []*Statement{{Name: "read audit records", Text: text + `WHERE at < ? ORDER BY at DESC, id DESC LIMIT ?`, Args: []any{high, int64(limit)}, Each: each}}
	})
	if err != nil || len(part) < limit {
		return part, err
	}
	last := part[limit-1].At
	for len(part) > 0 && part[len(part)-1].At.Equal(last) {
		part = part[:len(part)-1]
	}
	audits = part
	err = s.read(ctx, func() []*Statement {
		part = nil
		return []*Statement{{Name: "read audit records", Text: text + `WHERE at = ? ORDER BY id DESC`, Args: []any{last.UnixMilli()}, Each: each}}
	})
	return append(audits, part...), err
}

package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// standing returns ErrConflict unless each document has its expected old value.
func (s *Store) standing(docs []store.Doc) error {
	for _, d := range docs {
		if d.Was == nil {
			continue
		}
		s.stage.key = docKey(s.stage.key[:0], d.Kind, d.Name)
		same := len(d.Was) == 0 // expected: no document
		err := get(s.db, s.stage.key, func(value []byte) error {
			same = len(d.Was) > 0 && bytes.Equal(value, d.Was)
			return nil
		})
		switch {
		case err != nil && !errors.Is(err, bellman.ErrNotFound):
			return fmt.Errorf("read document %s/%s: %w", d.Kind, d.Name, err)
		case !same:
			return fmt.Errorf("%w: document %s/%s", bellman.ErrConflict, d.Kind, d.Name)
		}
	}
	return nil
}

func (s *Store) putDoc(d store.Doc) error {
	g := &s.stage
	g.key = docKey(g.key[:0], d.Kind, d.Name)
	if d.Value == nil {
		return s.del(g.key, false)
	}
	return s.set(g.key, d.Value)
}

// Docs reads the documents that match f, in order of their names.
func (s *Store) Docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if f.Name != "" {
		return s.oneDoc(f, limit)
	}
	return s.docs(ctx, f, limit)
}

func (s *Store) docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	prefix := docKey(nil, f.Kind, "")
	var docs []store.Doc
	iter, err := s.db.NewIterWithContext(ctx, within(prefix))
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	for ok := iter.SeekGE(docKey(nil, f.Kind, f.After)); ok && len(docs) < limit; ok = iter.Next() {
		name := string(iter.Key()[len(prefix):])
		if name == f.After {
			continue
		}
		value, err := iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		docs = append(docs, store.Doc{Kind: f.Kind, Name: name, Value: append([]byte{}, value...)})
	}
	return docs, iter.Error()
}

// oneDoc reads the single document that f names.
func (s *Store) oneDoc(f store.DocFilter, limit int) (docs []store.Doc, err error) {
	if limit <= 0 || f.Name <= f.After {
		return nil, nil
	}
	err = get(s.db, docKey(nil, f.Kind, f.Name), func(value []byte) error {
		docs = []store.Doc{{Kind: f.Kind, Name: f.Name, Value: append([]byte{}, value...)}}
		return nil
	})
	if errors.Is(err, bellman.ErrNotFound) {
		return nil, nil
	}
	return docs, err
}

func (s *Store) putAudit(a store.Audit) error {
	g := &s.stage
	g.key = auditKey(g.key[:0], milli(a.At), g.audits)
	g.audits++
	g.row = append(g.row[:0], format)
	for _, text := range [...]string{a.Who, a.Action, a.Target, a.Reason, a.From, a.Job} {
		g.row = pack.Text(g.row, text)
	}
	return s.set(g.key, pack.Text(g.row, pack.Changes(a.Changes)))
}

// parseAudit decodes the audit record of a millisecond.
func parseAudit(ms int64, row []byte) (a store.Audit, err error) {
	p := pack.Read(row)
	if p.Byte() != format {
		return a, pack.ErrCorrupt
	}
	a = store.Audit{At: pack.FromMilli(ms), Who: p.Text(), Action: p.Text(), Target: p.Text(), Reason: p.Text(), From: p.Text(), Job: p.Text()}
	if a.Changes, err = pack.ParseChanges(p.Bytes()); err != nil {
		return a, err
	}
	return a, p.End()
}

func parseAuditKey(key []byte) (ms int64, sequence uint64) {
	return int64(binary.BigEndian.Uint64(key[1:]) ^ 1<<63), binary.BigEndian.Uint64(key[9:])
}

// Audits reads up to limit audit records older than before, newest first. It returns all records of
// the last record's millisecond, even above limit.
func (s *Store) Audits(ctx context.Context, before time.Time, limit int) ([]store.Audit, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	bounds := within([]byte{tableAudit})
	if !before.IsZero() {
		bounds.UpperBound = auditKey(nil, milli(before), 0)
	}
	iter, err := s.db.NewIterWithContext(ctx, bounds)
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	var audits []store.Audit
	last := int64(0)
	for ok := iter.Last(); ok; ok = iter.Prev() {
		ms, _ := parseAuditKey(iter.Key())
		if len(audits) >= limit && (limit <= 0 || ms != last) {
			break
		}
		last = ms
		a, err := parseAudit(ms, iter.Value())
		if err != nil {
			return nil, err
		}
		audits = append(audits, a)
	}
	return audits, iter.Error()
}

// within bounds an iterator to keys with the given prefix.
func within(prefix []byte) *lsm.IterOptions {
	return &lsm.IterOptions{LowerBound: slices.Clone(prefix), UpperBound: after(prefix)}
}

// scan calls f for each row whose key has the given prefix. f must not keep its arguments.
func (s *Store) scan(prefix []byte, f func(key, row []byte) error) error {
	return eachRow(context.Background(), s.db, prefix, f)
}

// eachRow is scan of r, until ctx ends.
func eachRow(ctx context.Context, r lsm.Reader, prefix []byte, f func(key, row []byte) error) error {
	iter, err := r.NewIterWithContext(ctx, within(prefix))
	if err != nil {
		return err
	}
	defer iter.Close()
	n := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row, err := iter.ValueAndErr()
		if err != nil {
			return err
		}
		if err := f(iter.Key(), row); err != nil {
			return err
		}
	}
	return iter.Error()
}

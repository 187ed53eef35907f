package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// Limits of one call of List: rows read and time spent. Rows that are far apart on disk are many
// times slower to read than adjacent rows.
const (
	listRows = 10_000
	listTime = 15 * time.Millisecond
)

// List reads the tasks that match f, newest first. It scans the narrowest range of keys that f
// allows: one key, an order, a merchant, a state, or all tasks.
func (s *Store) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	if err := s.enter(); err != nil {
		return nil, next, err
	}
	defer s.leave()
	if limit <= 0 {
		return nil, before, nil
	}
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	l := lister{s: s, r: snapshot, filter: f, before: before, words: wordsOf(&f), host: []byte(strings.ToLower(f.URLHost))}
	if f.Queue != "" {
		n, ok := s.queues.number(f.Queue)
		if !ok {
			return nil, next, nil
		}
		l.queue, l.oneQueue = n, true
	}
	if f.Key != "" {
		return l.byKey(limit)
	}
	l.brief = f.Brief && f.Event == "" && f.URLHost == "" && (f.OrderNo == "" || f.MerchantNo == "")
	return l.scan(ctx, limit)
}

// A lister is one call of List.
type lister struct {
	s        *Store
	r        *lsm.Snapshot
	filter   store.Filter
	queue    uint32
	oneQueue bool
	before   bellman.ID
	words    [][]byte // texts that the row of each matching task contains
	host     []byte   // like words, in lower case, unless the URL has an escape or a capital in its host
	beside   beside
	brief    bool   // the index and the statuses say all that is asked for, without the cold rows
	inState  *back  // tasks in the state of the filter, for a scan by order or merchant; otherwise nil
	jump     []byte // where the scan continues; empty: at the next row
}

// byKey finds the task with the key in each queue.
func (l *lister) byKey(limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	for n, name := range *l.s.queues.names.Load() {
		if l.oneQueue && l.queue != uint32(n) || len(l.filter.Key) > maxName {
			continue
		}
		held, err := l.s.lookup(l.r, uint32(n), l.filter.Key)
		if errors.Is(err, bellman.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, next, fmt.Errorf("look up key in queue %s: %w", name, err)
		}
		if !l.before.IsZero() && held.id.Compare(l.before) >= 0 {
			continue
		}
		t, err := l.one(held.id, nil)
		if err != nil {
			return nil, next, err
		}
		if t != nil {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *bellman.Task) int { return b.ID.Compare(a.ID) })
	if len(tasks) > limit {
		tasks = tasks[:limit]
		next = tasks[limit-1].ID
	}
	return tasks, next, nil
}

// bounds are the ranges of keys to scan. Each key ends with an id.
func (l *lister) bounds() *lsm.IterOptions {
	var prefix []byte
	switch f := l.filter; {
	case f.OrderNo != "":
		prefix = appendTerm([]byte{tableOrder}, f.OrderNo)
	case f.MerchantNo != "":
		prefix = appendTerm([]byte{tableMerchant}, f.MerchantNo)
	case f.State != nil && f.State.Ended():
		prefix = []byte{tableEnded, byte(*f.State)}
	case f.State != nil:
		prefix = []byte{tableHot}
	default:
		prefix = []byte{tableCold}
	}
	bounds := within(prefix)
	if from := l.filter.CreatedFrom; !from.IsZero() {
		id := bellman.FirstID(from)
		bounds.LowerBound = append(slices.Clone(prefix), id[:]...)
	}
	end := l.before
	if to := l.filter.CreatedTo; !to.IsZero() {
		if id := bellman.FirstID(to); end.IsZero() || id.Compare(end) < 0 {
			end = id
		}
		if end.IsZero() {
			end = bellman.ID{15: 1} // before 1970: no task is that old
		}
	}
	if !end.IsZero() {
		bounds.UpperBound = append(slices.Clone(prefix), end[:]...)
	}
	return bounds
}

func (l *lister) scan(ctx context.Context, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	bounds := l.bounds()
	if bytes.Compare(bounds.LowerBound, bounds.UpperBound) >= 0 {
		return nil, next, nil
	}
	iter, err := l.r.NewIterWithContext(ctx, bounds)
	if err != nil {
		return nil, next, err
	}
	defer iter.Close()
	defer l.beside.close()
	ok := iter.Last()
	if !ok {
		return nil, next, iter.Error()
	}
	if err := l.openState(iter.Key()); err != nil {
		return nil, next, err
	}
	if l.inState != nil {
		defer l.inState.iter.Close()
	}
	began, seen := time.Now(), 0
	var id bellman.ID
	for ; ok; ok = l.older(iter) {
		if len(tasks) == limit || seen == listRows || seen > 0 && seen%16 == 0 && time.Since(began) >= listTime {
			return tasks, id, nil
		}
		if seen++; seen%256 == 0 && ctx.Err() != nil {
			return nil, next, ctx.Err()
		}
		id = idOf(iter.Key())
		if in, more := l.hasState(iter.Key()); !in && !more {
			return tasks, next, l.inState.iter.Error()
		} else if !in {
			continue
		}
		t, err := l.take(iter, id)
		if err != nil {
			return nil, next, err
		}
		if t != nil {
			tasks = append(tasks, t)
		}
	}
	return tasks, next, iter.Error()
}

// take returns the task of a row; nil: the filter does not match.
func (l *lister) take(iter *lsm.Iterator, id bellman.ID) (*bellman.Task, error) {
	row, err := iter.ValueAndErr()
	if err != nil {
		return nil, err
	}
	table := iter.Key()[0]
	if l.oneQueue {
		other, err := l.otherQueue(table, row)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", id, err)
		}
		if other {
			return nil, nil
		}
	}
	switch {
	case table == tableCold:
		return l.fits(id, row, nil, true)
	case l.inState != nil:
		return l.one(id, l.inState.iter.Value())
	case table == tableHot, table == tableEnded:
		return l.one(id, row)
	}
	return l.one(id, nil)
}

// openState opens the table of the filter's state, if the scan is of an index by order or merchant.
// key is where the scan begins.
func (l *lister) openState(key []byte) error {
	if table := key[0]; l.filter.State == nil || table != tableOrder && table != tableMerchant {
		return nil
	}
	prefix := []byte{tableHot}
	if state := *l.filter.State; state.Ended() {
		prefix = []byte{tableEnded, byte(state)}
	}
	iter, err := l.r.NewIter(within(prefix))
	if err != nil {
		return err
	}
	l.inState = &back{iter, iter.SeekLT(append(statusKey(nil, *l.filter.State, idOf(key)), 0))}
	return nil
}

// hasState reports whether the task of an index's row has the filter's state. If it has not, the
// scan jumps to the newest older task that has it, because both are in order of ids; more is false
// if there is none.
func (l *lister) hasState(key []byte) (has, more bool) {
	if l.inState == nil {
		return true, true
	}
	var scratch [32]byte
	if l.inState.to(statusKey(scratch[:0], *l.filter.State, idOf(key))) {
		return true, true
	}
	if !l.inState.ok {
		return false, false
	}
	to := idOf(l.inState.iter.Key())
	l.jump = append(append(append(l.jump[:0], key[:len(key)-len(to)]...), to[:]...), 0)
	return false, true
}

// older moves the scan on.
func (l *lister) older(iter *lsm.Iterator) bool {
	if len(l.jump) == 0 {
		return iter.Prev()
	}
	ok := iter.SeekLT(l.jump)
	l.jump = l.jump[:0]
	return ok
}

// otherQueue reports whether the row alone shows that the task is in another queue. The rest need
// not be read then.
func (l *lister) otherQueue(table byte, row []byte) (bool, error) {
	p := pack.Read(row)
	switch table {
	case tableCold:
		p.Byte()
	case tableHot, tableEnded:
		p.Byte()
		p.Uint16()
		p.Uint64()
	default:
		return false, nil
	}
	return uint32(p.Uvarint()) != l.queue, p.Err()
}

// one reads a task by its id, and returns nil if the filter does not match. row is the task's
// status row in the state of the filter. If row is nil, one reads it. A task in another state costs
// no further read.
func (l *lister) one(id bellman.ID, row []byte) (t *bellman.Task, err error) {
	var key [32]byte
	var st *status // nil: any state fits
	if state := l.filter.State; state != nil {
		st = new(status)
		if row != nil {
			err = parseStatus(row, id, st)
		} else {
			err = get(l.r, statusKey(key[:0], *state, id), func(row []byte) error { return parseStatus(row, id, st) })
		}
		if errors.Is(err, bellman.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("task %s: status: %w", id, err)
		}
	}
	if l.brief {
		return l.briefly(id, st)
	}
	err = get(l.r, coldKey(key[:0], id), func(row []byte) (err error) {
		t, err = l.fits(id, row, st, false)
		return err
	})
	if errors.Is(err, bellman.ErrNotFound) {
		err = fmt.Errorf("task %s: %w", id, err)
	}
	return t, err
}

// briefly returns a task of a brief list, and nil if the task is in another queue. st is the task's
// status; nil: it is read.
func (l *lister) briefly(id bellman.ID, st *status) (*bellman.Task, error) {
	if st == nil {
		read, err := l.s.status(l.r, id)
		if err != nil {
			return nil, fmt.Errorf("task %s: status: %w", id, err)
		}
		st = &read
	}
	if l.oneQueue && st.queue != l.queue {
		return nil, nil
	}
	queue, _ := l.s.queues.name(st.queue)
	return &bellman.Task{ID: id, Queue: queue, Status: st.Status}, nil
}

// fits decodes a cold row, and returns nil if the filter does not match. known is the task's status
// if the filter has a state, and nil otherwise. inRow means that List scans cold rows one after the
// other: then the beside reads status and attempt.
func (l *lister) fits(id bellman.ID, row []byte, known *status, inRow bool) (*bellman.Task, error) {
	for _, word := range l.words {
		if !bytes.Contains(row, word) {
			return nil, nil
		}
	}
	if !bytes.Contains(row, l.host) && bytes.IndexByte(row, '%') < 0 && !capitals(row) {
		return nil, nil
	}
	t := new(bellman.Task)
	if err := l.s.parseTask(row, id, t); err != nil {
		return nil, err
	}
	var st status
	if known != nil {
		st = *known
		t.Status = st.Status
	}
	if !l.filter.Fits(t) {
		return nil, nil
	}
	var err error
	if inRow {
		st, t.Last, err = l.beside.read(l.s, l.r, id)
	} else {
		if known == nil {
			st, err = l.s.status(l.r, id)
		}
		if err == nil {
			t.Last, err = l.s.last(l.r, id, int(st.Attempts))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("task %s: status: %w", id, err)
	}
	t.Status = st.Status
	return t, nil
}

// capitals reports whether the host of a URL in the row has a capital letter.
func capitals(row []byte) bool {
	for {
		_, after, found := bytes.Cut(row, []byte("://"))
		if !found {
			return false
		}
		for _, c := range after {
			if 'A' <= c && c <= 'Z' {
				return true
			}
			if c == '/' || c == '"' || c <= ' ' {
				break
			}
		}
		row = after
	}
}

// wordsOf returns texts that the row of each matching task contains verbatim. Most rows lack them
// and are skipped without decoding.
func wordsOf(f *store.Filter) (words [][]byte) {
	for _, text := range [...]string{f.Key, f.MerchantNo, f.OrderNo, f.Event} {
		if text != "" {
			words = append(words, []byte(text))
		}
	}
	return words
}

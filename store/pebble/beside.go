package pebble

import (
	"bytes"
	"errors"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// A beside reads the status and the newest attempt of tasks. It must read tasks in descending order
// of ids. It uses one iterator per table and moves each iterator backwards. This costs a tenth of
// separate reads. The zero beside is ready.
type beside struct {
	tables [5]back // pending; ended, by state; attempts
	open   bool
	key    []byte // scratch
}

// attempts is the index of the attempts table in beside.tables.
const attempts = 4

// A back is an iterator that moves backwards through a table. Its position is the last row at or
// before the requested key.
type back struct {
	iter *lsm.Iterator
	ok   bool
}

// to moves back to key and reports whether the key exists.
func (b *back) to(key []byte) bool {
	const steps = 4 // passing a few rows is faster than a seek
	for n := 0; b.ok; n++ {
		order := bytes.Compare(b.iter.Key(), key)
		if order <= 0 {
			return order == 0
		}
		if n < steps {
			b.ok = b.iter.Prev()
		} else {
			b.ok = b.iter.SeekLT(append(key, 0))
		}
	}
	return false
}

func (b *beside) start(r lsm.Reader, id bellman.ID) error {
	b.open = true
	prefixes := [len(b.tables)][]byte{{tableHot}, {tableEnded, 1}, {tableEnded, 2}, {tableEnded, 3}, {tableAttempt}}
	for i, prefix := range prefixes {
		iter, err := r.NewIter(within(prefix))
		if err != nil {
			return err
		}
		end := append(append(prefix, id[:]...), 0xff, 0xff, 0xff, 0xff, 0xff) // after all rows of the task
		b.tables[i] = back{iter, iter.SeekLT(end)}
	}
	return nil
}

// read reads the status and the newest attempt of a task.
func (b *beside) read(s *Store, r lsm.Reader, id bellman.ID) (st status, last *bellman.Attempt, err error) {
	if !b.open {
		if err := b.start(r, id); err != nil {
			return st, nil, err
		}
	}
	found := false
	for state := bellman.Pending; state <= bellman.Cancelled && !found; state++ {
		table := &b.tables[state]
		b.key = statusKey(b.key[:0], state, id)
		if found = table.to(b.key); found {
			err = parseStatus(table.iter.Value(), id, &st)
		}
		err = errors.Join(err, table.iter.Error())
	}
	if !found && err == nil {
		err = bellman.ErrNotFound
	}
	if err != nil || st.Attempts == 0 {
		return st, nil, err
	}
	table := &b.tables[attempts]
	b.key = attemptKey(b.key[:0], id, int(st.Attempts))
	if !table.to(b.key) {
		if err := table.iter.Error(); err != nil {
			return st, nil, err
		}
		last, err = s.last(r, id, int(st.Attempts)) // the newest attempt has no record
		return st, last, err
	}
	last = new(bellman.Attempt)
	return st, last, parseAttempt(table.iter.Value(), id, int(st.Attempts), last)
}

func (b *beside) close() {
	for i := range b.tables {
		if b.tables[i].iter != nil {
			b.tables[i].iter.Close()
		}
	}
}

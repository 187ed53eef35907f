package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// A Report says what Check looked at and what it found.
type Report struct {
	Tasks, Pending, Ended int64
	Attempts              int64
	Wrong                 int64    // disagreements found
	Problems              []string // the first hundred of them
}

// maxProblems is how many problems a report lists.
const maxProblems = 100

func (r *Report) wrong(format string, args ...any) {
	if r.Wrong++; len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Check reads the whole store, as it is at one moment, and verifies that rows,
// indexes and counters agree: each task has exactly one status, each pending
// one exactly one due entry, each key, merchant and order number its entry, and
// each entry and attempt its task. Commits go on meanwhile. It needs little
// memory: tables in order of ids are read side by side, the others by looking
// up each entry.
func (s *Store) Check(ctx context.Context) (Report, error) {
	if err := s.enter(); err != nil {
		return Report{}, err
	}
	defer s.leave()
	s.mu.Lock()
	if err := s.ready(); err != nil {
		s.mu.Unlock()
		return Report{}, err
	}
	snapshot := s.db.NewSnapshot()
	s.mu.Unlock()
	defer snapshot.Close()

	c := checker{s: s, r: snapshot, counts: map[uint32]counts{}}
	for _, step := range []func(context.Context) error{c.tasks, c.indexes, c.counters} {
		if err := step(ctx); err != nil {
			return c.Report, fmt.Errorf("check: %w", err)
		}
	}
	return c.Report, nil
}

// A checker is one call of Check.
type checker struct {
	Report
	s *Store
	r *lsm.Snapshot

	counts   map[uint32]counts
	expected [256]int64 // index entries that rows say there are, by table
}

// A side is one table of several that are read side by side, in order of ids.
type side struct {
	*lsm.Iterator
	ok bool
}

func (d *side) id() bellman.ID { return idOf(d.Key()) }

// at reports whether the side is at id, and passes everything before it, which
// it gives to stray.
func (d *side) at(id bellman.ID, stray func(key []byte)) bool {
	for d.ok && compareID(d.id(), id) < 0 {
		stray(d.Key())
		d.ok = d.Next()
	}
	return d.ok && d.id() == id
}

// tasks goes through all tasks with their statuses and attempts.
func (c *checker) tasks(ctx context.Context) error {
	prefixes := [][]byte{{tableCold}, {tableHot}, {tableEnded, 1}, {tableEnded, 2}, {tableEnded, 3}}
	sides := make([]side, len(prefixes))
	for i, prefix := range prefixes {
		iter, err := c.r.NewIterWithContext(ctx, within(prefix))
		if err != nil {
			return err
		}
		defer iter.Close()
		sides[i] = side{iter, iter.First()}
	}
	attempts, err := c.r.NewIterWithContext(ctx, within([]byte{tableAttempt}))
	if err != nil {
		return err
	}
	defer attempts.Close()
	logged := attempts.First()

	stray := func(key []byte) { c.wrong("status row %x has no task", key) }
	for cold := &sides[0]; cold.ok; cold.ok = cold.Next() {
		id := cold.id()
		c.Tasks++
		if c.Tasks%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var st status
		found := 0
		for i := range sides[1:] {
			d := &sides[i+1]
			if !d.at(id, stray) {
				continue
			}
			if err := parseStatus(d.Value(), id, &st); err != nil {
				c.wrong("task %s: status: %v", id, err)
			} else if st.State != bellman.State(i) {
				c.wrong("task %s: is kept as %s, but says %s", id, bellman.State(i), st.State)
			}
			found++
			d.ok = d.Next()
		}
		for logged && compareID(attemptID(attempts.Key()), id) <= 0 {
			c.attempt(attempts, id, st.Attempts)
			logged = attempts.Next()
		}
		var t bellman.Task
		switch err := c.s.parseTask(cold.Value(), id, &t); {
		case err != nil:
			c.wrong("%v", err)
		case found != 1:
			c.wrong("task %s: has %d statuses, not one", id, found)
		default:
			if err := c.task(&t, &st); err != nil {
				return err
			}
		}
	}
	for logged {
		c.attempt(attempts, bellman.ID{}, 0)
		logged = attempts.Next()
	}
	err = attempts.Error()
	for i := range sides {
		for ; i > 0 && sides[i].ok; sides[i].ok = sides[i].Next() {
			stray(sides[i].Key())
		}
		err = errors.Join(err, sides[i].Error())
	}
	return err
}

func attemptID(key []byte) (id bellman.ID) {
	copy(id[:], key[1:])
	return id
}

// attempt checks a row of the attempts, which belongs to the task id if all is well.
func (c *checker) attempt(iter *lsm.Iterator, id bellman.ID, attempts int) {
	c.Attempts++
	number := attemptNumber(iter.Key())
	var a bellman.Attempt
	switch err := parseAttempt(iter.Value(), id, number, &a); {
	case attemptID(iter.Key()) != id:
		c.wrong("attempt %d of task %s: there is no such task", number, attemptID(iter.Key()))
	case err != nil:
		c.wrong("attempt %d of task %s: %v", number, id, err)
	case number < 1 || number > attempts:
		c.wrong("attempt %d of task %s: it had %d attempts", number, id, attempts)
	}
}

// task looks for the index entries that a task must have, and counts them.
func (c *checker) task(t *bellman.Task, st *status) error {
	count := c.counts[st.queue]
	count[st.State]++
	c.counts[st.queue] = count
	if name, _ := c.s.queues.name(st.queue); name != t.Queue {
		c.wrong("task %s: its status says queue %q, its row %q", t.ID, name, t.Queue)
	}
	if line := bellman.LineOf(t.Queue, t.Endpoint); st.line != line {
		c.wrong("task %s: its line is %x, not %x", t.ID, st.line, line)
	}
	want := func(key []byte, what string, fits func(row []byte) bool) error {
		c.expected[key[0]]++
		agrees := false
		err := get(c.r, key, func(row []byte) error {
			agrees = fits(row)
			return nil
		})
		switch {
		case errors.Is(err, bellman.ErrNotFound):
			c.wrong("task %s: has no %s entry", t.ID, what)
		case err != nil:
			return err
		case !agrees:
			c.wrong("task %s: its %s entry says something else", t.ID, what)
		}
		return nil
	}
	empty := func(row []byte) bool { return len(row) == 0 }
	var err error
	if st.State.Ended() {
		c.Ended++
	} else {
		c.Pending++
		err = want(dueKey(nil, milli(st.Look), t.ID), "due", func(row []byte) bool {
			return string(row) == string(appendEntry(nil, st))
		})
	}
	if t.Key != "" {
		err = errors.Join(err, want(keyKey(nil, st.queue, t.Key), "key", func(row []byte) bool {
			claimed, err := parseClaimed(row)
			return err == nil && claimed.id == t.ID
		}))
	}
	if t.MerchantNo != "" {
		err = errors.Join(err, want(merchantKey(nil, t.MerchantNo, t.ID), "merchant", empty))
	}
	if t.OrderNo != "" {
		err = errors.Join(err, want(orderKey(nil, t.OrderNo, t.ID), "order", empty))
	}
	return err
}

// indexes counts the entries of each index. Every entry that a row stands for
// was found, so that there are too many only if some stand for none; then each
// is looked at.
func (c *checker) indexes(ctx context.Context) error {
	for _, table := range []byte{tableDue, tableKey, tableMerchant, tableOrder} {
		have := int64(0)
		err := c.rows(ctx, table, func(_, _ []byte) error {
			have++
			return nil
		})
		if err != nil {
			return err
		}
		if have <= c.expected[table] {
			continue
		}
		if err := c.rows(ctx, table, c.entry); err != nil {
			return err
		}
	}
	return nil
}

// rows calls f for each row of a table.
func (c *checker) rows(ctx context.Context, table byte, f func(key, row []byte) error) error {
	iter, err := c.r.NewIterWithContext(ctx, within([]byte{table}))
	if err != nil {
		return err
	}
	defer iter.Close()
	n := 0
	for ok := iter.First(); ok; ok = iter.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(iter.Key(), iter.Value()); err != nil {
			return err
		}
	}
	return iter.Error()
}

// entry checks that an index entry stands for a row.
func (c *checker) entry(key, row []byte) error {
	var id bellman.ID
	if key[0] != tableKey {
		if len(key) <= len(id) {
			c.wrong("%c entry %x has no id", key[0], key)
			return nil
		}
		id = idOf(key)
	} else {
		claimed, err := parseClaimed(row)
		if err != nil {
			c.wrong("key entry %x: %v", key, err)
			return nil
		}
		id = claimed.id
	}
	t, err := c.s.task(c.r, id)
	if errors.Is(err, bellman.ErrNotFound) {
		c.wrong("%c entry %x stands for task %s, which is not there", key[0], key, id)
		return nil
	}
	if errors.Is(err, errCorrupt) {
		return nil // noted already
	}
	if err != nil {
		return err
	}
	stands := false
	switch key[0] {
	case tableDue:
		look, _ := parseDueKey(key)
		stands = t.State == bellman.Pending && milli(t.Look) == look
	case tableKey:
		queue, ok := c.s.queues.number(t.Queue)
		stands = ok && string(keyKey(nil, queue, t.Key)) == string(key)
	case tableMerchant:
		stands = string(merchantKey(nil, t.MerchantNo, id)) == string(key)
	case tableOrder:
		stands = string(orderKey(nil, t.OrderNo, id)) == string(key)
	}
	if !stands {
		c.wrong("%c entry %x does not fit task %s", key[0], key, id)
	}
	return nil
}

// counters compares the counters with what was counted.
func (c *checker) counters(ctx context.Context) error {
	kept := map[uint32]counts{}
	err := c.rows(ctx, tableDepth, func(key, row []byte) error {
		var have counts
		p := parser{b: row}
		for i := range have {
			have[i] = p.varint()
		}
		kept[binary.BigEndian.Uint32(key[1:])] = have
		return p.end()
	})
	if err != nil {
		return err
	}
	for n := range *c.s.queues.names.Load() {
		queue := uint32(n)
		if kept[queue] != c.counts[queue] {
			name, _ := c.s.queues.name(queue)
			c.wrong("queue %q: counters say %v (pending, succeeded, failed, cancelled), there are %v", name, kept[queue], c.counts[queue])
		}
	}
	return nil
}

package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// maxProblems is the maximum length of CheckReport.Problems.
const maxProblems = 100

func (r *checker) wrong(format string, args ...any) {
	if r.Wrong++; len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Check reads a snapshot of the whole store and verifies that rows, indexes and counters agree.
// Each task must have exactly one status, and each pending task exactly one due entry. Each key,
// alias, merchant and order number must have its index entry. Each index entry and attempt must
// have its task. Each shard and each queue with counters must have its row. Documents and audit
// records must be readable. Commits continue meanwhile.
//
// Check reads each row once and needs little memory. It reads tables ordered by id side by side.
// For an index, it compares checksums of the entries with checksums of the rows (see sums). Only if
// checksums differ does Check look up single entries.
func (s *Store) Check(ctx context.Context) (store.CheckReport, error) {
	if err := s.enter(); err != nil {
		return store.CheckReport{}, err
	}
	defer s.leave()
	s.mu.Lock()
	if err := s.ready(); err != nil {
		s.mu.Unlock()
		return store.CheckReport{}, err
	}
	snapshot := s.db.NewSnapshot()
	s.mu.Unlock()
	defer snapshot.Close()

	c := checker{s: s, r: snapshot, counts: map[uint32]counts{}, sums: newSums()}
	for _, step := range []func(context.Context) error{c.all, c.indexes, c.counters, c.shards, c.audits, c.docs} {
		if err := step(ctx); err != nil {
			return c.CheckReport, fmt.Errorf("check: %w", err)
		}
	}
	return c.CheckReport, nil
}

// A checker is one call of Check.
type checker struct {
	store.CheckReport
	s *Store
	r *lsm.Snapshot

	counts map[uint32]counts
	sums   *sums
	key    []byte // scratch
	row    []byte
}

// A side is one of several tables that are read side by side, in order of ids.
type side struct {
	*lsm.Iterator
	ok bool
}

func (d *side) id() bellman.ID { return idOf(d.Key()) }

// at advances the side to id and reports whether a row has this id. It passes each skipped row to
// stray.
func (d *side) at(id bellman.ID, stray func(key []byte)) bool {
	for d.ok && d.id().Compare(id) < 0 {
		stray(d.Key())
		d.ok = d.Next()
	}
	return d.ok && d.id() == id
}

func (c *checker) all(ctx context.Context) error { return c.tasks(ctx, c.task) }

// tasks reads all tasks with their statuses and attempts, and passes each complete task to f.
func (c *checker) tasks(ctx context.Context, f func(*bellman.Task, *status) error) error {
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
		for logged && attemptID(attempts.Key()).Compare(id) <= 0 {
			c.attempt(attempts, id, int(st.Attempts))
			logged = attempts.Next()
		}
		var t bellman.Task
		switch err := c.s.parseTask(cold.Value(), id, &t); {
		case err != nil:
			c.wrong("%v", err)
		case found != 1:
			c.wrong("task %s: has %d statuses, not one", id, found)
		default:
			if err := f(&t, &st); err != nil {
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

// attempt checks a row of the attempts table, which should belong to the task id.
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

// task checks that a task's rows agree, counts the task, and adds its required index entries to the
// checksums.
func (c *checker) task(t *bellman.Task, st *status) error {
	count := c.counts[st.queue]
	count[st.State]++
	c.counts[st.queue] = count
	if st.State.Ended() {
		c.Ended++
	} else {
		c.Pending++
	}
	if name, _ := c.s.queues.name(st.queue); name != t.Queue {
		c.wrong("task %s: its status says queue %q, its row %q", t.ID, name, t.Queue)
	}
	if line := store.LineOf(t.Queue, t.Endpoint); st.line != line {
		c.wrong("task %s: its line is %x, not %x", t.ID, st.line, line)
	}
	return c.entries(t, st, func(key, row []byte) error {
		c.sums.add(key, row)
		return nil
	})
}

// counters compares the stored counters with the counted tasks.
func (c *checker) counters(ctx context.Context) error {
	kept := map[uint32]counts{}
	err := c.rows(ctx, tableDepth, func(key, row []byte) error {
		if len(key) != 5 {
			c.wrong("counters %x: of no queue", key)
			return nil
		}
		var have counts
		p := pack.Read(row)
		for i := range have {
			have[i] = p.Varint()
		}
		if err := p.End(); err != nil {
			c.wrong("counters %x: %v", key, err)
		}
		kept[binary.BigEndian.Uint32(key[1:])] = have
		return nil
	})
	if err != nil {
		return err
	}
	names := uint32(0)
	err = c.rows(ctx, tableQueue, func(key, row []byte) error {
		queue := names
		names++
		if name, _ := c.s.queues.name(queue); string(key) != string(queueKey(nil, tableQueue, queue)) || string(row) != name {
			c.wrong("queue row %x: says %q; want number %d, %q", key, row, queue, name)
		}
		if kept[queue] != c.counts[queue] {
			c.wrong("queue %q: counters say %v (pending, succeeded, failed, cancelled), there are %v", row, kept[queue], c.counts[queue])
		}
		return nil
	})
	for queue := range kept {
		if queue >= names {
			c.wrong("queue number %d: has counters, but no name", queue)
		}
	}
	return err
}

// shards checks that each shard has its row. Without one, the shard's epochs would begin again.
func (c *checker) shards(ctx context.Context) error {
	next := 0
	missing := func(before int) {
		for ; next < before; next++ {
			c.wrong("shard %d: has no row", next)
		}
	}
	count := len(c.s.shards.list)
	err := c.rows(ctx, tableShard, func(key, row []byte) error {
		if len(key) != 3 || int(binary.BigEndian.Uint16(key[1:])) >= count {
			c.wrong("shard row %x: is of none of the %d shards", key, count)
			return nil
		}
		n := binary.BigEndian.Uint16(key[1:])
		missing(int(n))
		next++
		if _, err := parseShard(n, row); err != nil {
			c.wrong("shard %d: %v", n, err)
		}
		return nil
	})
	missing(count)
	return err
}

// audits checks that each audit record can be read.
func (c *checker) audits(ctx context.Context) error {
	return c.rows(ctx, tableAudit, func(key, row []byte) error {
		if len(key) != len(auditKey(nil, 0, 0)) {
			c.wrong("audit record %x: is no key of this table", key)
		} else if _, err := parseAudit(0, row); err != nil {
			c.wrong("audit record %x: %v", key, err)
		}
		return nil
	})
}

// docs checks that each document has a kind and can be read. Its value is of its writer.
func (c *checker) docs(ctx context.Context) error {
	return c.rows(ctx, tableDoc, func(key, _ []byte) error {
		if !bytes.Contains(key, appendTerm(nil, "")) {
			c.wrong("document %x: has no kind", key)
		}
		return nil
	})
}

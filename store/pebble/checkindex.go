package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
)

// sums compare the existing index entries with the required entries, without keeping either set.
// Each entry has a hash. Required entries are added, existing entries are subtracted, and the
// result must be zero. A hash of the key selects the sum, so a sum that differs points to a few
// entries. Hashes get a new seed each time. Wrong entries cancel out with a probability of 2⁻⁶⁴.
type sums struct {
	seed   maphash.Seed
	tables [256]*[sumCount]uint64 // by the letter of the table
	buf    []byte
}

const sumCount = 1 << 16

// indexTables are the tables that sums compare.
var indexTables = [...]byte{tableDue, tableKey, tableMerchant, tableOrder, tablePlace}

func newSums() *sums {
	s := &sums{seed: maphash.MakeSeed()}
	for _, table := range indexTables {
		s.tables[table] = new([sumCount]uint64)
	}
	return s
}

// at returns the sum that an entry belongs to.
func (s *sums) at(key []byte) *uint64 {
	return &s.tables[key[0]][maphash.Bytes(s.seed, key)%sumCount]
}

func (s *sums) hash(key, row []byte) uint64 {
	s.buf = append(append(s.buf[:0], key...), row...)
	return maphash.Bytes(s.seed, binary.AppendUvarint(s.buf, uint64(len(key))))
}

func (s *sums) add(key, row []byte)      { *s.at(key) += s.hash(key, row) }
func (s *sums) subtract(key, row []byte) { *s.at(key) -= s.hash(key, row) }

// differ reports whether the sum of an entry shows a disagreement.
func (s *sums) differ(key []byte) bool { return *s.at(key) != 0 }

func (s *sums) differAnywhere() bool {
	for _, table := range indexTables {
		if *s.tables[table] != [sumCount]uint64{} {
			return true
		}
	}
	return false
}

// entries calls f with each index entry that a task requires. For the row of a key or an alias, the
// value is only the id. f must not keep its arguments.
func (c *checker) entries(t *bellman.Task, st *status, f func(key, row []byte) error) error {
	var err error
	if !st.State.Ended() {
		c.key, c.row = dueKey(c.key[:0], milli(st.VisibleAt), t.ID), appendEntry(c.row[:0], st)
		err = f(c.key, c.row)
	}
	if t.Key != "" {
		c.key = keyKey(c.key[:0], st.queue, t.Key)
		err = errors.Join(err, f(c.key, t.ID[:]))
	}
	if t.Alias() != "" {
		c.key = keyKey(c.key[:0], aliases, t.Alias())
		err = errors.Join(err, f(c.key, t.ID[:]))
	}
	if t.MerchantNo != "" {
		c.key = merchantKey(c.key[:0], t.MerchantNo, t.ID)
		err = errors.Join(err, f(c.key, nil))
	}
	if t.OrderNo != "" {
		c.key = orderKey(c.key[:0], t.OrderNo, t.ID)
		err = errors.Join(err, f(c.key, nil))
	}
	if o := t.Ordering(); o != nil && !st.State.Ended() {
		c.key = placeKey(c.key[:0], st.queue, o, st.Place, t.ID)
		err = errors.Join(err, f(c.key, nil))
	}
	return err
}

// compared returns the part of an index entry's value that entries produces. It returns an
// unreadable key row unchanged, so that the row matches no required entry.
func compared(key, row []byte) []byte {
	if key[0] == tableKey {
		if _, err := parseClaimed(row); err == nil {
			return row[:len(bellman.ID{})]
		}
	}
	return row
}

// indexes compares each index with the checksums of the rows. If a sum differs, indexes looks up
// each required entry and checks each existing entry.
func (c *checker) indexes(ctx context.Context) error {
	for _, table := range indexTables {
		err := c.rows(ctx, table, func(key, row []byte) error {
			c.sums.subtract(key, compared(key, row))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !c.sums.differAnywhere() {
		return nil
	}
	again := checker{s: c.s, r: c.r} // its problems with rows were reported before
	if err := again.tasks(ctx, c.missing); err != nil {
		return err
	}
	for _, table := range indexTables {
		err := c.rows(ctx, table, func(key, row []byte) error {
			if !c.sums.differ(key) {
				return nil
			}
			return c.entry(key, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// missing looks up the entries of a task whose sums differ.
func (c *checker) missing(t *bellman.Task, st *status) error {
	return c.entries(t, st, func(key, want []byte) error {
		if !c.sums.differ(key) {
			return nil
		}
		what := map[byte]string{tableDue: "due", tableKey: "key", tableMerchant: "merchant", tableOrder: "order", tablePlace: "place"}[key[0]]
		if isAlias(key) {
			what = "alias"
		}
		err := get(c.r, key, func(row []byte) error {
			if string(compared(key, row)) != string(want) {
				c.wrong("task %s: its %s entry says something else", t.ID, what)
			}
			return nil
		})
		if errors.Is(err, bellman.ErrNotFound) {
			c.wrong("task %s: has no %s entry", t.ID, what)
			return nil
		}
		return err
	})
}

// isAlias reports whether a key is that of an alias's row.
func isAlias(key []byte) bool { return bytes.HasPrefix(key, keyKey(nil, aliases, "")) }

// rows calls f for each row of a table.
func (c *checker) rows(ctx context.Context, table byte, f func(key, row []byte) error) error {
	return eachRow(ctx, c.r, []byte{table}, f)
}

// entry checks that an index entry has its row.
func (c *checker) entry(key, row []byte) error {
	var id bellman.ID
	if key[0] != tableKey {
		if len(key) <= len(id) || key[0] == tableDue && len(key) != 25 {
			c.wrong("%c entry %x is no key of this table", key[0], key)
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
	if errors.Is(err, pack.ErrCorrupt) {
		return nil // already reported
	}
	if err != nil {
		return err
	}
	stands := false
	switch key[0] {
	case tableDue:
		look, _ := parseDueKey(key)
		stands = t.State == bellman.Pending && milli(t.VisibleAt) == look
	case tableKey:
		queue, ok := c.s.queues.number(t.Queue)
		stands = ok && string(keyKey(nil, queue, t.Key)) == string(key)
		if isAlias(key) {
			stands = string(keyKey(nil, aliases, t.Alias())) == string(key)
		}
	case tableMerchant:
		stands = string(merchantKey(nil, t.MerchantNo, id)) == string(key)
	case tableOrder:
		stands = string(orderKey(nil, t.OrderNo, id)) == string(key)
	case tablePlace:
		queue, ok := c.s.queues.number(t.Queue)
		o := t.Ordering()
		stands = ok && o != nil && t.State == bellman.Pending && string(placeKey(nil, queue, o, parsePlace(key).look, id)) == string(key)
	}
	if !stands {
		c.wrong("%c entry %x does not fit task %s", key[0], key, id)
	}
	return nil
}

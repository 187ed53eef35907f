package pebble

import lsm "github.com/cockroachdb/pebble/v2"

// rows are the writes of one commit, in a batch for each table. The memtable remembers where it put
// the last row, and most new rows of a table follow each other. So a commit takes less time table
// by table than task by task.
type rows [32]*lsm.Batch // by the last five bits of the table's letter

func (r *rows) reset() {
	for _, b := range r {
		if b != nil {
			b.Reset()
		}
	}
}

// moveTo appends all rows to a batch, and removes them here.
func (r *rows) moveTo(batch *lsm.Batch) error {
	defer r.reset()
	for _, b := range r {
		if b == nil || b.Empty() {
			continue
		}
		if err := batch.Apply(b, nil); err != nil {
			return err
		}
	}
	return nil
}

// table returns the rows of the table that a key belongs to.
func (s *Store) table(key []byte) *lsm.Batch {
	b := &s.rows[key[0]%32]
	if *b == nil {
		*b = s.db.NewBatch(lsm.WithMaxRetainedSizeBytes(1 << 20))
	}
	return *b
}

// set and del write to the rows. SingleDelete is cheaper than Delete for rows that are written
// once.
func (s *Store) set(key, row []byte) error { return s.table(key).Set(key, row, nil) }

func (s *Store) del(key []byte, once bool) error {
	if once {
		return s.table(key).SingleDelete(key, nil)
	}
	return s.table(key).Delete(key, nil)
}

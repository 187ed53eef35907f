package pebble

import (
	"errors"
	"sync"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// maxIdle is how many idle iterators a table keeps. Each holds a few blocks of the cache.
const maxIdle = 4

// seekers are the iterators by which single rows are read. They stay open until the next write: a
// Get opens the files of each level again, and takes half as long again as a seek. Every answered
// write is seen. Of a write in progress, one reader may see what the next does not see yet.
type seekers struct {
	mu     sync.Mutex
	writes uint64                   // number of writes so far
	idle   map[byte][]*lsm.Iterator // by table; made since the last write, so that they show it
}

// take returns an idle iterator of a table, nil if there is none, and the number of writes so far.
func (k *seekers) take(table byte) (iter *lsm.Iterator, writes uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.idle[table]); n > 0 {
		iter, k.idle[table] = k.idle[table][n-1], k.idle[table][:n-1]
	}
	return iter, k.writes
}

// put keeps an iterator that shows so many writes, unless one was added meanwhile. If put returns
// false, the caller closes the iterator.
func (k *seekers) put(table byte, iter *lsm.Iterator, writes uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if writes != k.writes || len(k.idle[table]) == maxIdle {
		return false
	}
	k.idle[table] = append(k.idle[table], iter)
	return true
}

// wrote closes the idle iterators after a write, or before the store is closed.
func (k *seekers) wrote() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes++
	for table, idle := range k.idle {
		for _, iter := range idle {
			iter.Close() // an iterator with an error is not kept
		}
		k.idle[table] = idle[:0]
	}
}

// seek calls f with the row of key, as get does.
func (s *Store) seek(key []byte, f func(row []byte) error) error {
	table := key[0]
	iter, writes := s.seekers.take(table)
	if iter == nil {
		var err error
		if iter, err = s.db.NewIter(within(key[:1])); err != nil {
			return err
		}
	}
	err := bellman.ErrNotFound
	if iter.SeekPrefixGE(key) {
		err = f(iter.Value())
	}
	if failed := iter.Error(); failed != nil || !s.seekers.put(table, iter, writes) {
		err = errors.Join(err, iter.Close())
	}
	return err
}

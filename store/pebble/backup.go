package pebble

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Backup copies a snapshot of the store into a new directory. The directory must not exist. Its
// parent must exist, and must be outside the store's own directory. Commits continue meanwhile. On
// the same file system the copy takes little space at first, because immutable files are linked.
// The copy is an ordinary data directory. If the copy's disk is full, Backup fails and removes the
// copy, and the store goes on.
//
// The directory gets its name when the copy is complete. Without the log, which is copied last, a
// copy would open as a store without its newest tasks. A crash leaves a directory whose name ends
// in ".incomplete-" and an id; nothing uses it.
func (s *Store) Backup(dir string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.fault.get(); err != nil {
		return err
	}
	if s.disk.low() {
		return fmt.Errorf("back up to %s: %w: the disk is nearly full", dir, bellman.ErrFull)
	}
	if inside(s.dir, dir) {
		return fmt.Errorf("back up to %s: it is inside the store's own directory: name one outside %s (%w)", dir, s.dir, fs.ErrInvalid)
	}
	dir = filepath.Clean(dir)
	parent := s.fs.PathDir(dir)
	if in, err := s.fs.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up to %s: %s does not exist: create it first (%w)", dir, parent, fs.ErrNotExist)
	} else if err == nil && !in.IsDir() {
		return fmt.Errorf("back up to %s: %s is no directory (%w)", dir, parent, fs.ErrInvalid)
	}
	if _, err := s.fs.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up to %s: %w", dir, cmp.Or(err, fs.ErrExist))
	}
	part := dir + ".incomplete-" + bellman.NewID().String()
	for _, dir := range []string{dir, part} {
		end, ok := s.disk.copyTo(dir)
		if !ok {
			return fmt.Errorf("back up to %s: another backup is being written there (%w)", dir, fs.ErrExist)
		}
		defer end()
	}
	err := s.db.Checkpoint(part, lsm.WithFlushedWAL())
	if err == nil {
		err = s.complete(part, dir)
	}
	if err != nil {
		return fmt.Errorf("back up to %s: %w", dir, err)
	}
	return nil
}

// complete gives a complete copy its name.
func (s *Store) complete(part, dir string) error {
	if err := s.disk.FS.Rename(part, dir); err != nil { // without waiting for space
		return errors.Join(err, s.fs.RemoveAll(part))
	}
	parent, err := s.fs.OpenDir(s.fs.PathDir(dir))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// inside reports whether path is dir or below dir. It resolves links in the existing part of path.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(follow(dir), filepath.Join(follow(filepath.Dir(path)), filepath.Base(path)))
	return err == nil && filepath.IsLocal(rel)
}

func follow(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	return path
}

// Figures implements [store.Figures]. A broken store has no figures.
func (s *Store) Figures() []store.Figure {
	if s.enter() != nil {
		return nil
	}
	defer s.leave()
	if s.fault.get() != nil {
		return nil
	}
	m := s.db.Metrics()
	free, full := 0.0, 0.0
	if use, err := s.disk.GetDiskUsage(s.dir); err == nil {
		free = float64(use.AvailBytes)
	}
	if s.disk.low() {
		full = 1
	}
	return []store.Figure{
		{Name: "disk_bytes", Help: "Bytes on disk.", Value: float64(m.DiskSpaceUsage())},
		{Name: "free_bytes", Help: "Free bytes on the disk; 0: unknown.", Value: free},
		{Name: "wal_bytes", Help: "Size of the write-ahead log.", Value: float64(m.WAL.PhysicalSize)},
		{Name: "cache_bytes", Help: "Size of the block cache.", Value: float64(m.BlockCache.Size)},
		{Name: "cache_hits_total", Help: "Reads of blocks from the cache.", Counter: true, Value: float64(m.BlockCache.Hits)},
		{Name: "cache_misses_total", Help: "Reads of blocks from disk.", Counter: true, Value: float64(m.BlockCache.Misses)},
		{Name: "memtable_bytes", Help: "Bytes in memtables.", Value: float64(m.MemTable.Size)},
		{Name: "read_amplification", Help: "Most files that one read may need.", Value: float64(m.ReadAmp())},
		{Name: "compaction_debt_bytes", Help: "Bytes that compaction still has to rewrite.", Value: float64(m.Compact.EstimatedDebt)},
		{Name: "compactions_total", Help: "Compactions.", Counter: true, Value: float64(m.Compact.Count)},
		{Name: "flushes_total", Help: "Memtables that were written to files.", Counter: true, Value: float64(m.Flush.Count)},
		{Name: "write_stalls_total", Help: "How often writes waited for compaction.", Counter: true, Value: float64(s.stalls.Load())},
		{Name: "disk_full", Help: "1 while the disk has no room for new tasks.", Value: full},
	}
}

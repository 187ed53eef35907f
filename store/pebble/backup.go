package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// Backup makes a copy of the store, as it is at one moment, in a directory
// that must not exist yet; its parent must, outside the store's own. Commits go on meanwhile. On the
// same file system it takes little space at first: files that never change are
// linked, not copied. The copy is a data directory like any other.
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
	parent := s.fs.PathDir(dir)
	if in, err := s.fs.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up to %s: %s does not exist: create it first (%w)", dir, parent, fs.ErrNotExist)
	} else if err == nil && !in.IsDir() {
		return fmt.Errorf("back up to %s: %s is no directory (%w)", dir, parent, fs.ErrInvalid)
	}
	if err := s.db.Checkpoint(dir, lsm.WithFlushedWAL()); err != nil {
		return fmt.Errorf("back up to %s: %w", dir, err)
	}
	return nil
}

// inside reports whether path is dir or somewhere in it. Links are followed as
// far as there is something.
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

// Metrics are figures of the moment, for monitoring.
type Metrics struct {
	DiskBytes      uint64 // of all files
	WALBytes       uint64 // of them, the log
	FreeBytes      uint64 // on the disk; 0 if it cannot be told
	CacheBytes     int64  // blocks kept in memory
	CacheHits      int64  // since the store was opened
	CacheMisses    int64
	MemTableBytes  uint64
	ReadAmp        int    // files that a read may have to look at
	CompactionDebt uint64 // bytes that wait to be sorted
	Compactions    int64  // since the store was opened
	Flushes        int64
	WriteStalls    int64 // times that commits had to wait for them
	Full           bool  // a write waits for space, or Adds are refused
}

// Metrics reads the figures. They are zero when the store is closed or broken.
func (s *Store) Metrics() Metrics {
	if s.enter() != nil {
		return Metrics{}
	}
	defer s.leave()
	if s.fault.get() != nil {
		return Metrics{}
	}
	m := s.db.Metrics()
	out := Metrics{
		DiskBytes:      m.DiskSpaceUsage(),
		WALBytes:       m.WAL.PhysicalSize,
		CacheBytes:     m.BlockCache.Size,
		CacheHits:      m.BlockCache.Hits,
		CacheMisses:    m.BlockCache.Misses,
		MemTableBytes:  m.MemTable.Size,
		ReadAmp:        m.ReadAmp(),
		CompactionDebt: m.Compact.EstimatedDebt,
		Compactions:    m.Compact.Count,
		Flushes:        m.Flush.Count,
		WriteStalls:    s.stalls.Load(),
		Full:           s.disk.low(),
	}
	if use, err := s.disk.GetDiskUsage(s.dir); err == nil {
		out.FreeBytes = use.AvailBytes
	}
	return out
}

package pebble

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// Options configure a store. The zero value suits most deployments.
type Options struct {
	FS            vfs.FS // file system; default: the operating system's
	CacheBytes    int64  // block cache; default 64 MiB, at least 4 × MemTableBytes
	MemTableBytes int64  // memory for recent writes, before a flush to files; default 16 MiB
	Shards        int    // used only when a store is created; default 64
	MustExist     bool   // if there is no store, Open returns ErrNoStore and creates no files

	// ReserveBytes of free disk space are reserved for Changes. Below the reserve, Adds are
	// rejected. Default: 256 MiB, or a twentieth of the disk if that is less. Negative: no reserve.
	// Free space is checked ten times a second.
	ReserveBytes int64

	Logger *slog.Logger // default: discards
}

// schemaVersion is the layout that this code reads and writes.
const schemaVersion = 2

// formatVersion is pinned, so that a newer LSM engine keeps files readable for an older bellman.
const formatVersion = lsm.FormatTableFormatV6

// ErrNoStore is returned by Open if Options.MustExist is set and the directory has no store.
var ErrNoStore = errors.New("there is no store")

// A Store is an open directory. Its methods are safe for concurrent use.
type Store struct {
	dir  string
	fs   vfs.FS
	db   *lsm.DB
	lock *lsm.Lock
	log  *slog.Logger
	disk *disk

	life   sync.RWMutex // held for reading by each call, for writing by Close
	closed bool
	fault  fault
	stalls atomic.Int64 // number of commits that waited for compactions

	// Used only by the committer, under mu.
	mu      sync.Mutex
	rows    rows
	batch   *lsm.Batch
	stage   stage
	stalled *stalled // a write whose caller got ErrUnknown; nil: none
	newest  bellman.ID
	audits  uint64 // sequence number of the next audit record
	pruned  [4]bellman.ID

	queues queues
	shards shards
	front  front

	seekers seekers
}

var _ interface {
	store.Store
	store.Traits
	store.Health
	store.Backup
} = (*Store)(nil)

// Open opens the store in a directory. If the directory is empty or new, Open creates a store. Open
// fails if another process has the store open, if a newer bellman wrote it, or if the directory
// holds unrelated files. Open adds no files to a directory with unrelated files.
func Open(dir string, o Options) (*Store, error) {
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, 16<<20)
	o.Shards = cmp.Or(o.Shards, 64)
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case dir == "":
		return nil, errors.New("pebble: the directory has no name: want one such as bellman-data")
	case o.MemTableBytes < 1<<20:
		return nil, fmt.Errorf("pebble: a memtable of %d bytes is too small: want at least 1 MiB", o.MemTableBytes)
	case o.CacheBytes < 4*o.MemTableBytes:
		// Memtables take their memory from the cache. A smaller cache would leave no blocks.
		return nil, fmt.Errorf("pebble: a cache of %d bytes is too small: want at least 4 × the memtable's %d", o.CacheBytes, o.MemTableBytes)
	case o.Shards < 1 || o.Shards > store.MaxShards:
		return nil, fmt.Errorf("pebble: %d shards: want 1 to %d", o.Shards, store.MaxShards)
	}

	s := &Store{dir: dir, log: o.Logger, disk: newDisk(o.FS, dir, o.ReserveBytes), fault: fault{done: make(chan struct{})},
		front: front{low: firstPosition, write: lastPosition}, seekers: seekers{idle: map[byte][]*lsm.Iterator{}}}
	s.fs = s.disk
	if err := s.open(o); err != nil {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		if s.lock != nil {
			err = errors.Join(err, s.lock.Close())
		}
		return nil, fmt.Errorf("open data directory %s: %w", dir, err)
	}
	return s, nil
}

func (s *Store) open(o Options) (err error) {
	start := time.Now()
	defer func() {
		// Until the store is open, a failed write is the error of Open and does not break the
		// store.
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
			s.db = nil
		}
		s.disk.patient.Store(err == nil)
		s.fault.armed.Store(err == nil)
	}()
	// Check before any file is created: the lock is a file in the directory too.
	there, err := exists(s.dir, s.fs)
	if err != nil {
		return err
	}
	if !there {
		if o.MustExist {
			return ErrNoStore
		}
		if err := vacant(s.dir, s.fs); err != nil {
			return err
		}
		if err := s.fs.MkdirAll(s.dir, ownDir); err != nil {
			return err
		}
	}
	if s.lock, err = lockDirectory(s.dir, s.fs); err != nil {
		return err
	}
	if err := s.disk.seal(); err != nil {
		return err
	}
	if s.db, err = lsm.Open(s.dir, s.tuning(o)); err != nil {
		return err
	}
	s.batch = s.db.NewBatch(lsm.WithMaxRetainedSizeBytes(4 << 20))
	if err := s.readMeta(o.Shards); err != nil {
		return err
	}
	if err := s.readQueues(); err != nil {
		return err
	}
	if err := s.readShards(); err != nil {
		return err
	}
	if err := s.readNewest(); err != nil {
		return err
	}
	s.log.Debug("store opened", "dir", s.dir, "took", time.Since(start))
	return nil
}

// exists reports whether a directory contains a store, open or closed.
func exists(dir string, fsys vfs.FS) (bool, error) {
	have, err := lsm.Peek(dir, fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return have.Exists, nil
}

// begun matches files left by a process that died while it created a store, and files that a file
// system keeps at its root.
var begun = regexp.MustCompile(`^(LOCK|lost\+found|marker\..+|(MANIFEST|OPTIONS)-\d+|(temporary\.)?\d{6,}\.(log|dbtmp))$`)

// vacant returns an error if a directory holds unrelated files.
func vacant(dir string, fsys vfs.FS) error {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(name string) bool { return !begun.MatchString(name) }) {
		return errors.New("it is not empty and holds no bellman store: name an empty or new directory")
	}
	return nil
}

// lockDirectory locks dir against other processes.
func lockDirectory(dir string, fsys vfs.FS) (*lsm.Lock, error) {
	lock, err := lsm.LockDirectory(dir, fsys)
	if _, is := errors.AsType[*fs.PathError](err); err != nil && !is { // a PathError: the lock file cannot be created
		return nil, fmt.Errorf("it is in use by another process, or was opened by this one before: close it there, or use another directory (%w)", err)
	}
	return lock, err
}

// tuning returns the engine's settings. They were measured to be fast for this layout.
func (s *Store) tuning(o Options) *lsm.Options {
	opts := &lsm.Options{
		FS:                          s.fs,
		Lock:                        s.lock,
		FormatMajorVersion:          formatVersion,
		CacheSize:                   o.CacheBytes,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       12, // six overlapping flushes; with two, twice as much is compacted
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		MaxOpenFiles:                1000,
		Logger:                      logger{s},
		EventListener:               s.listener(),
	}
	// Row-oriented blocks: columnar blocks cost a seventh more CPU per task here, and reads are no
	// faster.
	opts.Experimental.EnableColumnarBlocks = func() bool { return false }
	// No compactions for the sake of tombstones: most flushed rows of ended tasks are tombstones,
	// and the next compaction of their level drops them. Scans skip them by the front and by the
	// marks of Prune.
	opts.Experimental.TombstoneDenseCompactionThreshold = -1
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = 16 << 10
		opts.Levels[i].IndexBlockSize = 64 << 10
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		opts.Levels[i].FilterType = lsm.TableFilter
	}
	return opts
}

// readMeta checks the schema version, or writes it to a new store.
func (s *Store) readMeta(shards int) error {
	version, found, err := s.meta("schema")
	switch {
	case err != nil:
		return err
	case !found:
		return s.create(shards)
	case version > schemaVersion:
		return fmt.Errorf("it was written by a newer bellman (schema %d, this one knows %d): use that version, or restore a backup made before the upgrade", version, schemaVersion)
	case version < schemaVersion:
		return fmt.Errorf("it was written by a bellman from before the first release (schema %d, this one knows %d): use that build, or a new directory", version, schemaVersion)
	}
	count, found, err := s.meta("shards")
	if err != nil || !found || count < 1 {
		return errors.Join(errors.New("number of shards is missing"), err)
	}
	s.shards.list = make([]store.Shard, count)
	return nil
}

// create writes the initial rows of a new store.
func (s *Store) create(shards int) error {
	empty, err := s.empty()
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("it holds a database of another program: use another directory")
	}
	defer s.batch.Reset()
	for i := range shards {
		if err := s.batch.Set(shardKey(nil, uint16(i)), appendShard(nil, store.Shard{}), nil); err != nil {
			return err
		}
	}
	if err := s.batch.Set(metaKey("shards"), binary.AppendUvarint(nil, uint64(shards)), nil); err != nil {
		return err
	}
	if err := s.batch.Set(metaKey("schema"), binary.AppendUvarint(nil, schemaVersion), nil); err != nil {
		return err
	}
	s.shards.list = make([]store.Shard, shards)
	return s.write()
}

func (s *Store) empty() (bool, error) {
	iter, err := s.db.NewIter(nil)
	if err != nil {
		return false, err
	}
	found := iter.First()
	return !found, iter.Close()
}

// meta reads a number of the meta table.
func (s *Store) meta(name string) (n uint64, found bool, err error) {
	row, closer, err := s.db.Get(metaKey(name))
	if errors.Is(err, lsm.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	p := pack.Read(row)
	n = p.Uvarint()
	return n, true, errors.Join(p.End(), closer.Close())
}

// readNewest finds the greatest id, the number of the next audit record, and whether any due entry
// is before 1970. Due entries before 1970 are rare.
func (s *Store) readNewest() error {
	iter, err := s.db.NewIter(nil)
	if err != nil {
		return err
	}
	if iter.SeekLT([]byte{tableCold + 1}) && iter.Key()[0] == tableCold {
		s.newest = idOf(iter.Key())
	}
	if iter.SeekLT([]byte{tableAudit + 1}) && iter.Key()[0] == tableAudit {
		_, s.audits = parseAuditKey(iter.Key())
		s.audits++
	}
	if epoch := dueKey(nil, 0, bellman.ID{}); !iter.SeekLT(epoch) || iter.Key()[0] != tableDue {
		s.front.low = position{}
	}
	return iter.Close()
}

// Close waits for calls in flight and closes the store. Later calls return ErrClosed. A second
// Close does nothing. Close does not wait for a full or broken disk, because committed data is
// already on it.
func (s *Store) Close() error {
	s.disk.giveUp()
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.stalled != nil {
		select {
		case <-s.stalled.done:
		case <-s.fault.done:
		}
	}
	if err := s.fault.get(); err != nil {
		return err // the engine may hang; the directory stays locked until the process ends
	}
	s.seekers.wrote()
	return errors.Join(s.batch.Close(), s.db.Close(), s.lock.Close())
}

// enter begins a call. If enter returns no error, the caller must call leave.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return bellman.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// Use reports exclusive use: the directory is locked, so no other process writes to the store.
func (s *Store) Use() store.Use { return store.Use{Exclusive: true} }

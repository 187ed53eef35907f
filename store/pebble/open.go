package pebble

import (
	"cmp"
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

// Options are how a store is kept. The zero value is what most should use.
type Options struct {
	FS            vfs.FS // default: the operating system's
	CacheBytes    int64  // for blocks read from disk; default 64 MiB, at least 4 × MemTableBytes
	MemTableBytes int64  // written but not yet sorted into files; default 16 MiB
	Shards        int    // of a store that is created; default 64; one that exists keeps its own
	MustExist     bool   // create none: Open returns ErrNoStore where there is no store, and leaves nothing behind

	// ReserveBytes of free disk space are kept for Changes: below it Adds are
	// refused. Default 256 MiB, or a twentieth of the disk if that is less.
	// Negative: no reserve. The free space is looked at ten times a second.
	ReserveBytes int64

	Logger *slog.Logger // default: discards
}

// schemaVersion is the layout that this code reads and writes.
const schemaVersion = 1

// formatVersion is pinned, so that a newer version of the LSM engine does not
// change files in a way that an older bellman cannot read.
const formatVersion = lsm.FormatTableFormatV6

// ErrNoStore is returned by Open when a directory has no store, and
// Options.MustExist says not to create one.
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
	stalls atomic.Int64 // times that commits had to wait for compactions

	// The committer's own, under mu.
	mu      sync.Mutex
	batch   *lsm.Batch
	stage   stage
	stalled *stalled // a write that nobody waits for any longer; nil: none
	newest  bellman.ID
	audits  uint64 // the next audit record's number
	pruned  [4]bellman.ID

	queues queues
	shards shards
	front  front
}

var _ interface {
	store.Store
	store.Traits
	store.Health
	store.Backup
} = (*Store)(nil)

// Open opens the store in a directory, and creates it if there is none and the
// directory is empty or new. It fails if another process has it open, if it was
// written by a newer version of bellman, or if the directory holds files of
// something else, to which it adds nothing.
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
	case o.MemTableBytes < 1<<20:
		return nil, fmt.Errorf("pebble: a memtable of %d bytes is too small: want at least 1 MiB", o.MemTableBytes)
	case o.CacheBytes < 4*o.MemTableBytes:
		// Memtables are reserved out of the cache: with less there would be none.
		return nil, fmt.Errorf("pebble: a cache of %d bytes is too small: want at least 4 × the memtable's %d", o.CacheBytes, o.MemTableBytes)
	case o.Shards < 1 || o.Shards > 1<<15:
		return nil, fmt.Errorf("pebble: %d shards: want 1 to %d", o.Shards, 1<<15)
	}

	s := &Store{dir: dir, log: o.Logger, disk: newDisk(o.FS, dir, o.ReserveBytes), fault: fault{done: make(chan struct{})},
		front: front{low: firstPosition, write: lastPosition}}
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
		// Until the store is open a write that fails is no fault to live with,
		// but the answer to Open.
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
			s.db = nil
		}
		s.disk.patient.Store(err == nil)
		s.fault.armed.Store(err == nil)
	}()
	// Before anything is made: the lock is a file of the directory too.
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

// exists reports whether there is a store in a directory, open or not.
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

// begun matches what is left in a directory when the process dies while a store
// is created there, and what a file system keeps at its root.
var begun = regexp.MustCompile(`^(LOCK|lost\+found|marker\..+|(MANIFEST|OPTIONS)-\d+|(temporary\.)?\d{6,}\.(log|dbtmp))$`)

// vacant returns an error if a directory has files of somebody else.
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

// lockDirectory keeps every other process out of dir.
func lockDirectory(dir string, fsys vfs.FS) (*lsm.Lock, error) {
	lock, err := lsm.LockDirectory(dir, fsys)
	var path *fs.PathError
	if err != nil && !errors.As(err, &path) { // a PathError: the lock file cannot be created
		return nil, fmt.Errorf("it is in use by another process: stop that one, or use another directory (%w)", err)
	}
	return lock, err
}

// tuning is what was measured to be fast for this layout.
func (s *Store) tuning(o Options) *lsm.Options {
	opts := &lsm.Options{
		FS:                          s.fs,
		Lock:                        s.lock,
		FormatMajorVersion:          formatVersion,
		CacheSize:                   o.CacheBytes,
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		MaxOpenFiles:                1000,
		Logger:                      logger{s},
		EventListener:               s.listener(),
	}
	// Blocks in rows: making blocks in columns costs a seventh more processor time
	// a task, and reading them is no quicker here.
	opts.Experimental.EnableColumnarBlocks = func() bool { return false }
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = 16 << 10
		opts.Levels[i].IndexBlockSize = 64 << 10
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		opts.Levels[i].FilterType = lsm.TableFilter
	}
	return opts
}

// readMeta checks the schema version, or writes it in a store just created.
func (s *Store) readMeta(shards int) error {
	version, found, err := s.meta("schema")
	switch {
	case err != nil:
		return err
	case !found:
		return s.create(shards)
	case version > schemaVersion:
		return fmt.Errorf("it was written by a newer bellman (schema %d, this one knows %d): use that version, or restore a backup made before the upgrade", version, schemaVersion)
	}
	count, found, err := s.meta("shards")
	if err != nil || !found || count < 1 {
		return errors.Join(errors.New("number of shards is missing"), err)
	}
	s.shards.list = make([]store.Shard, count)
	return nil
}

// create writes what a new store begins with.
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
	if err := s.batch.Set(metaKey("shards"), appendUint(nil, uint64(shards)), nil); err != nil {
		return err
	}
	if err := s.batch.Set(metaKey("schema"), appendUint(nil, schemaVersion), nil); err != nil {
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

// readNewest finds the greatest id, the number of the next audit record, and
// whether the due entries begin before 1970, which they usually do not.
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

// Close waits for calls in flight and closes the store. Later calls return
// ErrClosed; closing again does nothing. It does not wait for a disk that is
// full or broken: what was answered is on it already.
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
	return errors.Join(s.batch.Close(), s.db.Close(), s.lock.Close())
}

// enter begins a call: the caller must leave if there is no error.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return bellman.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// Use says that nobody but this process writes to the store: the directory is locked.
func (s *Store) Use() store.Use { return store.Use{Exclusive: true} }

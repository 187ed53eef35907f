package pebble

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// A fault is the first failure after which the store cannot go on.
type fault struct {
	armed atomic.Bool  // the store is open; before, a failure is the answer to Open
	said  atomic.Int64 // when background work that failed was last told, Unix ns
	cause atomic.Pointer[error]
	done  chan struct{}
}

func (f *fault) set(err error) {
	if f.cause.CompareAndSwap(nil, &err) {
		close(f.done)
	}
}

func (f *fault) get() error {
	if err := f.cause.Load(); err != nil {
		return fmt.Errorf("store is broken, start the process again: %w", *err)
	}
	return nil
}

// Broken is closed when a write failed in a way after which nothing can be
// accepted any more: an I/O error, not a full disk. [Store.Health] says why. What
// was answered before is safe, and starting the process again recovers it.
func (s *Store) Broken() <-chan struct{} { return s.fault.done }

// Health says why the store is broken, if it is. ErrFull: there is no room for new tasks.
func (s *Store) Health() error {
	if err := s.fault.get(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if s.disk.low() {
		return bellman.ErrFull
	}
	return nil
}

// A logger passes on what the LSM engine says.
type logger struct{ s *Store }

func (l logger) Infof(text string, args ...any) { l.s.log.Debug(fmt.Sprintf(text, args...)) }

func (l logger) Errorf(text string, args ...any) { l.s.log.Error(fmt.Sprintf(text, args...)) }

// Fatalf breaks the store. It never returns: the engine relies on that, and
// would go on with a state that is not on disk. The process lives, so that it
// can say what happened.
func (l logger) Fatalf(text string, args ...any) {
	err := fmt.Errorf(text, args...)
	if !l.s.fault.armed.Load() {
		panic(err)
	}
	l.s.log.Error("store is broken", "err", err)
	l.s.fault.set(err)
	select {}
}

const (
	sayEach   = 5 * time.Second        // between two lines of the log about background work that fails
	openAgain = 500 * time.Millisecond // between two tries of a store that opens: the engine makes none
)

func (s *Store) listener() *lsm.EventListener {
	return &lsm.EventListener{
		BackgroundError: func(err error) {
			if errors.Is(err, lsm.ErrCancelledCompaction) {
				return
			}
			if now := time.Now().UnixNano(); now-s.fault.said.Load() > int64(sayEach) {
				s.fault.said.Store(now)
				s.log.Warn("store's background work failed, is tried again; if the disk is full, make room", "err", err)
			}
			if !s.fault.armed.Load() {
				time.Sleep(openAgain)
			}
		},
		WriteStallBegin: func(info lsm.WriteStallBeginInfo) {
			s.stalls.Add(1)
			s.log.Warn("store holds back writes until its files are sorted", "reason", info.Reason)
		},
		WriteStallEnd: func() { s.log.Info("store takes writes again") },
	}
}

// A stalled write is one whose caller was told that its outcome is unknown.
type stalled struct {
	done  chan error
	apply func() // what to do in memory if it succeeds after all
}

// patience is how long a caller waits for a disk that is full.
const patience = 3 * time.Second

// write commits s.batch, synced. The error is ErrUnknown when it may have been
// written.
func (s *Store) write() error { return s.writeThen(func() {}) }

// writeThen commits s.batch, synced, and calls apply once it is written: before
// it returns, or before the next commit if its outcome was unknown meanwhile.
func (s *Store) writeThen(apply func()) error {
	done := make(chan error, 1)
	go func(batch *lsm.Batch) {
		defer func() {
			if r := recover(); r != nil { // the engine panics when its log cannot be written
				l := logger{s}
				l.Fatalf("%v", r)
			}
		}()
		done <- batch.Commit(lsm.Sync)
	}(s.batch)

	tick := time.NewTimer(patience)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return s.written(err, apply)
		case <-s.fault.done:
			return fmt.Errorf("%w: %w", bellman.ErrUnknown, s.fault.get())
		case <-tick.C:
			if s.disk.full(patience) {
				s.stalled = &stalled{done, apply}
				s.batch = s.db.NewBatch(lsm.WithMaxRetainedSizeBytes(4 << 20))
				return fmt.Errorf("%w: disk is full, the write waits for space", bellman.ErrUnknown)
			}
			tick.Reset(patience / 4)
		case <-s.disk.stop:
			// Closing: a write that waits for space will not end well.
			select {
			case err := <-done:
				return s.written(err, apply)
			case <-s.fault.done:
				return fmt.Errorf("%w: %w", bellman.ErrUnknown, s.fault.get())
			}
		}
	}
}

func (s *Store) written(err error, apply func()) error {
	s.batch.Reset()
	if err != nil {
		return err
	}
	apply()
	return nil
}

// ready reports why nothing can be written now; nil if it can. Under mu.
func (s *Store) ready() error {
	if err := s.fault.get(); err != nil {
		return err
	}
	if s.stalled == nil {
		return nil
	}
	select {
	case err := <-s.stalled.done:
		if err == nil {
			s.stalled.apply()
		}
		s.stalled = nil
		return s.ready()
	default:
		return fmt.Errorf("%w: disk is full, an earlier write waits for space", bellman.ErrFull)
	}
}

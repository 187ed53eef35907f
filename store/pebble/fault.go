package pebble

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
)

// A fault is the first failure after which the store cannot continue.
type fault struct {
	armed atomic.Bool  // the store is open; before, a failure is the error of Open
	said  atomic.Int64 // last time a background failure was logged, Unix ns
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

// Broken is closed when a write error other than a full disk stops the store, such as an I/O error.
// [Store.Health] returns the reason. Earlier commits are safe. Restart the process to recover the
// store.
func (s *Store) Broken() <-chan struct{} { return s.fault.done }

// Health returns the error that broke the store, if any. ErrFull: there is no room for new tasks.
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

// A logger forwards the log of the LSM engine.
type logger struct{ s *Store }

func (l logger) Infof(text string, args ...any) { l.s.log.Debug(fmt.Sprintf(text, args...)) }

func (l logger) Errorf(text string, args ...any) { l.s.log.Error(fmt.Sprintf(text, args...)) }

// Fatalf breaks the store. Fatalf never returns, because the engine would otherwise continue with a
// state that is not on disk. The process stays alive to report the error.
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
	sayEach   = 5 * time.Second        // minimum time between two log lines about background failures
	openAgain = 500 * time.Millisecond // delay between two tries of Open's background work: the engine has none
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

// A stalled write is a write whose caller got ErrUnknown.
type stalled struct {
	done  chan error
	apply func() // updates memory if the write succeeds later
}

// patience is the longest time that a caller waits for a full disk.
const patience = 3 * time.Second

// write commits s.batch, synced. ErrUnknown: the batch may have been written.
func (s *Store) write() error { return s.writeThen(func() {}) }

// writeThen commits s.batch, synced, and calls apply after the write. apply runs before writeThen
// returns. If writeThen returned ErrUnknown, apply runs before the next commit.
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
			// Closing: a write that waits for space will fail.
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
	s.seekers.wrote()
	apply()
	return nil
}

// ready returns the reason why no write is possible now; nil if writes are possible. Under mu.
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
			s.seekers.wrote()
			s.stalled.apply()
		}
		s.stalled = nil
		return s.ready()
	default:
		return fmt.Errorf("%w: disk is full, an earlier write waits for space", bellman.ErrFull)
	}
}

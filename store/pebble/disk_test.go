package pebble

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/store"
)

// A quota is a file system in memory with limited space. A write that does not fit writes as much
// as fits, like a disk. The limit can apply to one kind of file only. Otherwise the log and a flush
// would race for the last space, and what a caller is told depends on the winner.
type quota struct {
	vfs.FS
	mu    sync.Mutex
	space int64
	used  map[string]int64
	tell  bool   // reports the free space, so that the reserve works
	only  string // suffix of the files that take space; empty: all files
}

func newQuota(space int64, tell bool) *quota {
	return &quota{FS: vfs.NewCrashableMem(), space: space, used: map[string]int64{}, tell: tell}
}

// grow adds n bytes to the space.
func (q *quota) grow(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.space += n
}

func (q *quota) free() int64 {
	free := q.space
	for _, n := range q.used {
		free -= n
	}
	return free
}

// take takes up to n bytes for a file, and returns how many it took.
func (q *quota) take(name string, n int64) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !strings.HasSuffix(name, q.only) {
		return n
	}
	n = min(n, max(q.free(), 0))
	q.used[name] += n
	return n
}

func (q *quota) move(old, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n, ok := q.used[old]; ok {
		q.used[name] = n
		delete(q.used, old)
	}
}

func (q *quota) GetDiskUsage(string) (vfs.DiskUsage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.tell {
		return vfs.DiskUsage{}, vfs.ErrUnsupported
	}
	return vfs.DiskUsage{TotalBytes: uint64(q.space), AvailBytes: uint64(max(q.free(), 0))}, nil
}

func (q *quota) file(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &quotaFile{File: f, q: q, name: name}, nil
}

func (q *quota) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	q.mu.Lock()
	delete(q.used, name)
	q.mu.Unlock()
	f, err := q.FS.Create(name, c)
	return q.file(name, f, err)
}

func (q *quota) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	q.move(old, name)
	f, err := q.FS.ReuseForWrite(old, name, c)
	return q.file(name, f, err)
}

func (q *quota) Rename(old, name string) error {
	q.move(old, name)
	return q.FS.Rename(old, name)
}

func (q *quota) Remove(name string) error {
	q.mu.Lock()
	delete(q.used, name)
	q.mu.Unlock()
	return q.FS.Remove(name)
}

func (q *quota) Unwrap() vfs.FS { return q.FS }

type quotaFile struct {
	vfs.File
	q    *quota
	name string
}

func (f *quotaFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:f.q.take(f.name, int64(len(p)))])
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// fillUp adds tasks until one is rejected. It returns the accepted tasks and the error.
func fillUp(t *testing.T, s *Store, batches int) (kept []*bellman.Task, err error) {
	t.Helper()
	for range batches {
		b := newTasks(64)
		if err := s.Commit(t.Context(), b); err != nil {
			return kept, err
		}
		for _, a := range b.Adds {
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			kept = append(kept, a.Task)
		}
	}
	return kept, nil
}

// newTasks returns a batch of n new tasks with keys, due now.
func newTasks(n int) *store.Batch {
	b := &store.Batch{}
	now := time.Now()
	for range n {
		id := bellman.NewID()
		b.Adds = append(b.Adds, store.Add{Task: &bellman.Task{ID: id, Queue: "q", Key: id.String(), MerchantNo: "m", OrderNo: id.String(),
			Body: []byte(strings.Repeat(id.String(), 10)), Status: bellman.Status{Version: 1, Due: now, VisibleAt: now}}})
	}
	return b
}

// sound checks that every kept task exists and that Check finds nothing wrong.
func sound(t *testing.T, s *Store, kept []*bellman.Task) {
	t.Helper()
	// This reads in pages: under the race detector the engine takes a stack trace of each read.
	there := map[bellman.ID]string{}
	for before := (bellman.ID{}); ; {
		tasks, next, err := s.List(t.Context(), store.Filter{}, before, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			there[task.ID] = task.Key
		}
		if next.IsZero() {
			break
		}
		before = next
	}
	for _, task := range kept {
		if key, ok := there[task.ID]; !ok || key != task.Key {
			t.Fatalf("task %v: key = %q, there = %t; it was accepted with key %q", task.ID, key, ok, task.Key)
		}
	}
	report, err := s.Check(t.Context())
	if err != nil || report.Wrong != 0 {
		t.Fatalf("Check() found %d problems, %v: %.500q; want none", report.Wrong, err, report.Problems)
	}
	if report.Tasks < int64(len(kept)) {
		t.Fatalf("Check() saw %d tasks, want %d", report.Tasks, len(kept))
	}
}

func TestReserve(t *testing.T) {
	q := newQuota(64<<20, true)
	o := small(q)
	o.ReserveBytes = 32 << 20
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept, err := fillUp(t, s, 100)
	if err != nil {
		t.Fatalf("Commit() = %v with room left", err)
	}
	q.grow(-40 << 20)
	s.disk.checked.Store(0)
	b := newTasks(3)
	b.Adds[1].Task.Key, b.Adds[1].Task.ID = kept[0].Key, kept[0].ID
	alone := newTasks(3)
	if err := s.Commit(t.Context(), alone); err != nil || !errors.Is(alone.Adds[2].Err, bellman.ErrFull) {
		t.Errorf("Commit(adds) = %v, %v; want ErrFull of each add alone", err, alone.Adds[2].Err)
	}
	whole := newTasks(1)
	whole.Docs = []store.Doc{{Kind: "k", Name: "n", Value: []byte("1"), Was: []byte{}}}
	if err := s.Commit(t.Context(), whole); !errors.Is(err, bellman.ErrFull) {
		t.Errorf("Commit(an add and a document with a Was) = %v, want ErrFull", err)
	}
	if _, err := store.ReadDoc(t.Context(), s, "k", "n"); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("Doc() after that = %v, want ErrNotFound", err)
	}

	// Adds are rejected one by one; a repeated add is answered.
	b.Changes = []store.Change{{ID: kept[1].ID, Version: 1, To: bellman.Status{State: bellman.Succeeded, Attempts: 1},
		Attempt: &bellman.Attempt{Number: 1}}}
	if err := s.Commit(t.Context(), b); err != nil || b.Changes[0].Err != nil {
		t.Errorf("Commit(changes) = %v, %v; want them written, into the reserved space", err, b.Changes[0].Err)
	}
	if !errors.Is(b.Adds[0].Err, bellman.ErrFull) || b.Adds[1].Err != nil || b.Adds[1].Existing != kept[0].ID {
		t.Errorf("Adds = %v, %v; want ErrFull, and the existing task", b.Adds[0].Err, b.Adds[1].Err)
	}
	if figure(s, "disk_full") != 1 {
		t.Error("the figure disk_full is not 1 on a full disk")
	}

	q.grow(40 << 20)
	s.disk.checked.Store(0)
	if err := s.Commit(t.Context(), newTasks(3)); err != nil {
		t.Errorf("Commit() = %v with room again", err)
	}
	sound(t, s, kept)
}

func TestFullDisk(t *testing.T) {
	q := newQuota(2<<20, false)
	q.only = ".log"
	s, err := Open("data", small(q))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept, err := fillUp(t, s, 10_000)
	if !errors.Is(err, bellman.ErrUnknown) {
		t.Fatalf("Commit() = %v when the disk was full, want ErrUnknown", err)
	}
	for range 3 {
		if err := s.Commit(t.Context(), newTasks(1)); !errors.Is(err, bellman.ErrFull) {
			t.Fatalf("Commit() = %v after that, want ErrFull", err)
		}
	}
	if _, err := s.Task(t.Context(), kept[0].ID); err != nil {
		t.Errorf("Task() = %v, want it readable", err)
	}

	// There is space again: the store goes on by itself, without a restart.
	q.grow(1 << 30)
	eventually.True(t, "a commit with space again", func() bool {
		err := s.Commit(t.Context(), newTasks(1))
		if err != nil && !errors.Is(err, bellman.ErrFull) {
			t.Fatalf("Commit() = %v with space again", err)
		}
		return err == nil
	})
	more, err := fillUp(t, s, 40)
	if err != nil {
		t.Fatal(err)
	}
	kept = append(kept, more...)
	sound(t, s, kept)

	// All tasks are on disk.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open("data", small(q))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	sound(t, again, kept)
}

// A change finds the tasks of a write that waited for space, although rows were read before it.
func TestChangeAfterFullDisk(t *testing.T) {
	q := newQuota(2<<20, false)
	q.only = ".log"
	s, err := Open("data", small(q))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := newTasks(64)
	for err = s.Commit(t.Context(), b); err == nil; err = s.Commit(t.Context(), b) {
		if _, err := s.Task(t.Context(), b.Adds[0].Task.ID); err != nil {
			t.Fatal(err)
		}
		b = newTasks(64)
	}
	if !errors.Is(err, bellman.ErrUnknown) {
		t.Fatalf("Commit() = %v when the disk was full, want ErrUnknown", err)
	}
	q.grow(1 << 30)
	end := &store.Batch{Changes: []store.Change{{ID: b.Adds[0].Task.ID, Version: 1, To: bellman.Status{State: bellman.Succeeded}}}}
	eventually.True(t, "a commit with space again", func() bool {
		err := s.Commit(t.Context(), end)
		if err != nil && !errors.Is(err, bellman.ErrFull) {
			t.Fatalf("Commit() = %v with space again", err)
		}
		return err == nil
	})
	if end.Changes[0].Err != nil {
		t.Errorf("Commit(change) = %v; want it written", end.Changes[0].Err)
	}
}

func TestFullDiskAtOpen(t *testing.T) {
	if s, err := Open("data", small(newQuota(100, false))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Open() on a full disk = %v, %v; want ENOSPC", s, err)
	}
}

// A failing disk breaks the store, and loses nothing that was answered.
func TestFailingDisk(t *testing.T) {
	for name, kind := range map[string]errorfs.OpKind{"write": errorfs.OpFileWrite, "sync": errorfs.OpFileSyncData} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			var failing toggle
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if failing.on() && op.Kind == kind && strings.HasSuffix(op.Path, ".log") {
					return errors.New("injected I/O error")
				}
				return nil
			}))
			s, err := Open("data", small(fs))
			if err != nil {
				t.Fatal(err)
			}
			kept, err := fillUp(t, s, 5) // few, because errorfs injects nothing into a reused log file
			if err != nil {
				t.Fatal(err)
			}
			failing.set(true)
			more, err := fillUp(t, s, 5)
			kept = append(kept, more...)
			if !errors.Is(err, bellman.ErrUnknown) || !strings.Contains(err.Error(), "injected") {
				t.Errorf("Commit() = %v, want ErrUnknown and the cause", err)
			}
			select {
			case <-s.Broken():
			default:
				t.Error("Broken() is not closed")
			}
			if err := s.Commit(t.Context(), newTasks(1)); err == nil || errors.Is(err, bellman.ErrUnknown) || s.Health() == nil {
				t.Errorf("Commit() on a broken store = %v, want an error with the cause, and nothing written", err)
			}
			if err := s.Close(); err == nil {
				t.Error("Close() of a broken store = nil, want the cause")
			}
			again, err := Open("data", small(mem.CrashClone(vfs.CrashCloneCfg{})))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			sound(t, again, kept)
		})
	}
}

// Close does not wait for a full disk, and loses nothing that was answered.
func TestCloseWhileFull(t *testing.T) {
	q := newQuota(2<<20, false)
	q.only = ".log"
	mem := q.FS.(*vfs.MemFS)
	s, err := Open("data", small(q))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := fillUp(t, s, 10_000)
	if !errors.Is(err, bellman.ErrUnknown) {
		t.Fatalf("Commit() = %v when the disk was full, want ErrUnknown", err)
	}
	if err := s.Close(); err == nil {
		t.Error("Close() = nil; want an error because a write was lost")
	}
	if err := s.Commit(t.Context(), newTasks(1)); !errors.Is(err, bellman.ErrClosed) {
		t.Errorf("Commit() after that = %v, want ErrClosed", err)
	}
	again, err := Open("data", small(mem.CrashClone(vfs.CrashCloneCfg{})))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	sound(t, again, kept)
}

// There is no room for a flush, but still room in the log. Adds are rejected one by one before any
// of them is written, and changes are written.
func TestFullWhileSorting(t *testing.T) {
	q := newQuota(1<<10, false)
	q.only = ".sst"
	mem := q.FS.(*vfs.MemFS)
	s, err := Open("data", small(q))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := fillUp(t, s, 5)
	if err != nil {
		t.Fatal(err)
	}
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		t.Fatal(err)
	}
	for s.disk.waiting.Load() == 0 {
		select {
		case <-flushed:
			t.Fatal("the flush had room, so the test shows nothing")
		default:
			runtime.Gosched()
		}
	}
	b := newTasks(3)
	if err := s.Commit(t.Context(), b); err != nil || !errors.Is(b.Adds[0].Err, bellman.ErrFull) {
		t.Errorf("Commit(adds) = %v, %v; want ErrFull of each add", err, b.Adds[0].Err)
	}
	if _, err := s.Task(t.Context(), b.Adds[0].Task.ID); !errors.Is(err, bellman.ErrNotFound) {
		t.Errorf("Task() of a rejected add = %v; want ErrNotFound", err)
	}
	end := &store.Batch{Changes: []store.Change{{ID: kept[0].ID, Version: 1, To: bellman.Status{State: bellman.Succeeded}}}}
	if err := s.Commit(t.Context(), end); err != nil || end.Changes[0].Err != nil {
		t.Errorf("Commit(change) = %v, %v; want it written", err, end.Changes[0].Err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close() = %v; want nil, because everything answered is in the log", err)
	}
	again, err := Open("data", small(mem.CrashClone(vfs.CrashCloneCfg{})))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	sound(t, again, kept)
	if got, err := again.Task(t.Context(), kept[0].ID); err != nil || got.State != bellman.Succeeded {
		t.Errorf("Task() = %v, %v; want it succeeded", got, err)
	}
}

// figure returns one of a store's figures, or 0 if there is none of that name.
func figure(s *Store, name string) float64 {
	for _, f := range s.Figures() {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}

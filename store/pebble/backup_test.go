package pebble

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestBackup(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	kept, err := fillUp(t, s, 50)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for range 100 {
			if err := s.Commit(bg, newTasks(20)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	if err := s.Backup("copy"); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup("copy"); err == nil {
		t.Error("Backup() to a directory that exists = nil, want an error")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	o := small(fs)
	restored, err := Open("copy", o)
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	sound(t, restored, kept)
	if err := restored.Commit(t.Context(), newTasks(1)); err != nil {
		t.Errorf("Commit() to the copy = %v", err)
	}
	if figure(s, "disk_bytes") == 0 || figure(s, "memtable_bytes") == 0 {
		t.Errorf("Figures() = %+v, want some", s.Figures())
	}
}

func TestBackupRefuses(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "data")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	link, file := filepath.Join(base, "link"), filepath.Join(base, "file")
	if err := errors.Join(os.Symlink(dir, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		dir:                                 "inside the store's own directory",
		filepath.Join(dir, "copy"):          "inside the store's own directory",
		filepath.Join(dir, "none", "copy"):  "inside the store's own directory",
		filepath.Join(link, "copy"):         "inside the store's own directory",
		filepath.Join(base, "none", "copy"): "none does not exist: create it first",
		filepath.Join(file, "copy"):         "file is no directory",
		filepath.Join(base, "link"):         "exists",
	} {
		if err := s.Backup(to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Backup(%s) = %v; want an error that says %q", to, err, want)
		}
		if err := s.Backup(to); !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Backup(%s) = %v; want an error of the file system, so that the caller sees it", to, err)
		}
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("the store's directory has %d files, %v; want %d as before", len(after), err, len(before))
	}
	if _, err := os.Stat(filepath.Join(base, "none")); err == nil {
		t.Error("Backup() created a parent directory; want none")
	}
	for _, to := range []string{dir + "2", dir + "3/", filepath.Join(base, "..data")} {
		if err := s.Backup(to); err != nil {
			t.Errorf("Backup(%s), beside the store = %v", to, err)
		}
	}
}

// A halting file system stands still when a backup copies the log, like a process that is killed
// there.
type halting struct {
	vfs.FS
	once     *sync.Once
	at, goOn chan struct{} // at: it stands still, until goOn is closed
}

func (h halting) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(name, "copy") && strings.HasSuffix(name, ".log") {
		h.once.Do(func() {
			close(h.at)
			<-h.goOn
		})
	}
	return h.FS.Create(name, c)
}

func (h halting) Unwrap() vfs.FS { return h.FS }

// A server is killed while it writes a backup. Nothing of that name opens as a store, because it
// would be one without the newest tasks.
func TestBackupCutOff(t *testing.T) {
	mem := vfs.NewMem()
	fsys := halting{mem, new(sync.Once), make(chan struct{}), make(chan struct{})}
	s := openTest(t, fsys)
	kept, err := fillUp(t, s, 3)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Backup("copy") }()
	select {
	case <-fsys.at:
	case err := <-done:
		t.Fatalf("Backup() = %v before it copied the log, so the test shows nothing", err)
	}
	o := small(mem)
	o.MustExist = true
	cut, early := Open("copy", o)
	close(fsys.goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !errors.Is(early, ErrNoStore) {
		if early == nil {
			cut.Close()
		}
		t.Fatalf("Open() of the copy before it is complete = %v, want %v", early, ErrNoStore)
	}
	whole, err := Open("copy", o)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	sound(t, whole, kept)
}

// A fullDisk is a file system with a full disk at the directories whose names begin with dir.
type fullDisk struct {
	vfs.FS
	dir string
}

func (f fullDisk) holds(name string) bool { return strings.HasPrefix(f.PathDir(name), f.dir) }

func (f fullDisk) Link(old, name string) error {
	if f.holds(name) {
		return syscall.EXDEV
	}
	return f.FS.Link(old, name)
}

func (f fullDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err == nil && f.holds(name) {
		file = fullFile{file}
	}
	return file, err
}

func (f fullDisk) Unwrap() vfs.FS { return f.FS }

type fullFile struct{ vfs.File }

func (fullFile) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A backup to another disk that is full fails, and leaves nothing behind. The store's own disk has
// room, so the store goes on.
func TestBackupToFullDisk(t *testing.T) {
	fsys := fullDisk{vfs.NewMem(), "copy"}
	s := openTest(t, fsys)
	done := make(chan error, 1)
	go func() { done <- s.Backup("copy") }()
	look, deadline := time.NewTicker(time.Millisecond), time.After(5*time.Minute)
	defer look.Stop()
	for ended := false; !ended; {
		select {
		case err := <-done:
			if ended = true; !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Backup() to a full disk = %v, want %v", err, syscall.ENOSPC)
			}
		case <-look.C:
			if err := s.Health(); err != nil {
				t.Fatalf("Health() during a backup to another disk that is full = %v, want nil", err)
			}
		case <-deadline:
			t.Fatal("Backup() to a full disk does not return")
		}
	}
	b := newTasks(1)
	if err := s.Commit(t.Context(), b); err != nil || b.Adds[0].Err != nil {
		t.Errorf("Commit() after it = %v, %v", err, b.Adds[0].Err)
	}
	if names, err := fsys.List("/"); err != nil || !slices.Equal(names, []string{"data"}) {
		t.Errorf("the disk has %q, %v; want that the copy is gone", names, err)
	}
	if err := s.Backup("other"); err != nil {
		t.Errorf("Backup() to a disk with room = %v", err)
	}
}

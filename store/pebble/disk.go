package pebble

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk is a file system on which a write waits for free space instead of failing, because the LSM
// engine cannot continue after a failed write. A failed sync is returned, because the data to be
// synced may be lost.
//
// On the machine's own file system, only the owner can access the files. They hold requests,
// answers and the cluster's secret.
type disk struct {
	vfs.FS
	real    bool // the machine's own file system
	dir     string
	reserve int64

	patient atomic.Bool   // writes wait for space; false while the store is being opened
	waiting atomic.Int64  // number of writes that wait for space
	since   atomic.Int64  // start of the first waiting write, Unix ns
	stop    chan struct{} // closed: stop waiting
	once    sync.Once

	copies sync.Map // directories of backups that are being written; see patiently

	checked atomic.Int64 // time of the last check of free space, Unix ns
	short   atomic.Bool  // free space was below the reserve at the last check
}

const (
	diskRetry = 50 * time.Millisecond  // between two attempts of a write
	diskCheck = 100 * time.Millisecond // between two checks of free space
)

func newDisk(under vfs.FS, dir string, reserve int64) *disk {
	return &disk{FS: under, real: under == vfs.Default, dir: dir, reserve: reserve, stop: make(chan struct{})}
}

// low reports whether free space is below the reserve.
func (d *disk) low() bool {
	if d.waiting.Load() > 0 {
		return true
	}
	now := time.Now().UnixNano()
	if d.reserve < 0 || abs(now-d.checked.Load()) < int64(diskCheck) {
		return d.short.Load()
	}
	d.checked.Store(now)
	use, err := d.FS.GetDiskUsage(d.dir)
	if err != nil { // some file systems do not report free space
		d.short.Store(false)
		return false
	}
	d.short.Store(use.AvailBytes < reserveOf(d.reserve, use))
	return d.short.Load()
}

// reserveOf returns the reserve of a disk for a value of Options.ReserveBytes that is not negative.
func reserveOf(bytes int64, use vfs.DiskUsage) uint64 {
	if bytes == 0 {
		return min(256<<20, use.TotalBytes/20)
	}
	return uint64(bytes)
}

func abs(n int64) int64 { return max(n, -n) }

// full reports whether a write has waited for space for at least the given time.
func (d *disk) full(atLeast time.Duration) bool {
	return d.waiting.Load() > 0 && time.Since(time.Unix(0, d.since.Load())) >= atLeast
}

// giveUp fails all writes that wait for space, now and later.
func (d *disk) giveUp() { d.once.Do(func() { close(d.stop) }) }

// copyTo says that a backup is being written to a directory, until end is called. It returns false
// if that is so already.
func (d *disk) copyTo(dir string) (end func(), ok bool) {
	dir = d.FS.PathDir(d.FS.PathJoin(dir, "file"))
	_, there := d.copies.LoadOrStore(dir, true)
	return func() { d.copies.Delete(dir) }, !there
}

// patiently calls f, which writes to the named file, and retries while the disk is full. A file of
// a backup may be on another disk: that one must not hold up the store, so the backup fails.
func (d *disk) patiently(name string, f func() error) error {
	err := f()
	if err == nil || !vfs.IsNoSpaceError(err) || !d.patient.Load() {
		return err
	}
	if _, is := d.copies.Load(d.FS.PathDir(name)); is {
		return err
	}
	if d.waiting.Add(1) == 1 {
		d.since.Store(time.Now().UnixNano())
	}
	defer d.waiting.Add(-1)
	for vfs.IsNoSpaceError(err) {
		select {
		case <-d.stop:
			return err
		case <-time.After(diskRetry):
		}
		err = f()
	}
	return err
}

// Modes of a store's files and directories, and of its backups'.
const (
	ownFile = 0o600
	ownDir  = 0o700
)

// MkdirAll creates directories that only the owner can access, and ignores the mode that the engine
// requests.
func (d *disk) MkdirAll(dir string, _ os.FileMode) error { return d.FS.MkdirAll(dir, ownDir) }

// seal restricts an existing directory and its files to their owner. A directory of another owner,
// such as the root of a volume, keeps its mode.
func (d *disk) seal() error {
	if !d.real {
		return nil
	}
	if err := os.Chmod(d.dir, ownDir); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		// Skip a file of another owner, and a file that is already deleted.
		err := os.Chmod(filepath.Join(d.dir, f.Name()), ownFile)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) open(name string, f func() (vfs.File, error)) (file vfs.File, err error) {
	err = d.patiently(name, func() error {
		file, err = f()
		return err
	})
	if err == nil && d.real {
		if err = os.Chmod(name, ownFile); err != nil {
			file.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return &patientFile{file, name, d}, nil
}

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(name, func() (vfs.File, error) { return d.FS.Create(name, c) })
}

func (d *disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.open(name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, c, o...) })
}

func (d *disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open(name, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, c) })
}

func (d *disk) Link(old, name string) error {
	return d.patiently(name, func() error { return d.FS.Link(old, name) })
}

func (d *disk) Rename(old, name string) error {
	return d.patiently(name, func() error { return d.FS.Rename(old, name) })
}

// A patientFile is a file whose writes wait for space.
type patientFile struct {
	vfs.File
	name string // as it was opened
	disk *disk
}

func (f *patientFile) Write(p []byte) (n int, err error) {
	err = f.disk.patiently(f.name, func() error {
		m, err := f.File.Write(p[n:])
		n += m
		return err
	})
	return n, err
}

func (f *patientFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.disk.patiently(f.name, func() error {
		m, err := f.File.WriteAt(p[n:], at+int64(n))
		n += m
		return err
	})
	return n, err
}

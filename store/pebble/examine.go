package pebble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman/store"
)

// An examiner inspects the disk of a store. It reports values beyond these limits.
type examiner struct {
	dir     string
	reserve int64         // Options.ReserveBytes
	sync    time.Duration // half of the syncs take longer
}

const (
	syncTries = 9
	syncBytes = 4096
)

// Examine finds what hurts the embedded store in a directory, which may be open meanwhile: too
// little free space, a file system that loses files, missing rights, a slow disk. It writes a small
// file and removes it.
func Examine(ctx context.Context, dir string, o Options) ([]store.Finding, error) {
	there, err := exists(dir, vfs.Default)
	if err == nil && !there {
		err = fmt.Errorf("%w in %s", ErrNoStore, dir)
	}
	if err != nil {
		return nil, err
	}
	return examiner{dir, o.ReserveBytes, 20 * time.Millisecond}.all(ctx)
}

func (e examiner) all(ctx context.Context) (found []store.Finding, err error) {
	if f, is := e.space(); is {
		found = append(found, f)
	}
	if f, is := examineFileSystem(e.dir); is {
		found = append(found, f)
	}
	if f, is := e.writes(ctx); is {
		found = append(found, f)
	}
	return found, ctx.Err()
}

// space compares the free space with the reserve.
func (e examiner) space() (store.Finding, bool) {
	use, err := vfs.Default.GetDiskUsage(e.dir)
	if err != nil || e.reserve < 0 {
		return store.Finding{}, false // some file systems do not report free space
	}
	reserve := reserveOf(e.reserve, use)
	f := store.Finding{Name: "disk_space", Level: store.Warning, Do: "free space on that disk, move the directory to a larger one, or lower retention"}
	switch {
	case use.AvailBytes < reserve:
		f.Level = store.Error
		f.What = fmt.Sprintf("%d MiB are free in %s, less than the reserve of %d MiB: creates are rejected", use.AvailBytes>>20, e.dir, reserve>>20)
	case use.AvailBytes < 4*reserve:
		f.What = fmt.Sprintf("%d MiB are free in %s: below %d MiB creates are rejected", use.AvailBytes>>20, e.dir, reserve>>20)
	default:
		return store.Finding{}, false
	}
	return f, true
}

// writes writes and syncs a file, as each commit does.
func (e examiner) writes(ctx context.Context) (store.Finding, bool) {
	took, err := e.syncs(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		return store.Finding{Name: "writes", Level: store.Error, What: "a file cannot be written: " + err.Error(),
			Do: "let the user that runs bellman serve own the directory, on a disk that is not read-only"}, true
	case took > e.sync:
		return store.Finding{Name: "slow_disk", Level: store.Warning, What: fmt.Sprintf("a sync of %d bytes in %s takes %v: each commit waits for one", syncBytes, e.dir, took.Round(100*time.Microsecond)),
			Do: "move the directory to an SSD of this machine, and look what else writes to that disk"}, true
	}
	return store.Finding{}, false
}

// syncs returns the median time of a sync.
func (e examiner) syncs(ctx context.Context) (median time.Duration, err error) {
	f, err := os.CreateTemp(e.dir, "doctor-*.tmp")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(filepath.Join(e.dir, filepath.Base(f.Name())))) }()
	var took []time.Duration
	for range syncTries {
		began := time.Now()
		if _, err := f.Write(make([]byte, syncBytes)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	slices.SortFunc(took, cmp.Compare[time.Duration])
	return took[len(took)/2], nil
}

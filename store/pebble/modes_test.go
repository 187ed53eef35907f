//go:build unix

package pebble_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bellmanhq/bellman/store/pebble"
)

// Only the owner can read the files of a store and of its backups, whatever the umask is. This
// includes a store that was written earlier with other modes.
func TestFilesAreForOwnerOnly(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "data")
	backup := filepath.Join(t.TempDir(), "backup")
	check := func(dir string) {
		t.Helper()
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // the store deletes files that it no longer needs
			}
			if err != nil {
				return err
			}
			in, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			want := fs.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			} else {
				files++
			}
			if got := in.Mode().Perm(); got != want {
				t.Errorf("%s has the mode %v; want %v", path, got, want)
			}
			return nil
		})
		if err != nil || files < 4 {
			t.Errorf("%s has %d files, %v; want the files of a store", dir, files, err)
		}
	}
	s, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(backup); err != nil {
		t.Fatal(err)
	}
	check(dir)
	check(backup)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err = pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check(dir)
}

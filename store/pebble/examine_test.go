package pebble

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/store"
)

// TestExamine makes each condition that hurts, and sees it found with what to do. A store may be
// open.
func TestExamine(t *testing.T) {
	dir := t.TempDir()
	if _, err := Examine(t.Context(), filepath.Join(dir, "none"), Options{}); !errors.Is(err, ErrNoStore) {
		t.Errorf("Examine() = %v of a directory that does not exist, want ErrNoStore", err)
	}
	if _, err := Examine(t.Context(), dir, Options{}); !errors.Is(err, ErrNoStore) {
		t.Errorf("Examine() = %v of an empty directory, want ErrNoStore", err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Examine(t.Context(), dir, Options{}); err != nil {
		t.Errorf("Examine() = %v of an open store", err)
	}
	const huge = 1 << 60
	tests := []struct {
		name     string
		e        examiner
		found    string // empty: nothing
		level    store.Level
		what, do string
	}{
		{"nothing", examiner{dir, 1, time.Hour}, "", "", "", ""},
		{"less than the reserve", examiner{dir, huge, time.Hour}, "disk_space", store.Error, "creates are rejected", "free space"},
		{"a slow disk", examiner{dir, -1, 0}, "slow_disk", store.Warning, "a sync of 4096 bytes", "SSD"},
		{"memory", examiner{"/dev/shm", -1, time.Hour}, "file_system", store.Error, "tmpfs", "move the directory to a disk"},
		{"no right", examiner{"/sys", -1, time.Hour}, "writes", store.Error, "cannot be written", "own the directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := os.Stat(tt.e.dir); err != nil || tt.e.dir != dir && runtime.GOOS != "linux" {
				t.Skipf("this machine has no %s", tt.e.dir)
			}
			all, err := tt.e.all(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var found []store.Finding
			for _, f := range all {
				if f.Name != "file_system" || tt.found == "file_system" { // the test may run in a container
					found = append(found, f)
				}
			}
			if tt.found == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || found[0].Name != tt.found || found[0].Level != tt.level || !strings.Contains(found[0].What, tt.what) || !strings.Contains(found[0].Do, tt.do) {
				t.Errorf("found %+v; want %s %s with %q and %q", found, tt.level, tt.found, tt.what, tt.do)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "doctor-*")); len(left) > 0 {
		t.Errorf("Examine left %v", left)
	}
}

package pebble

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman/store"
)

func TestOpenRefuses(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, fs vfs.FS)
		options func(*Options)
		want    string
	}{
		"a newer schema": {
			prepare: func(t *testing.T, fs vfs.FS) {
				put(t, fs, metaKey("schema"), binary.AppendUvarint(nil, schemaVersion+1))
			},
			want: "written by a newer bellman (schema 3, this one knows 2)",
		},
		"a schema of before the first release": {
			prepare: func(t *testing.T, fs vfs.FS) {
				put(t, fs, metaKey("schema"), binary.AppendUvarint(nil, schemaVersion-1))
			},
			want: "from before the first release (schema 1, this one knows 2)",
		},
		"another program's database": {
			prepare: func(t *testing.T, fs vfs.FS) { put(t, fs, []byte("hello"), []byte("world")) },
			want:    "holds a database of another program",
		},
		"a cache that memtables would eat up": {
			options: func(o *Options) { o.CacheBytes = 3 << 20 },
			want:    "want at least 4 × the memtable's 1048576",
		},
		"a memtable that is too small": {
			options: func(o *Options) { o.MemTableBytes = 1 },
			want:    "want at least 1 MiB",
		},
		"a number of shards below one": {
			options: func(o *Options) { o.Shards = -1 },
			want:    "want 1 to 1024",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			o := small(fs)
			if tt.prepare != nil {
				tt.prepare(t, fs)
			}
			if tt.options != nil {
				tt.options(&o)
			}
			s, err := Open("data", o)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open() = %v, %v; want an error that says %q", s, err, tt.want)
			}
		})
	}
}

// put writes one key to a database in data.
func put(t *testing.T, fs vfs.FS, key, value []byte) {
	t.Helper()
	db, err := lsm.Open("data", &lsm.Options{FS: fs, FormatMajorVersion: formatVersion, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set(key, value, lsm.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(text string, a ...any) { panic(text) }

// TestOpenTwice opens a directory that this process has open already, and lets another process try
// it too.
func TestOpenTwice(t *testing.T) {
	dir := os.Getenv("BELLMAN_TEST_DIR")
	if dir != "" {
		if s, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Fatalf("Open() = %v, %v; want an error that it is in use", s, err)
		}
		return
	}
	dir = filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Open("", Options{}); err == nil || !strings.Contains(err.Error(), "want one such as") {
		t.Errorf("Open() with an empty directory name = %v, %v; want an error", s, err)
	}
	if s, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "in use by another process, or was opened by this one before") {
		t.Errorf("Open() again = %v, %v; want an error that it is in use", s, err)
	}
	other := exec.Command(os.Args[0], "-test.run=^TestOpenTwice$")
	other.Env = append(os.Environ(), "BELLMAN_TEST_DIR="+dir)
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("another process: %v\n%s", err, out)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatalf("Open() after Close() = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReopen checks that everything exists after a restart, including epochs and counters, and that
// no node is registered.
func TestReopen(t *testing.T) {
	fs := vfs.NewMem()
	o := small(fs)
	o.Shards = 3
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Join(t.Context(), store.Node{Name: "a"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Claim(t.Context(), "a", 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := newTasks(100)
	b.Audits = []store.Audit{{At: time.Now(), Who: "w"}}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openTest(t, fs) // with the default number of shards
	state, err := s.State(t.Context(), "")
	shards := state.Shards
	if err != nil || len(shards) != 3 || shards[2].Lease != lease || shards[2].Owner != "a" || shards[2].Alive {
		t.Errorf("State() has shards %+v, %v; want three, the last one at epoch 1 without an owner", shards, err)
	}
	if err := s.Join(t.Context(), store.Node{Name: "b"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), "b", 2, lease.Epoch); err != nil {
		t.Errorf("Claim() after a restart = %v; want success at once", err)
	}
	depths, err := s.Depths(t.Context())
	if err != nil || len(depths) != 1 || depths[0].Pending != 100 {
		t.Errorf("Depths() = %+v, %v; want 100 pending", depths, err)
	}
	again := newTasks(1)
	again.Adds[0].Task.Key = b.Adds[0].Task.Key
	again.Audits = []store.Audit{{At: b.Audits[0].At, Who: "w2"}}
	if err := s.Commit(t.Context(), again); err != nil || again.Adds[0].Existing != b.Adds[0].Task.ID {
		t.Errorf("add with an earlier key: Existing = %v, %v; want %v", again.Adds[0].Existing, err, b.Adds[0].Task.ID)
	}
	if records, err := s.Audits(t.Context(), time.Time{}, 10); err != nil || len(records) != 2 {
		t.Errorf("Audits() = %+v, %v; want two", records, err)
	}
}

// Open rejects a directory with other files and leaves it unchanged. It accepts a directory in
// which the creation of a store was interrupted, and the root of a file system.
func TestOpenNotEmpty(t *testing.T) {
	for name, taken := range map[string]bool{
		"passwd": false, "syslog.log": false, "marker": false, "LOCK.txt": false, "000002.sst": false,
		"LOCK": true, "lost+found": true, "MANIFEST-000001": true, "000002.log": true, "marker.format-version.000001.016": true,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if taken {
			if err != nil {
				t.Errorf("Open() of a directory with %s = %v; want success", name, err)
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "is not empty and holds no bellman store: name an empty or new directory") {
			t.Errorf("Open() of a directory with %s = %v, %v; want an error", name, s, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("Open() of a directory with %s left %v, %v; want only that file", name, files, err)
		}
	}
}

func TestMustExist(t *testing.T) {
	fs := vfs.NewMem()
	o := small(fs)
	o.MustExist = true
	if s, err := Open("data", o); !errors.Is(err, ErrNoStore) {
		t.Fatalf("Open() of nothing = %v, %v; want ErrNoStore", s, err)
	}
	if _, err := fs.Stat("data"); err == nil {
		t.Error("Open() created the directory; want it missing")
	}
	if err := fs.MkdirAll("data", 0o750); err != nil {
		t.Fatal(err)
	}
	if s, err := Open("data", o); !errors.Is(err, ErrNoStore) {
		t.Fatalf("Open() of an empty directory = %v, %v; want ErrNoStore", s, err)
	}
	if files, err := fs.List("data"); err != nil || len(files) != 0 {
		t.Errorf("Open() left %q, %v; want an empty directory", files, err)
	}
	s := openTest(t, fs)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open("data", o)
	if err != nil {
		t.Fatalf("Open() of an existing store = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

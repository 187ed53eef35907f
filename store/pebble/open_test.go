package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman"
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
				put(t, fs, metaKey("schema"), appendUint(nil, schemaVersion+1))
			},
			want: "written by a newer bellman (schema 2, this one knows 1)",
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
			want:    "want 1 to 32768",
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

// TestOpenTwice opens a directory that this process, and then another, has open.
func TestOpenTwice(t *testing.T) {
	dir := os.Getenv("BELLMAN_TEST_DIR")
	if dir != "" {
		if s, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
			t.Fatalf("Open() = %v, %v; want it in use", s, err)
		}
		return
	}
	dir = filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Open("", Options{}); err == nil || !strings.Contains(err.Error(), "want one such as") {
		t.Errorf("Open without a directory: %v, %v", s, err)
	}
	if s, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "in use by another process, or was opened by this one before") {
		t.Errorf("Open() again = %v, %v; want it in use", s, err)
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

// TestReopen wants everything to be there after a restart, epochs and counters
// included, and nobody registered.
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
		t.Errorf("State() has %+v, %v; want three, the last one at epoch 1, its owner gone", shards, err)
	}
	if err := s.Join(t.Context(), store.Node{Name: "b"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), "b", 2, lease.Epoch); err != nil {
		t.Errorf("Claim() after a restart = %v, want it at once", err)
	}
	depths, err := s.Depths(t.Context())
	if err != nil || len(depths) != 1 || depths[0].Pending != 100 {
		t.Errorf("Depths() = %+v, %v; want 100 pending", depths, err)
	}
	again := newTasks(1)
	again.Adds[0].Task.Key = b.Adds[0].Task.Key
	again.Audits = []store.Audit{{At: b.Audits[0].At, Who: "w2"}}
	if err := s.Commit(t.Context(), again); err != nil || again.Adds[0].Existing != b.Adds[0].Task.ID {
		t.Errorf("the key of before: Existing = %v, %v; want %v", again.Adds[0].Existing, err, b.Adds[0].Task.ID)
	}
	if records, err := s.Audits(t.Context(), time.Time{}, 10); err != nil || len(records) != 2 {
		t.Errorf("Audits() = %+v, %v; want two", records, err)
	}
}

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
			t.Errorf("Backup(%s) = %v; want an error of the file system, so that whoever asked is told", to, err)
		}
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("the store's directory has %d files, %v; before it were %d", len(after), err, len(before))
	}
	if _, err := os.Stat(filepath.Join(base, "none")); err == nil {
		t.Error("Backup() made a parent")
	}
	for _, to := range []string{dir + "2", filepath.Join(base, "..data")} {
		if err := s.Backup(to); err != nil {
			t.Errorf("Backup(%s), beside the store = %v", to, err)
		}
	}
}

// A directory of somebody else is left as it is; one where a store was begun,
// or that is a file system's root, is taken.
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
				t.Errorf("Open() of a directory with %s = %v; want a store", name, err)
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "is not empty and holds no bellman store: name an empty or new directory") {
			t.Errorf("Open() of a directory with %s = %v, %v; want it refused", name, s, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("Open() of a directory with %s left %v, %v; want that alone", name, files, err)
		}
	}
}

// TestCheck damages a store in every way that Check looks for.
func TestCheck(t *testing.T) {
	none := bellman.ID{1}
	damages := map[string]func(s *Store, pending, ended *bellman.Task) error{
		"no cold row":         func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(coldKey(nil, p.ID), lsm.Sync) },
		"unreadable cold row": func(s *Store, p, _ *bellman.Task) error { return s.db.Set(coldKey(nil, p.ID), []byte{9}, lsm.Sync) },
		"no hot row":          func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(hotKey(nil, p.ID), lsm.Sync) },
		"unreadable hot row":  func(s *Store, p, _ *bellman.Task) error { return s.db.Set(hotKey(nil, p.ID), []byte{1}, lsm.Sync) },
		"no ended row": func(s *Store, _, e *bellman.Task) error {
			return s.db.Delete(endedKey(nil, bellman.Succeeded, e.ID), lsm.Sync)
		},
		"two statuses": func(s *Store, _, e *bellman.Task) error {
			return copyRow(s, endedKey(nil, bellman.Succeeded, e.ID), hotKey(nil, e.ID))
		},
		"wrong state": func(s *Store, _, e *bellman.Task) error {
			return copyRow(s, endedKey(nil, bellman.Succeeded, e.ID), endedKey(nil, bellman.Failed, e.ID))
		},
		"no due entry": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Delete(dueKey(nil, milli(p.VisibleAt), p.ID), lsm.Sync)
		},
		"other due entry": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Set(dueKey(nil, milli(p.VisibleAt), p.ID), appendEntry(nil, &status{}), lsm.Sync)
		},
		"due entry too many": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Set(dueKey(nil, milli(p.VisibleAt)+1, p.ID), nil, lsm.Sync)
		},
		"due entry of an ended": func(s *Store, _, e *bellman.Task) error { return s.db.Set(dueKey(nil, 5, e.ID), nil, lsm.Sync) },
		"due entry of none":     func(s *Store, _, _ *bellman.Task) error { return s.db.Set(dueKey(nil, 5, none), nil, lsm.Sync) },
		"no key":                func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(keyKey(nil, 0, p.Key), lsm.Sync) },
		"key of another": func(s *Store, p, e *bellman.Task) error {
			return copyRow(s, keyKey(nil, 0, e.Key), keyKey(nil, 0, p.Key))
		},
		"key too many": func(s *Store, p, _ *bellman.Task) error {
			return copyRow(s, keyKey(nil, 0, p.Key), keyKey(nil, 0, "x"))
		},
		"no alias": func(s *Store, p, _ *bellman.Task) error {
			return s.db.Delete(keyKey(nil, aliases, p.Alias()), lsm.Sync)
		},
		"alias of another": func(s *Store, p, e *bellman.Task) error {
			return copyRow(s, keyKey(nil, aliases, e.Alias()), keyKey(nil, aliases, p.Alias()))
		},
		"alias too many": func(s *Store, p, _ *bellman.Task) error {
			return copyRow(s, keyKey(nil, aliases, p.Alias()), keyKey(nil, aliases, "x"))
		},
		"alias for a key": func(s *Store, p, _ *bellman.Task) error {
			return copyRow(s, keyKey(nil, 0, p.Key), keyKey(nil, aliases, p.Key))
		},
		"no merchant":       func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(merchantKey(nil, "m", p.ID), lsm.Sync) },
		"merchant too many": func(s *Store, p, _ *bellman.Task) error { return s.db.Set(merchantKey(nil, "n", p.ID), nil, lsm.Sync) },
		"merchant of none":  func(s *Store, _, _ *bellman.Task) error { return s.db.Set(merchantKey(nil, "m", none), nil, lsm.Sync) },
		"no order":          func(s *Store, p, _ *bellman.Task) error { return s.db.Delete(orderKey(nil, p.OrderNo, p.ID), lsm.Sync) },
		"order too many":    func(s *Store, p, _ *bellman.Task) error { return s.db.Set(orderKey(nil, "n", p.ID), nil, lsm.Sync) },
		"attempt of none": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(attemptKey(nil, none, 1), appendAttempt(nil, none, &bellman.Attempt{}), lsm.Sync)
		},
		"attempt too many": func(s *Store, _, e *bellman.Task) error {
			return copyRow(s, attemptKey(nil, e.ID, 1), attemptKey(nil, e.ID, 2))
		},
		"unreadable attempt": func(s *Store, _, e *bellman.Task) error {
			return s.db.Set(attemptKey(nil, e.ID, 1), []byte{1, 1}, lsm.Sync)
		},
		"wrong counter": func(s *Store, _, _ *bellman.Task) error {
			return s.db.Set(queueKey(nil, tableDepth, 0), appendCounts(nil, counts{1}), lsm.Sync)
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, vfs.NewMem())
			b := aliased(newTasks(10))
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			pending, ended := b.Adds[4].Task, b.Adds[6].Task
			end := &store.Batch{Changes: []store.Change{{ID: ended.ID, Version: 1, Attempt: &bellman.Attempt{Number: 1},
				To: bellman.Status{State: bellman.Succeeded, Attempts: 1, Finished: time.Now()}}}}
			if err := s.Commit(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			want := store.CheckReport{Tasks: 10, Pending: 9, Ended: 1, Attempts: 1}
			if r, err := s.Check(t.Context()); err != nil || len(r.Problems) != 0 || r.Tasks != want.Tasks ||
				r.Pending != want.Pending || r.Ended != want.Ended || r.Attempts != want.Attempts {
				t.Fatalf("Check() = %+v, %v; want %+v", r, err, want)
			}
			if err := damage(s, pending, ended); err != nil {
				t.Fatal(err)
			}
			r, err := s.Check(t.Context())
			if err != nil || r.Wrong == 0 {
				t.Errorf("Check() = %+v, %v; want the damage found", r, err)
			}
			if r.Wrong > 7 { // a row that is gone leaves six entries behind
				t.Errorf("Check() found %d problems, want it to keep to the one: %q", r.Wrong, r.Problems)
			}
		})
	}
}

// aliased gives each task of a batch an alias.
func aliased(b *store.Batch) *store.Batch {
	for _, a := range b.Adds {
		a.Task.SetAlias("account/" + a.Task.Key)
	}
	return b
}

func copyRow(s *Store, from, to []byte) error {
	row, closer, err := s.db.Get(from)
	if err != nil {
		return err
	}
	defer closer.Close()
	return s.db.Set(to, row, lsm.Sync)
}

// TestCheckNames deletes and alters every row that Check reads, one at a time,
// and wants to hear the row or its task named.
func TestCheckNames(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	b := aliased(newTasks(4))
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	end := &store.Batch{}
	for i, state := range []bellman.State{bellman.Succeeded, bellman.Failed, bellman.Cancelled} {
		end.Changes = append(end.Changes, store.Change{ID: b.Adds[i].Task.ID, Version: 1, Attempt: &bellman.Attempt{Number: 1},
			To: bellman.Status{State: state, Attempts: 1, Finished: time.Now()}})
	}
	if err := s.Commit(t.Context(), end); err != nil {
		t.Fatal(err)
	}

	type pair struct{ key, row []byte }
	var pairs []pair
	iter, err := s.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		if strings.IndexByte("acdehkmno", iter.Key()[0]) >= 0 {
			pairs = append(pairs, pair{slices.Clone(iter.Key()), slices.Clone(iter.Value())})
		}
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	if want := 4*6 + 1 + 3 + 1; len(pairs) != want {
		t.Fatalf("%d rows, want %d", len(pairs), want)
	}
	check := func(p pair, what string) {
		t.Helper()
		r, err := s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		named := slices.ContainsFunc(r.Problems, func(text string) bool {
			if strings.Contains(text, fmt.Sprintf("%x", p.key)) || p.key[0] == tableDepth && strings.Contains(text, "counters") {
				return true
			}
			return slices.ContainsFunc(b.Adds, func(a store.Add) bool {
				id := a.Task.ID
				about := strings.Contains(string(p.key)+string(p.row), string(id[:])) || strings.Contains(string(p.key), id.String())
				return about && strings.Contains(text, id.String())
			})
		})
		if r.Wrong == 0 || !named {
			t.Errorf("row %q %s: Check() = %d wrong, %q; want it named", p.key, what, r.Wrong, r.Problems)
		}
	}
	for _, p := range pairs {
		if p.key[0] != tableAttempt { // an attempt may have left no record
			if err := s.db.Delete(p.key, lsm.Sync); err != nil {
				t.Fatal(err)
			}
			check(p, "deleted")
		}
		if err := s.db.Set(p.key, append(slices.Clone(p.row), 1), lsm.Sync); err != nil {
			t.Fatal(err)
		}
		check(p, "altered")
		if err := s.db.Set(p.key, p.row, lsm.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := s.Check(t.Context()); err != nil || r.Wrong != 0 {
		t.Errorf("Check() of all as it was = %+v, %v; want nothing wrong", r, err)
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
		t.Error("Open() made the directory")
	}
	if err := fs.MkdirAll("data", 0o750); err != nil {
		t.Fatal(err)
	}
	if s, err := Open("data", o); !errors.Is(err, ErrNoStore) {
		t.Fatalf("Open() of an empty directory = %v, %v; want ErrNoStore", s, err)
	}
	if files, err := fs.List("data"); err != nil || len(files) != 0 {
		t.Errorf("Open() left %q, %v behind", files, err)
	}
	s := openTest(t, fs)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open("data", o)
	if err != nil {
		t.Fatalf("Open() of one that exists = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

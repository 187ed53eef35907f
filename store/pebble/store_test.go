package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/storetest"
)

// small are options for tests: a file system in memory, and small buffers.
func small(fs vfs.FS) Options {
	return Options{FS: fs, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, ReserveBytes: -1}
}

// openTest opens a store that is closed when the test ends.
func openTest(t testing.TB, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open("data", small(fs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openTest(t, vfs.NewMem()) })
}

func TestBackupAbility(t *testing.T) {
	fs := vfs.NewMem()
	storetest.Backup(t, openTest(t, fs), "copy", func(dir string) store.Store {
		s, err := Open(dir, Options{FS: fs})
		if err != nil {
			t.Fatalf("Open(%s) = %v", dir, err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

func allShards() []uint16 {
	shards := make([]uint16, 64)
	for i := range shards {
		shards[i] = uint16(i)
	}
	return shards
}

func TestLikeMemory(t *testing.T) {
	storetest.Like(t, 20, 60, func(t *testing.T) (store.Store, store.Store) { return openTest(t, vfs.NewMem()), memory.New() })
}

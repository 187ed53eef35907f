package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/memory"
	"github.com/bellmanhq/bellman/store/storetest"
)

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

// newDatabase creates a database that is dropped when the test ends, and returns its address.
func newDatabase(t testing.TB) string { return scratchtest.New(t, "postgres").URL }

// openTest opens a store that is closed when the test ends.
func openTest(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), url, o)
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
	d := scratchtest.New(t, "postgres")
	storetest.Run(t, func(t *testing.T) store.Store {
		s := openTest(t, d.URL, Options{Connections: 4})
		scratchtest.Empty(t, d)
		return s
	})
}

func TestLikeMemory(t *testing.T) {
	d := scratchtest.New(t, "postgres")
	storetest.Like(t, 3, 60, func(t *testing.T) (store.Store, store.Store) {
		s := openTest(t, d.URL, Options{Connections: 4})
		scratchtest.Empty(t, d)
		return s, memory.New()
	})
}

package redis

import (
	"context"
	"testing"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// newStore returns the address of a store that is deleted when the test ends.
func newStore(t testing.TB) string { return scratchtest.New(t, "redis").URL }

// openTest opens a store that is closed when the test ends.
func openTest(t testing.TB, address string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), address, o)
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
	storetest.Run(t, func(t *testing.T) store.Store { return openTest(t, newStore(t), Options{Connections: 4}) })
}

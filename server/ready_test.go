package server

import (
	"errors"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store/pebble"
)

// A disk without room for new tasks shows, and no more than that.
func TestProbeOfAFullDisk(t *testing.T) {
	for _, tt := range []struct {
		reserve int64
		want    error
	}{{-1, nil}, {1 << 60, bellman.ErrFull}} {
		store, err := pebble.Open(t.TempDir(), pebble.Options{ReserveBytes: tt.reserve})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if err := (&probe{store: store}).ask(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("with %d bytes to keep free: %v; want %v", tt.reserve, err, tt.want)
		}
	}
}

package pebble

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// A scan that fails at its first row does not move the front: the next one must not skip the tasks
// behind that row.
func TestFrontStaysAfterAnError(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	if err := s.Commit(t.Context(), newTasks(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Set(dueKey(nil, 1, bellman.ID{1}), []byte{format + 1}, lsm.Sync); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if entries, err := s.Due(t.Context(), allShards(), store.Position{}, 1<<60, 10, nil); !errors.Is(err, pack.ErrCorrupt) {
			t.Errorf("Due() no. %d of a row that cannot be read = %d entries, %v; want %v", i+1, len(entries), err, pack.ErrCorrupt)
		}
	}
}

// The front moves forward when tasks end. It moves back for a task that is added before it, also
// during a scan.
func TestFrontMoves(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	scan := func() []store.Entry {
		t.Helper()
		entries, err := s.Due(t.Context(), allShards(), store.Position{}, 1<<60, 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	b := newTasks(3)
	for i, a := range b.Adds {
		a.Task.VisibleAt = pack.FromMilli(int64(1000 * (i + 1)))
	}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	scan()
	if s.front.low.look != 1000 {
		t.Errorf("front is at %d, want 1000", s.front.low.look)
	}
	end := &store.Batch{Changes: []store.Change{{ID: b.Adds[0].Task.ID, Version: 1, To: bellman.Status{State: bellman.Failed}}}}
	if err := s.Commit(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	scan()
	if s.front.low.look != 2000 {
		t.Errorf("front is at %d after the first task ended; want 2000", s.front.low.look)
	}
	early := newTasks(1)
	early.Adds[0].Task.VisibleAt = pack.FromMilli(500)
	if err := s.Commit(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	if entries := scan(); len(entries) != 3 || entries[0].VisibleAt != 500 {
		t.Errorf("Due() = %+v, want the early task first", entries)
	}

	// An entry that is written during a scan holds the front back.
	_, under := s.front.begin(position{})
	early = newTasks(1)
	early.Adds[0].Task.VisibleAt = pack.FromMilli(100)
	if err := s.Commit(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	s.front.end(under, position{look: 500})
	if entries := scan(); len(entries) != 4 || entries[0].VisibleAt != 100 {
		t.Errorf("Due() = %+v, want the task that was added during a scan", entries)
	}

	// So does an entry whose write was in progress when the scan began.
	s.front.writing(position{look: 50})
	_, under = s.front.begin(position{})
	s.front.wrote()
	s.front.end(under, position{look: 100})
	if s.front.low.look != 50 {
		t.Errorf("front is at %d, want 50", s.front.low.look)
	}

	// A scan that excludes the entry at the front does not move the front.
	scan()
	at := s.front.low
	if _, err := s.Due(t.Context(), allShards(), store.Position{VisibleAt: at.look, ID: at.id}, 1<<60, 10, nil); err != nil {
		t.Fatal(err)
	}
	if entries := scan(); len(entries) != 4 || entries[0].VisibleAt != 100 {
		t.Errorf("Due() = %+v, want the task at the front", entries)
	}
}

// Entries before 1970 are found, also after a restart.
func TestFrontBefore1970(t *testing.T) {
	fs := vfs.NewMem()
	for range 2 {
		s, err := Open("data", small(fs))
		if err != nil {
			t.Fatal(err)
		}
		b := newTasks(1)
		b.Adds[0].Task.VisibleAt = time.UnixMilli(-rand.Int64N(1e9) - 1)
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, fs)
	for range 2 {
		entries, err := s.Due(t.Context(), allShards(), store.Position{VisibleAt: -1 << 60}, 1<<60, 10, nil)
		if err != nil || len(entries) != 2 {
			t.Errorf("Due() = %+v, %v; want two entries", entries, err)
		}
	}
}

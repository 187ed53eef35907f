package engine

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/store"
)

// The loader left out some due tasks. They are not forgotten when a task becomes due between them
// and the position where it reads.
func TestLoaderGoesBack(t *testing.T) {
	tests := []struct {
		name          string
		skipped, back int64
		look          int64
		want          int64 // where it continues after the current read
	}{
		{"no read in progress", noTime, noTime, 100, 100},
		{"after the read position", noTime, 200, 300, 200},
		{"before the read position", noTime, 200, 100, 100},
		{"before the skipped task", 100, 200, 50, 50},
		{"after the skipped task", 100, 200, 150, 100},
		{"only a skipped task", 100, 100, 150, 100},
	}
	for _, tt := range tests {
		l := &loader{outside: new(outside), out: map[peers]bool{{age: 1, of: 2}: true},
			back: store.Position{VisibleAt: tt.back}, skipped: store.Position{VisibleAt: tt.skipped}}
		l.lookBack(tt.look)
		if got := min(l.back.VisibleAt, l.skipped.VisibleAt); got != tt.want {
			t.Errorf("%s: the loader continues at %d; want %d", tt.name, got, tt.want)
		}
	}
}

// A task that finds no room in a full agenda is read when there is room. The loader goes back for a
// due task. For a future task it reads ahead again from there, because going back ends at the
// present.
func TestFullAgenda(t *testing.T) {
	c := clock.New(time.Now)
	h := newAgenda(c, new(shelves), 1000, 1000)
	h.own([]uint16{7})
	for range h.most {
		h.items[bellman.NewID()] = &item{}
	}
	now := c.Now().UnixMilli()
	h.bound = now + horizon.Milliseconds()
	put := func(look int64) {
		task := &bellman.Task{ID: bellman.NewID(), Status: bellman.Status{Shard: 7, VisibleAt: time.UnixMilli(look)}}
		if it := h.put(task, h.moment(), now); it != nil || h.items[task.ID] != nil {
			t.Fatalf("a full agenda of %d took another task", len(h.items))
		}
	}
	for _, look := range []int64{now - 20, now - 30, now + 70_000, now + 60_000, now + 80_000} {
		put(look)
	}
	l := &loader{outside: new(outside), agenda: h, back: nowhere, skipped: nowhere, ahead: now + 90_000, partly: store.Position{VisibleAt: now + 90_000}}
	l.goBack()
	if l.back.VisibleAt != now-30 || l.ahead != now+60_000 || l.partly.VisibleAt != 0 {
		t.Errorf("the loader reads back from %d and ahead from %d, with a position of %d within that millisecond; want %d, %d and none", l.back.VisibleAt-now, l.ahead-now, l.partly.VisibleAt, -30, 60_000)
	}
	l.partly = store.Position{VisibleAt: l.ahead, ID: bellman.NewID()}
	put(l.ahead) // perhaps before its position within that millisecond
	if l.goBack(); l.ahead != now+60_000 || l.partly.VisibleAt != 0 {
		t.Errorf("the loader reads ahead from %d, with a position within that millisecond: %t; want 60000 and none", l.ahead-now, l.partly.VisibleAt != 0)
	}
	l.ahead = now + 50_000
	put(now + 60_000) // the loader has not read so far yet
	if l.goBack(); l.ahead != now+50_000 {
		t.Errorf("the loader reads ahead from %d; want 50000, as before", l.ahead-now)
	}
}

package engine

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/store"
)

// What a loader left out is not forgotten when it is told of something that became
// due after that and before where it reads.
func TestLookBack(t *testing.T) {
	tests := []struct {
		name          string
		skipped, back int64
		look          int64
		want          int64 // where it goes on when it has read on
	}{
		{"nothing under way", noTime, noTime, 100, 100},
		{"behind where it reads", noTime, 200, 300, 200},
		{"before where it reads", noTime, 200, 100, 100},
		{"before what was left out", 100, 200, 50, 50},
		{"after what was left out", 100, 200, 150, 100},
		{"left out alone", 100, 100, 150, 100},
	}
	for _, tt := range tests {
		l := &loader{out: map[peers]bool{{age: 1, of: 2}: true},
			back: store.Position{VisibleAt: tt.back}, skipped: store.Position{VisibleAt: tt.skipped}}
		l.lookBack(tt.look)
		if got := min(l.back.VisibleAt, l.skipped.VisibleAt); got != tt.want {
			t.Errorf("%s: it goes on at %d; want %d", tt.name, got, tt.want)
		}
	}
}

// What finds no room in a hand that is full is read when there is room: what is due by looking
// back, and what is to come by reading ahead from there, for looking back ends at the present.
func TestFullHand(t *testing.T) {
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
		if it := h.put(task, h.taken(), now); it != nil || h.items[task.ID] != nil {
			t.Fatalf("a task was taken in a agenda of %d", len(h.items))
		}
	}
	for _, look := range []int64{now - 20, now - 30, now + 70_000, now + 60_000, now + 80_000} {
		put(look)
	}
	l := &loader{agenda: h, back: nowhere, skipped: nowhere, ahead: now + 90_000, partly: store.Position{VisibleAt: now + 90_000}}
	l.goBack()
	if l.back.VisibleAt != now-30 || l.ahead != now+60_000 || l.partly.VisibleAt != 0 {
		t.Errorf("it reads back from %d and ahead from %d, having read a part until %d; want %d, %d and none", l.back.VisibleAt-now, l.ahead-now, l.partly.VisibleAt, -30, 60_000)
	}
	l.partly = store.Position{VisibleAt: l.ahead, ID: bellman.NewID()}
	put(l.ahead) // perhaps before where it stands within that look
	if l.goBack(); l.ahead != now+60_000 || l.partly.VisibleAt != 0 {
		t.Errorf("it reads ahead from %d, a part of it read: %t; want 60000, read from its beginning", l.ahead-now, l.partly.VisibleAt != 0)
	}
	l.ahead = now + 50_000
	put(now + 60_000) // not read yet
	if l.goBack(); l.ahead != now+50_000 {
		t.Errorf("it reads ahead from %d; want 50000, where it was", l.ahead-now)
	}
}

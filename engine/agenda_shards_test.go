package engine

import (
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/store"
)

// While another node owned a shard, it may have attempted the shard's tasks. Tasks that were
// committed or read before that time are therefore read again, and do not enter the agenda as they
// were.
func TestAgendaOfAnEarlierTenure(t *testing.T) {
	c := clock.New(time.Now)
	h := newAgenda(c, new(shelves), 1000, 1000)
	h.own([]uint16{7, 8})
	now := c.Now().UnixMilli()
	task := func(shard uint16) *bellman.Task {
		return &bellman.Task{ID: bellman.NewID(), Status: bellman.Status{Shard: shard, Version: 1, VisibleAt: time.UnixMilli(now - 20), Due: time.UnixMilli(now - 20)}}
	}
	missed := func() bool {
		m, _ := h.takeMissed()
		return m == now-20
	}
	away := func() {
		h.leave(7)
		h.own([]uint16{7})
	}

	for _, shard := range []uint16{7, 8} {
		before, since := task(shard), h.moment()
		away()
		if it := h.put(before, since, now); (it != nil) != (shard == 8) || missed() != (shard == 7) {
			t.Errorf("shard 7 was lost and regained after a task of shard %d was committed: in agenda %t", shard, it != nil)
		}
		entry := entryOf(task(shard))
		since = h.beginRead(0)
		away()
		if due := h.endRead(since, []store.Entry{entry}, 0, now, nil); (len(due) == 1) != (shard == 8) || missed() != (shard == 7) {
			t.Errorf("shard 7 was lost and regained after a task of shard %d was read: in agenda %t", shard, len(due) == 1)
		}
	}
	if it := h.put(task(7), h.moment(), now); it == nil || missed() {
		t.Error("a task that was committed after shard 7 was regained is not in the agenda")
	}
}

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

// The loader finds a new task before its commit is answered, and the task is attempted and ends. The answer to the commit, and
// a page that was read before the end, do not bring the task back as it was.
func TestAgendaOfATaskThatHasEnded(t *testing.T) {
	c := clock.New(time.Now)
	h := newAgenda(c, new(shelves), 1000, 1000)
	h.own([]uint16{7})
	now := c.Now().UnixMilli()
	task := &bellman.Task{ID: bellman.NewID(), Status: bellman.Status{Shard: 7, Version: 1, VisibleAt: time.UnixMilli(now - 20), Due: time.UnixMilli(now - 20)}}
	page := []store.Entry{entryOf(task)}
	commit, read := h.follow(), h.beginRead(0)
	due := h.endRead(h.beginRead(0), page, 0, now, nil)
	if len(due) != 1 || !h.fly(due[0], time.Second) {
		t.Fatalf("%d due tasks; want one, which may be attempted", len(due))
	}
	if again := h.endRead(h.beginRead(0), page, 0, now, nil); len(again) != 0 {
		t.Error("a page brings a task that is being attempted once more")
	}
	h.land(due[0], task, &bellman.Status{State: bellman.Succeeded, Shard: 7, Version: 2}, h.moment(), now)
	if h.put(task, commit, now) != nil {
		t.Error("the answer to a commit brings back a task that has ended")
	}
	if again := h.endRead(read, page, 0, now, nil); len(again) != 0 {
		t.Error("a page that was read before the end brings back a task that has ended")
	}
}

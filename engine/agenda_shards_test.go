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
	a := newAgenda(c, new(shelves), 1000, 1000)
	a.own([]uint16{7, 8})
	now := c.Now().UnixMilli()
	task := func(shard uint16) *bellman.Task {
		return &bellman.Task{ID: bellman.NewID(), Status: bellman.Status{Shard: shard, Version: 1, VisibleAt: time.UnixMilli(now - 20), Due: time.UnixMilli(now - 20)}}
	}
	missed := func() bool {
		m, _ := a.takeMissed()
		return m == now-20
	}
	away := func() {
		a.leave(7)
		a.own([]uint16{7})
	}

	for _, shard := range []uint16{7, 8} {
		before, since := task(shard), a.moment()
		away()
		if it := a.put(before, since, now); (it != nil) != (shard == 8) || missed() != (shard == 7) {
			t.Errorf("shard 7 was lost and regained after a task of shard %d was committed: in agenda %t", shard, it != nil)
		}
		entry := entryOf(task(shard))
		since = a.beginRead(0)
		away()
		if due := a.endRead(since, []store.Entry{entry}, 0, now, nil); (len(due) == 1) != (shard == 8) || missed() != (shard == 7) {
			t.Errorf("shard 7 was lost and regained after a task of shard %d was read: in agenda %t", shard, len(due) == 1)
		}
	}
	if it := a.put(task(7), a.moment(), now); it == nil || missed() {
		t.Error("a task that was committed after shard 7 was regained is not in the agenda")
	}
}

// The loader finds a new task before its commit is answered, and the task is attempted and ends.
// The answer to the commit, and a page that was read before the end, do not bring the task back as
// it was.
func TestAgendaOfATaskThatHasEnded(t *testing.T) {
	c := clock.New(time.Now)
	a := newAgenda(c, new(shelves), 1000, 1000)
	a.own([]uint16{7})
	now := c.Now().UnixMilli()
	task := &bellman.Task{ID: bellman.NewID(), Status: bellman.Status{Shard: 7, Version: 1, VisibleAt: time.UnixMilli(now - 20), Due: time.UnixMilli(now - 20)}}
	page := []store.Entry{entryOf(task)}
	commit, read := a.follow(), a.beginRead(0)
	due := a.endRead(a.beginRead(0), page, 0, now, nil)
	if len(due) != 1 || !a.fly(due[0], time.Second) {
		t.Fatalf("%d due tasks; want one, which may be attempted", len(due))
	}
	if again := a.endRead(a.beginRead(0), page, 0, now, nil); len(again) != 0 {
		t.Error("a page brings a task that is being attempted once more")
	}
	a.land(due[0], task, &bellman.Status{State: bellman.Succeeded, Shard: 7, Version: 2}, a.moment(), now)
	if a.put(task, commit, now) != nil {
		t.Error("the answer to a commit brings back a task that has ended")
	}
	if again := a.endRead(read, page, 0, now, nil); len(again) != 0 {
		t.Error("a page that was read before the end brings back a task that has ended")
	}
}

// flying returns an agenda of shard 7, with a task that is being attempted.
func flying(t *testing.T) (a *agenda, task *bellman.Task, it *item) {
	c := clock.New(time.Now)
	a = newAgenda(c, new(shelves), 1000, 1000)
	a.own([]uint16{7})
	at := c.Now().Add(-20 * time.Millisecond).Truncate(time.Millisecond)
	task = &bellman.Task{ID: bellman.NewID(), Queue: "q", OrderingKey: "o", Status: bellman.Status{Shard: 7, Version: 1, VisibleAt: at, Due: at}}
	it = a.put(task, a.moment(), c.Now().UnixMilli())
	if _, ok := a.beginTurn(it); !ok || !a.fly(it, time.Second) || !a.begin(it) {
		t.Fatal("the task may not be attempted")
	}
	return a, task, it
}

// Attempts in flight keep a shard that was left until they land or are handed over. One that cannot
// be handed over stays.
func TestFlightsOfALeftShard(t *testing.T) {
	empty := func(a *agenda) bool {
		select {
		case <-a.empty(7):
			return true
		default:
			return false
		}
	}
	a, _, it := flying(t)
	a.leave(7)
	if n := len(a.flights(7)); n != 1 || empty(a) {
		t.Errorf("%d attempts can be handed over, empty %t; want one, and the shard not empty", n, empty(a))
	}
	a.keepHere(it)
	if n := len(a.flights(7)); n != 0 || empty(a) || !a.stuck(7) {
		t.Errorf("of an attempt that stays %d can be handed over, empty %t, stuck %t; want none, not empty, stuck", n, empty(a), a.stuck(7))
	}
	a.drop(it)
	if !empty(a) {
		t.Error("the attempt has landed, and the shard is not empty")
	}

	a, _, it = flying(t)
	a.leave(7)
	a.handOver(it)
	if n := len(a.flights(7)); n != 0 || !empty(a) {
		t.Errorf("after the handover %d attempts can be handed over, empty %t; want none, and empty", n, empty(a))
	}
	a.own([]uint16{7})
	a.leave(7)
	if !empty(a) {
		t.Error("the shard came back and was left again: the attempt that was handed over keeps it")
	}

	a, task, it := flying(t)
	second := *task
	second.ID = bellman.NewID()
	if other := a.put(&second, a.moment(), a.clock.Now().UnixMilli()); !a.fly(other, time.Second) || !a.begin(other) {
		t.Fatal("the second task may not be attempted")
	}
	a.leave(7)
	a.handOver(it)
	if a.drop(it); empty(a) {
		t.Error("the attempt that was handed over has landed, and the shard is empty although another is in flight")
	}
}

// A task that was changed during its attempt is read again when the attempt lands, at the time of
// the change.
func TestChangedDuringItsAttempt(t *testing.T) {
	a, task, it := flying(t)
	a.takeMissed()
	changed := *task
	changed.Version, changed.VisibleAt = 2, task.VisibleAt.Add(time.Hour)
	if a.replace(&changed, a.moment(), a.clock.Now().UnixMilli()) != nil {
		t.Error("the change brings a second item")
	}
	a.drop(it)
	if _, ahead := a.takeMissed(); ahead != changed.VisibleAt.UnixMilli() {
		t.Errorf("read again from %d; want %d", ahead, changed.VisibleAt.UnixMilli())
	}
}

// When an attempt lands, the turn of its chain passes on if another task has waited for it.
func TestTurnIsPassedOn(t *testing.T) {
	for _, waits := range []bool{false, true} {
		a, task, it := flying(t)
		passed := 0
		a.turns.freed = func(chain) { passed++ }
		want := 0
		if waits {
			want = 1
			next := *task
			next.ID = bellman.NewID()
			if other, ok := a.beginTurn(a.put(&next, a.moment(), a.clock.Now().UnixMilli())); ok || other != task.ID {
				t.Errorf("the next task has its turn: %t, behind %v; want it behind the first", ok, other)
			}
		}
		if a.drop(it); passed != want {
			t.Errorf("another waits: %t, the turn was passed on %d times; want %d", waits, passed, want)
		}
	}
}

package bellman_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/bellmanhq/bellman"
)

// Go's collector scans objects of at most 512 bytes a span at a time. Larger objects have a header
// each and are scanned one by one. A Task of 536 bytes cost a tenth of a server's processor time in
// a drain (see docs/decisions).
func TestTaskIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(bellman.Task{}); size > 512 {
		t.Errorf("a Task has %d bytes; want at most 512, which are collected cheaply", size)
	}
}

// encoding/json reads back a Task that it wrote, of any kind: programs that embed bellman cache and
// log tasks.
func TestTaskAsJSON(t *testing.T) {
	for _, kind := range []bellman.Kind{bellman.KindUnknown, bellman.KindNotify, bellman.KindPoll, bellman.KindOwn, 255} {
		task := bellman.Task{ID: bellman.NewID(), Queue: "q", Kind: kind, Body: []byte("b"), Timeout: time.Second,
			Origin: &bellman.Origin{Alias: "a", Resume: &bellman.Resume{Attempts: 1}}, Last: &bellman.Attempt{Result: bellman.TimedOut, Trigger: bellman.ByHand},
			Status: bellman.Status{State: bellman.Failed, Phase: bellman.HandedOver, Data: []byte("d"), Before: &bellman.Before{State: bellman.Cancelled}}}
		text, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var back bellman.Task
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, task) {
			t.Errorf("of %s: %+v, %v; want %+v", text, back, err, task)
		}
	}
}

// An id may have a later time than the engine's clock, so a task never counts as changed before its
// creation.
func TestChanged(t *testing.T) {
	id := bellman.NewID()
	task := bellman.Task{ID: id, Status: bellman.Status{Updated: id.Time().Add(-time.Millisecond)}}
	if got := task.Changed(); !got.Equal(task.Created()) {
		t.Errorf("Changed() of a task created at %v and updated a millisecond before = %v; want its creation", task.Created(), got)
	}
	task.Updated = id.Time().Add(time.Second)
	if got := task.Changed(); !got.Equal(task.Updated) {
		t.Errorf("Changed() of a task updated at %v = %v; want the same", task.Updated, got)
	}
	task.Updated = time.Time{}
	if got := task.Changed(); !got.IsZero() {
		t.Errorf("Changed() of a task without an update = %v; want its creation", got)
	}
}

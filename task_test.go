package bellman_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/bellmanhq/bellman"
)

// Go's collector scans objects of at most 512 bytes a span at a time, and larger ones one
// by one, with a header each. A Task of 536 bytes cost a tenth of a server's processor
// time in a drain (see docs/decisions).
func TestTaskIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(bellman.Task{}); size > 512 {
		t.Errorf("a Task has %d bytes, more than the 512 that are collected cheaply", size)
	}
}

// An id may be a moment younger than the engine's clock: a task changed at its creation at the earliest.
func TestChanged(t *testing.T) {
	id := bellman.NewID()
	task := bellman.Task{ID: id, Status: bellman.Status{Updated: id.Time().Add(-time.Millisecond)}}
	if got := task.Changed(); !got.Equal(task.Created()) {
		t.Errorf("a task of %v that was updated a millisecond before was changed at %v", task.Created(), got)
	}
	task.Updated = id.Time().Add(time.Second)
	if got := task.Changed(); !got.Equal(task.Updated) {
		t.Errorf("a task that was updated at %v was changed at %v", task.Updated, got)
	}
	task.Updated = time.Time{}
	if got := task.Changed(); !got.IsZero() {
		t.Errorf("a task without an update was changed at %v", got)
	}
}

package bellman_test

import (
	"testing"
	"unsafe"

	"github.com/bellmanhq/bellman"
)

// Go's collector scans objects of at most 512 bytes a span at a time, and larger ones one
// by one, with a header each. A Task of 536 bytes cost a tenth of a server's processor
// time in a drain (see DESIGN.md).
func TestTaskIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(bellman.Task{}); size > 512 {
		t.Errorf("a Task has %d bytes, more than the 512 that are collected cheaply", size)
	}
}

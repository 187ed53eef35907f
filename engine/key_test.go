package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/memory"
)

// A namer is a handler that fills in a key, and writes into the body.
type namer struct{ receiver }

func (*namer) Check(t *bellman.Task) error {
	if t.Key == "" {
		t.Key = t.OrderNo
	}
	t.Body = append([]byte("checked "), t.Body...)
	return nil
}

// A key that the handler filled in keeps contents apart like one of the caller's,
// and is the same as one of the caller's.
func TestKeyFilledIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := run(t, memory.New(), engine.Queue{Name: "q", Handler: &namer{receiver{answer: refuse}}})
		defer stop()
		tests := []struct {
			task     bellman.Task
			existing bool
			err      error
		}{
			{bellman.Task{OrderNo: "O1", Body: []byte("a")}, false, nil},
			{bellman.Task{OrderNo: "O1", Body: []byte("a")}, true, nil},
			{bellman.Task{OrderNo: "O1", Body: []byte("a"), Key: "O1"}, true, nil},
			{bellman.Task{OrderNo: "O1", Body: []byte("b")}, false, bellman.ErrKeyTaken},
			{bellman.Task{OrderNo: "O2", Body: []byte("b")}, false, nil},
		}
		for i, tt := range tests {
			tt.task.Queue = "q"
			if got := e.Add(context.Background(), &tt.task)[0]; got.Existing != tt.existing || !errors.Is(got.Err, tt.err) {
				t.Errorf("task %d: %+v; want existing %t, error %v", i, got, tt.existing, tt.err)
			}
		}
	})
}

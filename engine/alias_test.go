package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A nicknamer is a handler that derives a task's alias from its order number.
type nicknamer struct {
	receiver
	account string
}

func (n *nicknamer) Check(t *bellman.Task) error {
	t.SetAlias(n.account + "/" + t.OrderNo)
	return nil
}

// A task whose alias is already taken is rejected with the id of the task that has it. The alias is
// not part of the content: a repeated request finds its task although the handler now derives
// another alias.
func TestAliasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := &nicknamer{receiver{answer: refuse}, "a"}
		s := memory.New()
		e, stop := run(t, s, engine.Queue{Name: "q", Handler: handler}, engine.Queue{Name: "r", Handler: handler})
		defer stop()
		first := add(t, e, &bellman.Task{Queue: "q", Key: "1", OrderNo: "O1"})
		other := &bellman.Task{Queue: "r", Key: "2", OrderNo: "O1"}
		if got := e.Add(context.Background(), other)[0]; !errors.Is(got.Err, bellman.ErrAliasTaken) || got.ID != first || got.Existing {
			t.Errorf("Add() of another task with a taken alias = %+v; want ErrAliasTaken with %v", got, first)
		}
		if !other.ID.IsZero() || other.Alias() != "" {
			t.Errorf("the rejected task is %+v", other)
		}
		handler.account = "b"
		if got := e.Add(context.Background(), &bellman.Task{Queue: "q", Key: "1", OrderNo: "O1"})[0]; got.Err != nil || got.ID != first || !got.Existing {
			t.Errorf("Add() of the same task = %+v; want it existing as %v", got, first)
		}
		second := add(t, e, other)
		if task := get(t, s, second); task.Alias() != "b/O1" {
			t.Errorf("the alias is %q, want b/O1", task.Alias())
		}
	})
}

package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// After its queue changed its kind, a task is not given to the queue's handler. It is attempted
// when the queue has the task's kind again.
func TestTaskOfAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls, orders := &receiver{answer: accept}, &receiver{answer: accept}
		poll := engine.Queue{Name: "q", Kind: bellman.KindPoll, Handler: polls, Schedule: "0s, 1h*"}
		s := memory.New()
		e, stop := run(t, s, poll)
		defer stop()
		id := add(t, e, &bellman.Task{Queue: "q", Kind: bellman.KindOwn, Delay: time.Minute})
		order := engine.Queue{Name: "q", Kind: bellman.KindOrder, Handler: orders, Schedule: "0s, 1h*"}
		if err := e.SetQueues([]engine.Queue{order}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Kind != bellman.KindPoll || task.State != bellman.Pending || task.Last == nil ||
			!strings.Contains(task.Last.Error, "the task is of kind poll, and its queue is of kind order now") {
			t.Errorf("the task is %+v with the last attempt %+v, %v; want it pending, of kind poll, with the reason", task, task.Last, err)
		}
		if err := e.SetQueues([]engine.Queue{poll}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if len(orders.times()) != 0 || len(polls.times()) != 1 {
			t.Errorf("the handler of orders made %d attempts, that of polls %d; want 0 and 1", len(orders.times()), len(polls.times()))
		}
	})
}

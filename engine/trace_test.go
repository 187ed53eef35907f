package engine

import (
	"context"
	"testing"

	"github.com/bellmanhq/bellman"
)

// Without a tracer, adding a task and making an attempt allocate nothing for traces.
func TestNoTracerCostsNothing(t *testing.T) {
	e := &Engine{runner: new(runner)}
	task := &bellman.Task{Queue: "q", Endpoint: "https://merchant.example"}
	tasks := []*bellman.Task{task}
	f := &flight{task: task}
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		e.follows(ctx, tasks)
		if e.runner.beginSpan(ctx, f) != ctx {
			t.Fatal("beginSpan() returned a new context; want the given one")
		}
		f.endSpan()
		_ = traceID(task)
	}); n != 0 {
		t.Errorf("an attempt without a tracer makes %v allocations for traces; want 0", n)
	}
	if task.Trace() != nil {
		t.Errorf("Trace = %+v without a tracer; want nil", task.Trace())
	}
}

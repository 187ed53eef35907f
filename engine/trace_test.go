package engine

import (
	"context"
	"testing"

	"github.com/bellmanhq/bellman"
)

// Without a tracer neither a task that is added nor an attempt pays anything.
func TestNoTracerCostsNothing(t *testing.T) {
	e := &Engine{runner: new(runner)}
	task := &bellman.Task{Queue: "q", Endpoint: "https://merchant.example"}
	tasks := []*bellman.Task{task}
	f := &flight{task: task}
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		e.follows(ctx, tasks)
		if e.runner.beginSpan(ctx, f) != ctx {
			t.Fatal("beginSpan() made a context of its own")
		}
		f.endSpan()
		_ = traceID(task)
	}); n != 0 {
		t.Errorf("an attempt costs %v allocations for traces that nobody makes; want 0", n)
	}
	if task.Trace() != nil {
		t.Errorf("Trace = %+v without a tracer; want nil", task.Trace())
	}
}

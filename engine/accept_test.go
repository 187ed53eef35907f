package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store/memory"
)

// A task for an unknown queue is rejected, and the error lists the queues that exist.
func TestNoSuchQueue(t *testing.T) {
	tests := []struct {
		queues int
		want   string
	}{
		{1, `there is no queue "nope": want q01`},
		{2, `there is no queue "nope": want one of q01, q02`},
		{10, `there is no queue "nope": want one of q01, q02, q03, q04, q05, q06, q07, q08, q09, q10`},
		{12, `there is no queue "nope": want one of q01, q02, q03, q04, q05, q06, q07, q08, q09, q10 and 2 more`},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var queues []engine.Queue
			for i := tt.queues; i > 0; i-- {
				queues = append(queues, engine.Queue{Name: fmt.Sprintf("q%02d", i), Handler: &receiver{answer: refuse}})
			}
			e, stop := run(t, memory.New(), queues...)
			defer stop()
			var invalid *bellman.Invalid
			err := e.Add(context.Background(), &bellman.Task{Queue: "nope"})[0].Err
			if !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0] != (bellman.FieldError{Field: "queue", Problem: tt.want}) {
				t.Errorf("%d queues: Add() = %v; want an error of the field queue: %s", tt.queues, err, tt.want)
			}
		})
	}
}

package importer

import (
	"context"

	"github.com/bellmanhq/bellman/client"
)

// A Row is one task of another system.
type Row struct {
	Where string            // the row or line, for people: "id 42", "line 7"
	Task  client.CreateTask // the task that it becomes
	Skip  string            // why it becomes no task; empty: it becomes one
	Wrong error             // what is wrong with it; nil: nothing, as far as is known here
}

// A Source reads rows, always in the same order.
type Source interface {
	// Next returns up to limit further rows; none at the end.
	Next(ctx context.Context, limit int) ([]Row, error)
	Close() error
}

package importer

import (
	"context"

	"github.com/bellmanhq/bellman/client"
)

// A Row is what another system knows of one task.
type Row struct {
	Where string            // which row or line, for people: "id 42", "line 7"
	Task  client.CreateTask // what becomes of it
	Skip  string            // why nothing becomes of it; empty: something does
	Wrong error             // what is wrong with it; nil: nothing that is seen here
}

// A Source reads rows, in an order that stays the same.
type Source interface {
	// Next returns up to limit rows after those that it returned before; none at the
	// end.
	Next(ctx context.Context, limit int) ([]Row, error)
	Close() error
}

package reconcile

import (
	"context"
	"io"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bill"
)

// A Desk is what the API and the console need of [Runs]. Its errors are those of package bellman.
type Desk interface {
	// Start requests a comparison with the bill of the queue's channel, as a durable job.
	Start(ctx context.Context, in Request) (Run, error)

	// File compares a file, and returns when the result is stored. A nil mapping means that the
	// file is a bill of the queue's channel.
	File(ctx context.Context, in Request, m *bill.Mapping, file io.Reader) (Run, error)

	Get(ctx context.Context, id string) (Run, error)
	List(ctx context.Context, limit int) ([]Run, error) // the newest days first

	// Differences returns differences with numbers above after, of one kind or of all; next is 0 at
	// the end.
	Differences(ctx context.Context, id string, of bill.DifferenceKind, after, limit int) (items []Item, next int, err error)

	// Settle requests one query about each order that differs.
	Settle(ctx context.Context, id string, by bellman.By) (Run, error)
}

package account

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/registry"
)

// A Desk reads and changes accounts for the API and the console. Its errors are those of a
// Registry. No answer has a key, except sealed ones.
type Desk interface {
	// List returns up to s.Limit accounts after a place. next is the place to continue from; it is
	// empty only at the end.
	List(ctx context.Context, s client.AccountSearch, after string) (page []client.Account, next string, err error)

	Get(ctx context.Context, name string) (client.Account, error)

	// Put registers or changes an account; created reports that it did not exist.
	Put(ctx context.Context, in Wanted, by bellman.By) (a client.Account, created bool, err error)

	// Import puts up to client.MaxBatch accounts at once, and returns one result each, in order.
	// With dry it only reports what it would do.
	Import(ctx context.Context, in []Wanted, dry bool, by bellman.By) ([]registry.Imported, error)

	Delete(ctx context.Context, name string, by bellman.By) error

	// Rotate replaces the keys that are given. Former ones that decrypt or verify stay valid for
	// overlap; a negative overlap means registry.DefaultOverlap.
	Rotate(ctx context.Context, name string, in client.RotateAccount, overlap time.Duration, by bellman.By) (client.Account, error)
}

package console

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/store"
)

// An Engine does what is done by hand, and knows the figures of all nodes. Errors
// are those of package bellman.
type Engine interface {
	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error)
	Complete(ctx context.Context, id bellman.ID, outcome string, by bellman.By) (*bellman.Task, error)
	Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error)
	Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error)

	// Settle attempts tasks of any state now and waits until what came of it is
	// recorded; where ctx ends first, ErrWaiting.
	Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error)

	// Held says what is paused of a pending task's queue, merchant and endpoint, as audit
	// records name it; nil: nothing is.
	Held(t *bellman.Task) (target string, pause *figures.Pause)

	// Route is what holds for a task now, beside what is its own and its queue's.
	Route(t *bellman.Task) bellman.Route

	PauseQueue(ctx context.Context, name string, by bellman.By) error
	ResumeQueue(ctx context.Context, name string, by bellman.By) error
	PauseEndpoint(ctx context.Context, name string, by bellman.By) error
	ResumeEndpoint(ctx context.Context, name string, by bellman.By) error

	// PausedMerchants are the merchants that are paused, the longest paused first.
	PausedMerchants() []figures.MerchantPause

	// Figures are those of all nodes, and of nothing before they started; it names the
	// nodes that did not answer in time.
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)
}

// A Reader is what the console reads from a store; every [store.Store] has it.
type Reader interface {
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)
	Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error)
	Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error)
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error)
	Audits(ctx context.Context, before time.Time, limit int) ([]store.Audit, error)
	Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error)
	State(ctx context.Context, kind string) (store.State, error)
}

// Records are small documents that all nodes share; every [store.Store] has them.
type Records interface {
	// Commit is only called with Docs.
	Commit(ctx context.Context, b *store.Batch) error
	store.DocReader
}

// A Secret is one that all nodes share.
type Secret interface {
	// Key makes a key for a purpose, the same at every node and after a restart.
	Key(purpose string) []byte

	// Refresh looks whether the secret is another one by now, unless that was done
	// just now. It reports whether it did.
	Refresh(ctx context.Context) bool
}

// Nodes says which nodes share the tasks of a store.
type Nodes interface {
	// Nodes returns the nodes by name, and the shards that none of them has.
	Nodes(ctx context.Context) (nodes []engine.NodeInfo, unowned []store.Lease, err error)
}

// Alarms are conditions that people are told of.
type Alarms interface {
	// List returns those that are raised, and then those that ended lately.
	List(ctx context.Context) ([]alarm.Alarm, error)
}

package console

import (
	"context"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/store"
)

// An Engine performs manual actions and has the figures of all nodes. Its errors are those of
// package bellman.
type Engine interface {
	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error)
	Complete(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error)
	// Decide is Complete for an order that a person decides. by.Reason is required, and an alarm is
	// raised.
	Decide(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error)

	Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error)
	Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error)

	// Settle attempts tasks of any state now and waits until the outcome is recorded. If ctx ends
	// first, it returns ErrWaiting.
	Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error)

	// Held returns which pause of its queue, merchant or endpoint applies to a pending task; target
	// is named as in audit records. nil: none.
	Held(t *bellman.Task) (target string, pause *figures.Pause)

	// Route returns the rules that hold for a task now in addition to its own and its queue's.
	Route(t *bellman.Task) bellman.Route

	PauseQueue(ctx context.Context, name string, by bellman.By) error
	ResumeQueue(ctx context.Context, name string, by bellman.By) error
	PauseEndpoint(ctx context.Context, name string, by bellman.By) error
	ResumeEndpoint(ctx context.Context, name string, by bellman.By) error

	// PausedMerchants returns the paused merchants, the longest paused first.
	PausedMerchants() []figures.MerchantPause

	// Figures returns the figures of all nodes since they started. It names the nodes that did not
	// answer in time.
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)
}

// A Reader is the part of a [store.Store] that the console reads.
type Reader interface {
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)
	Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error)
	Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error)
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error)
	Audits(ctx context.Context, before time.Time, limit int) ([]store.Audit, error)
	Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error)
	State(ctx context.Context, kind string) (store.State, error)
}

// Records is the part of a [store.Store] for small documents that all nodes share.
type Records interface {
	// Commit is called only with Docs.
	Commit(ctx context.Context, b *store.Batch) error
	store.DocReader
}

// A Secret is a secret that all nodes share.
type Secret interface {
	// Key derives a key for a purpose. It is the same on every node and after a restart.
	Key(purpose string) []byte

	// Refresh reads the secret again, unless it was read just now, and reports whether it changed.
	Refresh(ctx context.Context) bool
}

// Attention lists what needs a person.
type Attention interface {
	// List returns what needs a person now, what affects most first.
	List(ctx context.Context) (attention.List, error)

	// Rules returns the rules of the alarms, whose thresholds colour the figures.
	Rules() []alarm.Rule
}

package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// An Engine does the work of the API. Its errors are those of package bellman: an
// *[bellman.Invalid] names fields as the API does.
//
// If it is also a [bellman.Checker], it checks tasks in which the API found mistakes, so that the
// caller gets all mistakes at once.
type Engine interface {
	// Add returns one result for each task, in order. When it returns, tasks are durable and
	// complete: id, status, and the rules of their queues.
	Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	// Try reports what Add would do now, and adds nothing. It completes the tasks except for their
	// ids.
	Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error)
	Complete(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error)

	// Decide is Complete by a person. by.Reason is required, and an alarm is raised.
	Decide(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error)

	Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error)
	Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error)

	// Settle attempts up to 1,000 tasks of any state now, and returns each after its outcome is
	// recorded, in order. It returns ErrWaiting if ctx ends first. The due time of a pending task
	// does not change.
	Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error)

	// SettleOverdue does the same for tasks that are overdue or in flight, and returns the others
	// unchanged.
	SettleOverdue(ctx context.Context, ids ...bellman.ID) ([]engine.Settled, error)

	PauseQueue(ctx context.Context, name string, by bellman.By) error
	ResumeQueue(ctx context.Context, name string, by bellman.By) error
	PauseEndpoint(ctx context.Context, name string, by bellman.By) error
	ResumeEndpoint(ctx context.Context, name string, by bellman.By) error

	// Figures returns the figures of all nodes, and the names of nodes that did not answer in time.
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)

	// Subscribe returns events from now on. A slow subscriber misses events. The channel is closed
	// at shutdown and by cancel.
	Subscribe(buffer int) (events <-chan engine.Event, cancel func())

	// Ready returns nil if the store answers and tasks are attempted, and ErrFull if only new tasks
	// are rejected for lack of room. Anybody may read the text of its error.
	Ready(ctx context.Context) error
}

// A Reader is the part of a [store.Store] that the API reads.
type Reader interface {
	Task(ctx context.Context, id bellman.ID) (*bellman.Task, error)
	store.Finder
	Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error)
	Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error)
	List(ctx context.Context, f store.Filter, before bellman.ID, limit int) ([]*bellman.Task, bellman.ID, error)
	Audits(ctx context.Context, before time.Time, limit int) ([]store.Audit, error)
}

// A Backuper copies a store while it is in use.
type Backuper interface {
	// Backup writes a consistent copy into dir, which must not exist, and an audit record.
	Backup(ctx context.Context, dir string, by bellman.By) error
}

// Options of an API. Engine and Reader are required.
type Options struct {
	Engine  Engine
	Reader  Reader
	Resends resend.Desk // nil: bulk resends are answered with 501

	Reconciliations reconcile.Desk // nil: reconciliations are answered with 501

	// Nodes returns the nodes that share the store, by name, and the shards without an owner. nil:
	// the list of nodes is answered with 501.
	Nodes func(context.Context) (nodes []engine.NodeInfo, unowned []store.Lease, err error)

	Merchants merchant.Desk // nil: merchants are answered with 501
	Accounts  account.Desk  // nil: accounts are answered with 501

	Links     Links   // nil: links are answered with 501
	Notices   Notices // nil: notices that are handed in are answered with 501
	PublicURL string  // the address at which merchants reach this server, for links; empty: unknown

	Backup  Backuper     // nil: the store is a database, and backups are answered with 501
	Metrics http.Handler // served at /metrics; nil: 404

	Alarms    Alarms                // nil: there are none
	Attention Attention             // nil: nothing needs anybody
	Sources   func() []source.Info  // nil: there are none
	Intake    func() figures.Intake // whether new tasks are accepted; nil: always

	// Kinds returns the kind of a queue, notify or order; empty: there is no such queue. nil: all
	// are notify.
	Kinds func(queue string) string

	// Channels returns the channel of a queue's orders, such as wechatpay; empty: unknown. nil: all
	// are.
	Channels func(queue string) string

	// CheckURL returns an *bellman.Invalid for a new task whose address its queue does not allow.
	// nil: all are allowed.
	CheckURL func(t *bellman.Task) error

	// Sent builds the request of an attempt again; see [client.Sent]. nil: attempts are shown
	// without.
	Sent func(ctx context.Context, t *bellman.Task, a *bellman.Attempt, reveal bool) (deliver.Sent, error)

	// Keys are the keys of the API. Without any, every caller may do everything: then listen only
	// on a loopback address.
	Keys []access.Key

	// Proxies are trusted: their X-Forwarded-For is used in audit records.
	Proxies access.Proxies

	// Schedules is a cache of parsed schedules, shared with other packages; nil: the API has its
	// own.
	Schedules *schedule.Cache

	// Refused is called for each request with an unknown key. nil: nothing is called.
	Refused func()

	// Record writes an audit record of an export or a rejected request. nil: there are none.
	Record func(context.Context, store.Audit) error

	// Traced wraps the handler of requests that create tasks, after their authorisation, to make
	// spans. nil: no spans.
	Traced func(http.Handler) http.Handler

	Version string       // in the OpenAPI document; default "dev"
	Log     *slog.Logger // default: slog.Default()
}

// An API is the HTTP API as a handler. It is safe for concurrent use.
type API struct {
	o    Options // with defaults
	keys atomic.Pointer[keyring]

	inBatches         atomic.Int64 // bytes of batches in work
	inSettles         atomic.Int64 // orders in work
	billFiles         atomic.Int64 // uploads in work
	queried           queryTimes   // out of turn
	guesses           access.Limit // unknown keys, by address
	usual             usual
	refusals, exports access.Sampler // events with an audit record
	listeners         access.Slots   // open streams of events

	mux         *http.ServeMux
	crossOrigin *http.CrossOriginProtection
	doc         *huma.OpenAPI
	docText     []byte
}

// New returns the API. Its error says what is wrong with the keys.
func New(o Options) (*API, error) {
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Version = cmp.Or(o.Version, "dev")
	o.Schedules = cmp.Or(o.Schedules, new(schedule.Cache))
	if o.Refused == nil {
		o.Refused = func() {}
	}
	if o.Channels == nil {
		o.Channels = func(string) string { return "" }
	}
	if o.CheckURL == nil {
		o.CheckURL = func(*bellman.Task) error { return nil }
	}
	if o.Record == nil {
		o.Record = func(context.Context, store.Audit) error { return nil }
	}
	a := &API{
		o:           o,
		guesses:     access.Limit{Most: maxGuesses, Window: guessWindow},
		refusals:    access.Sampler{Every: time.Minute, Most: 30},
		exports:     access.Sampler{Every: time.Minute, Most: 1000},
		mux:         http.NewServeMux(),
		crossOrigin: http.NewCrossOriginProtection(),
	}
	if err := a.SetKeys(o.Keys); err != nil {
		return nil, err
	}
	if err := a.register(); err != nil {
		return nil, err
	}
	return a, nil
}

const (
	maxTask = 256 << 10 // bytes that one task sends, whatever the length of its JSON

	// maxJSON limits the JSON of one task: a body in which every byte is escaped as \u00XX, and the
	// other fields.
	maxJSON = 6*maxTask + 64<<10

	maxBatch = 16 << 20 // bytes of a batch's JSON
)

// kindOf returns the kind of a queue; empty: there is no such queue.
func (a *API) kindOf(queue string) string {
	if a.o.Kinds == nil {
		return "notify"
	}
	return a.o.Kinds(queue)
}

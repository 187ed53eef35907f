package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// An Engine does what the API asks for. Errors are those of package bellman: an
// *[bellman.Invalid] names fields as the API does.
//
// One that is a [bellman.Checker] too is asked about a task that the API itself
// found faults in, so that the caller reads of all of them at once.
type Engine interface {
	// Add returns one result per task, in order. Tasks are durable when it
	// returns, and filled in: id, status, and the rules of their queues.
	Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	// Try says what Add would make of tasks now, and adds nothing. It fills them in but
	// for their ids.
	Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error)
	Complete(ctx context.Context, id bellman.ID, outcome string, by bellman.By) (*bellman.Task, error)
	Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error)
	Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error)

	// Settle attempts up to 1,000 tasks of any state now and waits until what came
	// of it is recorded; it returns each as it then is, in order. Where ctx ends
	// first, ErrWaiting. A task that goes on stays due when it was.
	Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error)

	// SettleOverdue is Settle for those that are overdue or in flight; the others
	// come back as they are.
	SettleOverdue(ctx context.Context, ids ...bellman.ID) ([]engine.Settled, error)

	PauseQueue(ctx context.Context, name string, by bellman.By) error
	ResumeQueue(ctx context.Context, name string, by bellman.By) error
	PauseEndpoint(ctx context.Context, name string, by bellman.By) error
	ResumeEndpoint(ctx context.Context, name string, by bellman.By) error

	// Figures returns the figures of all nodes that share the store, and names those
	// that did not say theirs in time.
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)

	// Subscribe returns events from now on. A slow subscriber loses events; the
	// channel is closed at shutdown, and by cancel.
	Subscribe(buffer int) (events <-chan engine.Event, cancel func())

	// Ready returns nil when the store answers and tasks are fired, and ErrFull when
	// that is so but nothing new is taken in for want of room. Its text is shown to
	// whoever asks.
	Ready(ctx context.Context) error
}

// A Reader is what the API reads from a store; every [store.Store] has it.
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
	// Backup writes a consistent copy into dir, which must not exist yet, and records
	// that it was made.
	Backup(ctx context.Context, dir string, by bellman.By) error
}

// Options say what the API stands on. Engine and Reader are required.
type Options struct {
	Engine  Engine
	Reader  Reader
	Resends Resends // nil: bulk resends are answered with 501
	Nodes   Nodes   // nil: the list of nodes is answered with 501

	Merchants merchant.Desk // nil: merchants are answered with 501

	Links     Links  // nil: links are answered with 501
	PublicURL string // where merchants reach this server, for links; empty: not known

	Backup  Backuper     // nil: the store is a database, and backups are answered with 501
	Metrics http.Handler // served at /metrics; nil: 404

	Alarms  Alarms                // nil: there are none
	Sources func() []source.Info  // nil: there are none
	Intake  func() figures.Intake // whether tasks are taken in; nil: always

	// Kinds says what the tasks of a queue are, notify or order; empty: there is no
	// such queue. nil: all are notify.
	Kinds func(queue string) string

	// Keys are who may call. Without any, everybody may do everything: then listen
	// on a loopback address only.
	Keys []access.Key

	// Proxies are those whose X-Forwarded-For is believed, for audit records.
	Proxies []netip.Prefix

	MaxTaskBytes  int // what one task sends, of whatever length its JSON is; default 256 KiB
	MaxBatchBytes int // JSON of a batch; default 16 MiB

	// Schedules are the parsed ones, shared with others that parse the same; nil: the API's own.
	Schedules *schedule.Cache

	// Refused is called for each request with a key that is not known. nil: nobody counts them.
	Refused func()

	// Record keeps an audit record of what changes nothing: an export, a request that was
	// refused. nil: there are none.
	Record func(context.Context, store.Audit) error

	// Traced makes spans of the requests that create tasks, once it is known that they may. nil:
	// nobody wants any.
	Traced func(http.Handler) http.Handler

	Version string       // in the OpenAPI document; default "dev"
	Log     *slog.Logger // default: slog.Default()
}

// An API is bellman's HTTP API as a handler. It is safe for concurrent use.
type API struct {
	engine    Engine
	reader    Reader
	resends   Resends
	links     Links
	publicURL string
	nodes     Nodes
	merchants merchant.Desk
	backup    Backuper
	alarms    Alarms
	sources   func() []source.Info
	intake    func() figures.Intake
	kinds     func(string) string
	keys      atomic.Pointer[keyring]
	proxies   access.Proxies
	log       *slog.Logger

	maxTask, maxBatch int          // of what one task sends, and of a batch's JSON
	inBatches         atomic.Int64 // bytes of batches being worked on
	inSettles         atomic.Int64 // orders being settled
	asks              asks
	guesses           access.Limit // of keys, by address
	usual             usual
	refused           func()
	traced            func(http.Handler) http.Handler
	record            func(context.Context, store.Audit) error
	refusals, exports access.Seldom // that have a record
	listeners         access.Crowd  // streams of events

	schedules *schedule.Cache
	mux       *http.ServeMux
	foreign   *http.CrossOriginProtection
	doc       *huma.OpenAPI
	docText   []byte
}

// New returns the API. The error names what is wrong with the keys.
func New(o Options) (*API, error) {
	a := &API{
		engine: o.Engine, reader: o.Reader, resends: o.Resends, links: o.Links, publicURL: o.PublicURL, nodes: o.Nodes, merchants: o.Merchants, backup: o.Backup,
		alarms: o.Alarms, sources: o.Sources, intake: o.Intake, kinds: o.Kinds, proxies: o.Proxies, log: cmp.Or(o.Log, slog.Default()),
		maxTask:   cmp.Or(o.MaxTaskBytes, 256<<10),
		maxBatch:  cmp.Or(o.MaxBatchBytes, 16<<20),
		mux:       http.NewServeMux(),
		foreign:   http.NewCrossOriginProtection(),
		schedules: cmp.Or(o.Schedules, new(schedule.Cache)),
	}
	a.guesses, a.refused = access.Limit{Most: maxGuesses, Window: guessWindow}, o.Refused
	if a.refused == nil {
		a.refused = func() {}
	}
	a.traced = o.Traced
	if a.record = o.Record; a.record == nil {
		a.record = func(context.Context, store.Audit) error { return nil }
	}
	a.refusals = access.Seldom{Every: time.Minute, Most: 30}
	a.exports = access.Seldom{Every: time.Minute, Most: 1000}
	if err := a.SetKeys(o.Keys); err != nil {
		return nil, err
	}
	if err := a.register(o); err != nil {
		return nil, err
	}
	return a, nil
}

// maxJSON bounds the JSON of one task: as long as a body can get when each of its
// bytes is escaped as \u00XX, and what comes with it.
func (a *API) maxJSON() int { return 6*a.maxTask + 64<<10 }

// kindOf is what the tasks of a queue are; empty: there is no such queue.
func (a *API) kindOf(queue string) string {
	if a.kinds == nil {
		return "notify"
	}
	return a.kinds(queue)
}

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
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// An Engine does the work of the API. Its errors are those of package bellman: an *[bellman.Invalid] names
// fields as the API does.
//
// If it is also a [bellman.Checker], it checks tasks in which the API found mistakes, so that the caller gets
// all mistakes at once.
type Engine interface {
	// Add returns one result for each task, in order. When it returns, tasks are durable and complete: id,
	// status, and the rules of their queues.
	Add(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	// Try reports what Add would do now, and adds nothing. It completes the tasks except for their ids.
	Try(ctx context.Context, tasks ...*bellman.Task) []bellman.Added

	Cancel(ctx context.Context, id bellman.ID, by bellman.By) (*bellman.Task, error)
	Complete(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error)

	// Decide is Complete by a person. by.Reason is required, and an alarm is raised.
	Decide(ctx context.Context, id bellman.ID, with bellman.Completion, by bellman.By) (*bellman.Task, error)

	Resend(ctx context.Context, id bellman.ID, mode engine.ResendMode, by bellman.By) (*bellman.Task, error)
	Reschedule(ctx context.Context, id bellman.ID, due time.Time, by bellman.By) (*bellman.Task, error)

	// Settle attempts up to 1,000 tasks of any state now, and returns each after its outcome is recorded, in
	// order. It returns ErrWaiting if ctx ends first. The due time of a pending task does not change.
	Settle(ctx context.Context, by bellman.By, ids ...bellman.ID) ([]engine.Settled, error)

	// SettleOverdue does the same for tasks that are overdue or in flight, and returns the others unchanged.
	SettleOverdue(ctx context.Context, ids ...bellman.ID) ([]engine.Settled, error)

	PauseQueue(ctx context.Context, name string, by bellman.By) error
	ResumeQueue(ctx context.Context, name string, by bellman.By) error
	PauseEndpoint(ctx context.Context, name string, by bellman.By) error
	ResumeEndpoint(ctx context.Context, name string, by bellman.By) error

	// Figures returns the figures of all nodes, and the names of nodes that did not answer in time.
	Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error)

	// Subscribe returns events from now on. A slow subscriber misses events. The channel is closed at shutdown
	// and by cancel.
	Subscribe(buffer int) (events <-chan engine.Event, cancel func())

	// Ready returns nil if the store answers and tasks are attempted, and ErrFull if only new tasks are
	// rejected for lack of room. Anybody may read the text of its error.
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
	Resends Resends // nil: bulk resends are answered with 501

	Reconciliations Reconciliations // nil: reconciliations are answered with 501

	Nodes Nodes // nil: the list of nodes is answered with 501

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

	// Kinds returns the kind of a queue, notify or order; empty: there is no such queue. nil: all are notify.
	Kinds func(queue string) string

	// Channels returns the channel of a queue's orders, such as wechatpay; empty: unknown. nil: all are.
	Channels func(queue string) string

	// CheckURL returns an *bellman.Invalid for a new task whose address its queue does not allow. nil: all
	// are allowed.
	CheckURL func(t *bellman.Task) error

	// Sent builds the request of an attempt again; see [client.Sent]. nil: attempts are shown without.
	Sent func(ctx context.Context, t *bellman.Task, a *bellman.Attempt, reveal bool) (deliver.Sent, error)

	// Keys are the keys of the API. Without any, every caller may do everything: then listen only on a
	// loopback address.
	Keys []access.Key

	// Proxies are trusted: their X-Forwarded-For is used in audit records.
	Proxies []netip.Prefix

	MaxTaskBytes  int // bytes that one task sends, whatever the length of its JSON; default 256 KiB
	MaxBatchBytes int // bytes of a batch's JSON; default 16 MiB

	// Schedules is a cache of parsed schedules, shared with other packages; nil: the API has its own.
	Schedules *schedule.Cache

	// Refused is called for each request with an unknown key. nil: nothing is called.
	Refused func()

	// Record writes an audit record of an export or a rejected request. nil: there are none.
	Record func(context.Context, store.Audit) error

	// Traced wraps the handler of requests that create tasks, after their authorisation, to make spans. nil:
	// no spans.
	Traced func(http.Handler) http.Handler

	Version string       // in the OpenAPI document; default "dev"
	Log     *slog.Logger // default: slog.Default()
}

// An API is the HTTP API as a handler. It is safe for concurrent use.
type API struct {
	engine    Engine
	reader    Reader
	resends   Resends
	links     Links
	notices   Notices
	publicURL string
	nodes     Nodes
	merchants merchant.Desk
	accounts  account.Desk
	backup    Backuper
	alarms    Alarms
	attention Attention
	sources   func() []source.Info
	intake    func() figures.Intake
	kinds     func(string) string
	channels  func(string) string
	checkURL  func(*bellman.Task) error
	sent      func(context.Context, *bellman.Task, *bellman.Attempt, bool) (deliver.Sent, error)
	keys      atomic.Pointer[keyring]
	proxies   access.Proxies
	log       *slog.Logger

	reconciliations Reconciliations
	billFiles       atomic.Int64 // uploads in work

	maxTask, maxBatch int          // bytes that one task sends, and bytes of a batch's JSON
	inBatches         atomic.Int64 // bytes of batches in work
	inSettles         atomic.Int64 // orders in work
	asks              asks
	guesses           access.Limit // unknown keys, by address
	usual             usual
	refused           func()
	traced            func(http.Handler) http.Handler
	record            func(context.Context, store.Audit) error
	refusals, exports access.Seldom // events with an audit record
	listeners         access.Crowd  // open streams of events

	schedules *schedule.Cache
	mux       *http.ServeMux
	foreign   *http.CrossOriginProtection
	doc       *huma.OpenAPI
	docText   []byte
}

// New returns the API. Its error says what is wrong with the keys.
func New(o Options) (*API, error) {
	a := &API{
		engine: o.Engine, reader: o.Reader, resends: o.Resends, links: o.Links, notices: o.Notices, publicURL: o.PublicURL, nodes: o.Nodes, merchants: o.Merchants, accounts: o.Accounts, backup: o.Backup,
		alarms: o.Alarms, attention: o.Attention, sources: o.Sources, intake: o.Intake, kinds: o.Kinds, proxies: o.Proxies, log: cmp.Or(o.Log, slog.Default()),
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
	a.sent = o.Sent
	if a.channels = o.Channels; a.channels == nil {
		a.channels = func(string) string { return "" }
	}
	if a.checkURL = o.CheckURL; a.checkURL == nil {
		a.checkURL = func(*bellman.Task) error { return nil }
	}
	a.traced = o.Traced
	if a.record = o.Record; a.record == nil {
		a.record = func(context.Context, store.Audit) error { return nil }
	}
	a.reconciliations = o.Reconciliations
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

// maxJSON limits the JSON of one task: a body in which every byte is escaped as \u00XX, and the other fields.
func (a *API) maxJSON() int { return 6*a.maxTask + 64<<10 }

// kindOf returns the kind of a queue; empty: there is no such queue.
func (a *API) kindOf(queue string) string {
	if a.kinds == nil {
		return "notify"
	}
	return a.kinds(queue)
}

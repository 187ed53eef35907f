package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/commit"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// An Engine attempts the tasks of a store. Make it with New, then call Run. All methods are safe
// for concurrent use.
type Engine struct {
	*Admin   // changes that people and services request
	*Monitor // what the engine is doing

	store   store.Store
	log     *slog.Logger
	clock   *clock.Clock
	options Options
	life    *life

	// The objects. DESIGN.md explains the responsibility of each.
	rules         *Rules
	leases        *cluster.Member
	agenda        *agenda
	loader        *loader
	dispatch      *dispatch.D[*item]
	runner        *runner
	committer     *committer
	chains        *chains
	unknownQueues *unknownQueues
	intake        *intake
	watch         *watch
	shares        *shares
}

// New makes an engine. It starts nothing; Run does.
func New(o Options) (*Engine, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	(&guard{log: o.Logger}).around(&o)
	e := connect(o)
	if err := e.SetQueues(o.Queues); err != nil {
		return nil, err
	}
	return e, nil
}

// connect makes the objects of an engine and gives each the others that it needs.
func connect(o Options) *Engine {
	w := newWiring(o)
	w.connectCluster()
	w.connectLoader()
	w.connectAttempts()
	w.connectCommitter()
	w.connectMonitor()
	return w.Engine
}

// A wiring has the objects of an engine while connect makes them: those of the Engine, and those
// that only other objects need. Objects that need each other exist from the start, and are filled
// in later.
type wiring struct {
	*Engine
	use    store.Use
	limits Limits
	node   string // the name of this node in the attempts' log

	attempts context.Context // of all attempts: it ends when they must
	cutOff   context.CancelFunc

	host      *host
	ticker    *ticker
	outside   *outside
	pauses    *pauses
	contents  *contents
	lines     *lines
	announcer *announcer
	deferrals *deferrals
	recorder  *recorder
}

func newWiring(o Options) *wiring {
	c, limits := clock.New(o.Wall), o.Limits
	w := &wiring{use: store.UseOf(o.Store), limits: limits, node: fmt.Sprintf("%s/%s", o.Node, o.Process), host: new(host), ticker: new(ticker), outside: new(outside)}
	w.attempts, w.cutOff = context.WithCancel(context.Background())
	w.Engine = &Engine{
		store:     o.Store,
		log:       o.Logger,
		clock:     c,
		options:   o,
		life:      newLife(o.Logger),
		runner:    new(runner),
		committer: new(committer),
		chains:    new(chains),
		watch:     newWatch(o.Observer, c),
		agenda:    newAgenda(c, new(shelves), limits.Agenda, limits.Waiting),
		dispatch: dispatch.New[*item](dispatch.Options{
			Floor:      o.PoolFloor,
			Ceiling:    o.MaxInFlight,
			LineBound:  limits.Line,
			TotalBound: limits.Lines,
			Patience:   longWait,
			Start:      4, // a thousand new endpoints at once are four thousand connections
		}),
	}
	w.ticker.init(c)
	return w
}

// connectCluster makes what knows shards, queues and pauses.
func (w *wiring) connectCluster() {
	o := w.options
	w.leases = cluster.New(cluster.Options{
		Store: w.store, Log: w.log, Clock: w.clock, Sole: w.use.Exclusive, Base: w.node, Addr: o.Addr, Version: o.Version, Docs: pauseKind, Hint: o.Hint,
	}, w.host)
	w.rules = &Rules{log: w.log, ctx: w.attempts, schedules: o.Schedules, leases: w.leases}
	w.pauses = &pauses{
		store: w.store, clock: w.clock, leases: w.leases, dispatch: w.dispatch, committer: w.committer, life: w.life, resumed: w.runner.resume,
	}
	w.pauses.init()
	w.unknownQueues = &unknownQueues{log: w.log, clock: w.clock, rules: w.rules, dispatch: w.dispatch, pauses: w.pauses}
	w.unknownQueues.init()
}

// connectLoader makes what brings tasks from the store to their lines.
func (w *wiring) connectLoader() {
	shelves := w.agenda.shelves
	w.contents = &contents{
		store: w.store, log: w.log, clock: w.clock, leases: w.leases, agenda: w.agenda, dispatch: w.dispatch, most: w.limits.Chunk,
	}
	w.lines = &lines{
		rules: w.rules, agenda: w.agenda, contents: w.contents, dispatch: w.dispatch, shelves: shelves, outside: w.outside,
		unknownQueues: w.unknownQueues,
	}
	w.announcer = &announcer{store: w.store, log: w.log, clock: w.clock, leases: w.leases, agenda: w.agenda, committer: w.committer}
	w.announcer.init()
	w.deferrals = &deferrals{clock: w.clock, agenda: w.agenda, announcer: w.announcer, committer: w.committer, most: w.limits.Uncommitted}
	w.loader = &loader{
		store: w.store, log: w.log, clock: w.clock, leases: w.leases, agenda: w.agenda, dispatch: w.dispatch, contents: w.contents, pauses: w.pauses,
		shelves: shelves, ticker: w.ticker, deferrals: w.deferrals, lines: w.lines, outside: w.outside, pump: w.runner.pump, limits: w.limits,
	}
	w.loader.init()
	w.intake = &intake{
		store: w.store, log: w.log, leases: w.leases, loader: w.loader, dispatch: w.dispatch, committer: w.committer,
		flow: w.options.Flow, spare: w.options.Spare, crowded: sleep.NewWaker(),
	}
}

// connectAttempts makes what changes tasks: requests of people and services, and attempts.
func (w *wiring) connectAttempts() {
	w.recorder = &recorder{
		store: w.store, log: w.log, clock: w.clock, rules: w.rules, agenda: w.agenda, committer: w.committer, attempts: w.attempts,
		patience: w.life.patience,
	}
	w.Admin = &Admin{
		store: w.store, clock: w.clock, rules: w.rules, leases: w.leases, agenda: w.agenda, committer: w.committer, recorder: w.recorder,
		pauses: w.pauses, watch: w.watch, life: w.life, turns: newTurns(), decided: w.options.Decided,
	}
	*w.chains = chains{
		store: w.store, log: w.log, clock: w.clock, leases: w.leases, agenda: w.agenda, admin: w.Admin, deferrals: w.deferrals,
		attempts: w.attempts, patience: w.life.patience, work: &w.committer.todo,
	}
	w.chains.init()
	chains := w.chains
	w.agenda.turns.freed = func(c chain) { chains.push(c, passing{superseded: true}) }
	starts := &gate{
		clock: w.clock, rules: w.rules, leases: w.leases, agenda: w.agenda, loader: w.loader, contents: w.contents, dispatch: w.dispatch,
		chains: w.chains, announcer: w.announcer, pauses: w.pauses, unknownQueues: w.unknownQueues, deferrals: w.deferrals, ticker: w.ticker,
		attempts: w.attempts,
	}
	*w.runner = runner{
		log: w.log, clock: w.clock, tracer: w.options.Tracer, chunk: w.limits.Chunk, life: w.life, leases: w.leases, agenda: w.agenda,
		loader: w.loader, contents: w.contents, dispatch: w.dispatch, lines: w.lines, gate: starts, recorder: w.recorder,
		committer: w.committer, announcer: w.announcer, ticker: w.ticker, node: w.node, attempts: w.attempts, cutOff: w.cutOff,
	}
	w.runner.init()
}

// connectCommitter makes the lanes, and what depends on them when shards come and go.
func (w *wiring) connectCommitter() {
	*w.committer = committer{
		store: w.store, log: w.log, clock: w.clock, leases: w.leases, agenda: w.agenda, ticker: w.ticker, watch: w.watch,
		after: aftermath{w.runner, w.chains, w.intake}, patience: w.life.patience, mostChanged: w.limits.Changed,
	}
	w.committer.init(commit.Options{Most: w.limits.Uncommitted, Patience: w.life.patience, Batch: cmp.Or(w.limits.Batch, w.use.BatchSize, maxBatch)})
	w.shares = &shares{
		clock: w.clock, rules: w.rules, leases: w.leases, dispatch: w.dispatch, outcomes: w.committer.outcomes, ticker: w.ticker,
	}
	*w.host = host{
		agenda: w.agenda, loader: w.loader, dispatch: w.dispatch, contents: w.contents, shares: w.shares, announcer: w.announcer, pauses: w.pauses,
		handover: &handover{clock: w.clock, life: w.life, agenda: w.agenda, committer: w.committer, stopTimeout: w.options.StopTimeout},
		runner:   w.runner, leases: w.leases, watch: w.watch,
	}
}

func (w *wiring) connectMonitor() {
	o := w.options
	w.Monitor = &Monitor{
		store: w.store, log: w.log, clock: w.clock, rules: w.rules, leases: w.leases, agenda: w.agenda, dispatch: w.dispatch,
		committer: w.committer, loader: w.loader, pauses: w.pauses, unknownQueues: w.unknownQueues, intake: w.intake, ticker: w.ticker,
		watch: w.watch, page: w.limits.Page, ask: o.Ask, failing: o.Failing, refused: o.Refused,
	}
}

// SetQueues replaces all queues. Existing tasks keep the schedule and the rules they were accepted
// with. Limits and handlers apply at once. On an error nothing changes.
func (e *Engine) SetQueues(queues []Queue) error {
	if err := e.rules.setQueues(queues); err != nil {
		return err
	}
	e.unknownQueues.settle(*e.rules.queues.Load())
	e.shares.apply()
	e.runner.comeBack() // there may be room for deferred tasks
	return nil
}

// SetPool replaces Options.PoolFloor and Options.MaxInFlight; 0 means the default. The limit of
// concurrent attempts to quick endpoints adapts between floor and three quarters of ceiling.
// Ceiling limits the attempts to all endpoints together. Attempts beyond a smaller ceiling are not
// interrupted. On an error nothing changes; the error names the wrong value.
func (e *Engine) SetPool(floor, ceiling int) error {
	floor, ceiling, err := poolOf(floor, ceiling)
	if err != nil {
		return err
	}
	e.dispatch.Resize(e.clock.Now().UnixNano(), floor, ceiling)
	e.runner.pump()
	return nil
}

// Ready returns nil while the engine runs, can write, and its leases are valid.
func (e *Engine) Ready(context.Context) error {
	switch {
	case e.life.stopping.Load():
		return bellman.ErrClosed
	case e.runner.ready.Load() && (e.leases.Sole() || e.leases.Trusting()):
		return nil
	case e.runner.ready.Load():
		return errors.New("bellman: the store has not accepted this node's heartbeats, so no attempts start; the log says why")
	}
	select {
	case <-e.life.started:
		return errors.New("bellman: the store rejects every write, so no attempts start; the log says why")
	default:
		return errors.New("bellman: the engine has not started")
	}
}

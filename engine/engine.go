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
	use, limits := store.UseOf(o.Store), o.Limits
	node := fmt.Sprintf("%s/%s", o.Node, o.Process)
	c, life, tick := clock.New(o.Wall), newLife(o.Logger), new(ticker)
	attempts, cutOff := context.WithCancel(context.Background())
	e := &Engine{
		store:     o.Store,
		log:       o.Logger,
		clock:     c,
		options:   o,
		life:      life,
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
	tick.init(c)
	h := new(host)
	e.leases = cluster.New(cluster.Options{
		Store: o.Store, Log: o.Logger, Clock: c, Sole: use.Exclusive, Base: node, Addr: o.Addr, Version: o.Version, Docs: pauseKind, Hint: o.Hint,
	}, h)
	e.rules = &Rules{log: o.Logger, ctx: attempts, schedules: o.Schedules, leases: e.leases}

	paused := &pauses{
		store: o.Store, clock: c, leases: e.leases, dispatch: e.dispatch, committer: e.committer, life: life, resumed: e.runner.resume,
	}
	paused.init()
	e.unknownQueues = &unknownQueues{log: o.Logger, clock: c, rules: e.rules, dispatch: e.dispatch, pauses: paused}
	e.unknownQueues.init()
	content := &contents{
		store: o.Store, log: o.Logger, clock: c, leases: e.leases, agenda: e.agenda, dispatch: e.dispatch, most: limits.Chunk,
	}
	out := new(outside)
	line := &lines{
		rules: e.rules, agenda: e.agenda, contents: content, dispatch: e.dispatch, shelves: e.agenda.shelves, outside: out,
		unknownQueues: e.unknownQueues,
	}
	announced := &announcer{store: o.Store, log: o.Logger, clock: c, leases: e.leases, agenda: e.agenda, committer: e.committer}
	announced.init()
	deferred := &deferrals{clock: c, agenda: e.agenda, announcer: announced, committer: e.committer, most: limits.Uncommitted}
	e.loader = &loader{
		store: o.Store, log: o.Logger, clock: c, leases: e.leases, agenda: e.agenda, dispatch: e.dispatch, contents: content, pauses: paused,
		shelves: e.agenda.shelves, ticker: tick, deferrals: deferred, lines: line, outside: out, pump: e.runner.pump, limits: limits,
	}
	e.loader.init()
	e.intake = &intake{
		store: o.Store, log: o.Logger, leases: e.leases, loader: e.loader, dispatch: e.dispatch, committer: e.committer,
		flow: o.Flow, spare: o.Spare, crowded: sleep.NewWaker(),
	}

	recording := &recorder{o.Store, o.Logger, c, e.rules, e.agenda, e.committer, attempts, life.patience}
	e.Admin = &Admin{o.Store, c, e.rules, e.leases, e.agenda, e.committer, recording, paused, e.watch, life, newTurns(), o.Decided}
	*e.chains = chains{
		store: o.Store, log: o.Logger, clock: c, leases: e.leases, agenda: e.agenda, admin: e.Admin, deferrals: deferred,
		attempts: attempts, patience: life.patience, work: &e.committer.todo,
	}
	e.chains.init()
	e.agenda.turns.freed = func(c chain) { e.chains.push(c, passing{superseded: true}) }
	starts := &gate{
		c, e.rules, e.leases, e.agenda, e.loader, content, e.dispatch, e.chains, announced, paused, e.unknownQueues, deferred, tick, attempts,
	}
	*e.runner = runner{
		log: o.Logger, clock: c, tracer: o.Tracer, chunk: limits.Chunk, life: life, leases: e.leases, agenda: e.agenda, loader: e.loader,
		contents: content, dispatch: e.dispatch, lines: line, gate: starts, recorder: recording, committer: e.committer, announcer: announced,
		ticker: tick, node: node, attempts: attempts, cutOff: cutOff,
	}
	e.runner.init()
	*e.committer = committer{
		store: o.Store, log: o.Logger, clock: c, leases: e.leases, agenda: e.agenda, ticker: tick, watch: e.watch,
		after: aftermath{e.runner, e.chains, e.intake}, patience: life.patience, mostChanged: limits.Changed,
	}
	lane := commit.Options{Most: limits.Uncommitted, Patience: life.patience, Batch: cmp.Or(limits.Batch, use.BatchSize, maxBatch)}
	e.committer.init(lane)

	e.shares = &shares{clock: c, rules: e.rules, leases: e.leases, dispatch: e.dispatch, outcomes: e.committer.outcomes, ticker: tick}
	*h = host{
		agenda: e.agenda, loader: e.loader, dispatch: e.dispatch, contents: content, shares: e.shares, announcer: announced, pauses: paused,
		handover: &handover{c, life, e.agenda, e.committer, o.StopTimeout}, runner: e.runner, leases: e.leases, watch: e.watch,
	}
	e.Monitor = &Monitor{
		store: o.Store, log: o.Logger, clock: c, rules: e.rules, leases: e.leases, agenda: e.agenda, dispatch: e.dispatch, committer: e.committer,
		loader: e.loader, pauses: paused, unknownQueues: e.unknownQueues, intake: e.intake, ticker: tick, watch: e.watch,
		page: limits.Page, ask: o.Ask, failing: o.Failing, refused: o.Refused,
	}
	return e
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

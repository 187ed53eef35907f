package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/engine/internal/locks"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Options for an engine. Store and Queues are required.
type Options struct {
	Store  store.Store
	Queues []Queue

	Node    string // name in the attempts' log; default: the host's name
	Process string // tells this process from others of the node, in the list of nodes; default: its number
	Addr    string // where others reach this node; may be empty
	Version string // of the program, for the list of nodes

	// Wall reads the wall clock. The engine's own clock follows it slowly, so a step of the wall
	// clock does no harm. Default: time.Now.
	Wall func() time.Time

	// Hint sends h to the node at addr, which passes it to its own Hinted. It is best effort: an
	// error or a timeout of ctx loses only the hint. The engine makes one call at a time for an
	// address. Nil: nodes learn of changes by polling the store.
	Hint func(ctx context.Context, addr string, h Hint)

	// Ask requests the Report of the node at addr. It may fail or take as long as ctx allows. Nil:
	// Figures covers this node alone and names all others as silent.
	Ask func(ctx context.Context, addr string, ask figures.Ask) (Report, error)

	Logger   *slog.Logger   // default: slog.Default()
	Observer Observer       // receives counts and durations for metrics; may be nil
	Tracer   bellman.Tracer // makes spans; nil: no tracing

	Flow      Flow
	Retention Retention

	// Schedules caches parsed schedules. Share one with other code that parses the same schedules.
	// Nil: a cache of the engine's own.
	Schedules *schedule.Cache

	// Spare drops caches to free memory. The engine calls it when the heap passes seven eighths of
	// Flow.Heap, and again when intake stops because of the heap. Nil: nothing is dropped but the
	// engine's own cache.
	Spare func()

	// Failing returns the merchants whose attempts all fail at this process, for the figures of all
	// nodes. Nil: none.
	Failing func(context.Context) []figures.FailingMerchant

	MaxInFlight int           // most concurrent attempts; default 2048; SetPool changes it
	PoolFloor   int           // least concurrent attempts that the adapting limit shrinks to; default 64; SetPool changes it
	StopTimeout time.Duration // how long Run waits at its end for attempts in flight; default 8s

	Limits Limits // of memory, pages and batches; the zero value is right for a server
}

// Flow limits intake. Add returns ErrOverloaded while more than High tasks are overdue or wait to
// be committed, or while the heap is larger than Heap. It accepts tasks again below Low, with a
// heap below seven eighths of Heap.
type Flow struct {
	High int   // default 200,000
	Low  int   // default half of High
	Heap int64 // bytes of live heap after a collection; 0: no limit
}

// Retention is how long ended tasks are kept, by their final state. 0 keeps them for ever.
type Retention struct {
	Succeeded, Failed, Cancelled time.Duration
}

// An Engine attempts the tasks of a store. Make it with New, then call Run. All methods are safe
// for concurrent use.
type Engine struct {
	*Admin   // changes that people and services request
	*Monitor // what the engine is doing

	store   store.Store
	log     *slog.Logger
	clock   *clock.Clock
	options Options
	limits  Limits // of options, with defaults
	sole    bool   // no other process writes to the store

	// The objects. DESIGN.md explains the responsibility of each.
	rules         *Rules
	leases        *cluster.Member
	agenda        *agenda
	loader        *loader
	dispatch      *dispatch.D[*item]
	runner        *runner
	committer     *committer
	chains        *chains
	pauses        *pauses
	unknownQueues *unknownQueues
	intake        *intake
	ticker        *ticker
	watch         *watch
	shares        *shares

	// patience ends when a stop gives up waiting for a store that accepts nothing.
	patience  context.Context
	impatient context.CancelFunc

	life *life
	ran  atomic.Bool
}

// life is the state of the engine: before Run, running, stopping.
type life struct {
	started  chan struct{} // closed when Run has claimed its shards, or failed
	stopping atomic.Bool
}

// running waits until the engine runs. It returns nil then, ErrClosed during a stop, or the cause
// of ctx.
func (l *life) running(ctx context.Context) error {
	select {
	case <-l.started:
	case <-ctx.Done():
		return fmt.Errorf("the engine has not started: %w", context.Cause(ctx))
	}
	if l.stopping.Load() {
		return bellman.ErrClosed
	}
	return nil
}

// Resumed describes the work that an engine found at its start.
type Resumed struct {
	Pending int64 // tasks that have not ended
	Overdue int64 // of these, tasks that were due; counted up to 100,000
	Crashed bool  // the last owner did not stop cleanly
}

const (
	storeTimeout = time.Second      // how long a stop waits for a store that rejects everything
	stuckTimeout = 20 * time.Second // how long a stop waits for a call of the store that does not return
)

// New makes an engine. It starts nothing; Run does.
func New(o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("engine: Options.Store is required")
	}
	o.Flow.High = cmp.Or(o.Flow.High, 200_000)
	o.Flow.Low = cmp.Or(o.Flow.Low, o.Flow.High/2)
	if o.Flow.Low > o.Flow.High {
		return nil, fmt.Errorf("engine: Flow.Low %d is above Flow.High %d", o.Flow.Low, o.Flow.High)
	}
	o.StopTimeout = cmp.Or(o.StopTimeout, 8*time.Second)
	var err error
	if o.PoolFloor, o.MaxInFlight, err = poolOf(o.PoolFloor, o.MaxInFlight); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Node == "" {
		o.Node, _ = os.Hostname()
	}
	o.Process = cmp.Or(o.Process, strconv.Itoa(os.Getpid()))
	if o.Wall == nil {
		o.Wall = time.Now
	}
	limits := o.Limits.withDefaults()
	use := store.UseOf(o.Store)
	c := clock.New(o.Wall)
	e := &Engine{
		store:   o.Store,
		log:     o.Logger,
		clock:   c,
		ticker:  newTicker(c),
		options: o,
		limits:  limits,
		sole:    use.Exclusive,
		watch:   newWatch(o.Observer, c),
		dispatch: dispatch.New[*item](dispatch.Options{
			Floor:      o.PoolFloor,
			Ceiling:    o.MaxInFlight,
			LineBound:  limits.Line,
			TotalBound: limits.Lines,
			Start:      4, // a thousand new endpoints at once are four thousand connections
		}),

		life: &life{started: make(chan struct{})},
	}
	e.agenda = newAgenda(c, new(shelves), limits.Agenda, limits.Waiting)
	r := &runner{
		log: e.log, clock: c, wall: o.Wall, tracer: o.Tracer, chunk: limits.Chunk, life: e.life, agenda: e.agenda, dispatch: e.dispatch, ticker: e.ticker,
	}
	e.runner = r
	r.attempts, r.cutOff = context.WithCancel(context.Background())
	e.patience, e.impatient = context.WithCancel(context.Background())
	node := fmt.Sprintf("%s/%s", o.Node, o.Process)
	h := new(host)
	e.leases = cluster.New(cluster.Options{
		Store: o.Store, Log: e.log, Clock: c, Sole: e.sole, Base: node, Addr: o.Addr, Version: o.Version, Docs: pauseKind, Hint: o.Hint,
	}, h)
	e.rules = &Rules{log: e.log, ctx: r.attempts, schedules: cmp.Or(o.Schedules, new(schedule.Cache)), leases: e.leases, sole: e.sole}
	e.pauses = newPauses(e)
	e.unknownQueues = newUnknownQueues(e)
	r.rules, r.leases, r.unknownQueues, r.contents = e.rules, e.leases, e.unknownQueues, newContents(e)
	e.loader = newLoader(e)
	e.committer = newCommitter(e, cmp.Or(limits.Batch, use.BatchSize, maxBatch))
	e.intake = newIntake(e)
	r.loader, r.committer = e.loader, e.committer
	announcer := newAnnouncer(e, node)
	r.announcer, r.node = announcer, node
	deferrals := &deferrals{c, e.agenda, announcer, e.committer, limits.Uncommitted}
	r.recorder = &recorder{e.store, e.log, c, e.rules, e.agenda, e.committer, r.attempts, e.patience}
	e.Admin = &Admin{e.store, c, e.rules, e.leases, e.agenda, e.committer, r.recorder, e.pauses, e.watch, e.life}
	e.chains = newChains(e, deferrals)
	r.gate = &gate{c, e.rules, e.leases, e.agenda, e.loader, r.contents, e.dispatch, e.chains, announcer, e.pauses, e.unknownQueues, deferrals, e.ticker, r}
	e.Monitor = &Monitor{
		store: e.store, log: e.log, clock: c, rules: e.rules, leases: e.leases, agenda: e.agenda, dispatch: e.dispatch, committer: e.committer,
		pauses: e.pauses, unknownQueues: e.unknownQueues, intake: e.intake, ticker: e.ticker, watch: e.watch,
		page: limits.Page, ask: o.Ask, failing: o.Failing,
	}
	e.shares = &shares{clock: c, rules: e.rules, leases: e.leases, dispatch: e.dispatch, outcomes: e.committer.outcomes, ticker: e.ticker}
	*h = host{
		agenda: e.agenda, loader: e.loader, dispatch: e.dispatch, contents: r.contents, shares: e.shares, announcer: announcer, pauses: e.pauses, runner: r,
		handover: &handover{c, e.life, e.agenda, e.committer, e.patience, o.StopTimeout},
	}
	e.committer.chains, e.committer.recorder, e.committer.intake = e.chains, r.recorder, e.intake
	e.pauses.committer, e.loader.deferrals = e.committer, deferrals
	e.agenda.freed = func(c chain) { e.chains.push(c, passing{superseded: true}) }
	for name, lock := range map[string]any{
		"starting": &r.starting,
		"workers":  &r.workers.mu, "watch": &e.watch.mu, "agenda": &e.agenda.mu, "shelves": &e.agenda.shelves.mu,
	} {
		locks.Name(lock, name)
	}
	if err := e.SetQueues(o.Queues); err != nil {
		return nil, err
	}
	return e, nil
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

// poolOf fills in defaults and validates the bounds of the pool.
func poolOf(floor, ceiling int) (int, int, error) {
	ceiling = cmp.Or(ceiling, 2048)
	floor = cmp.Or(floor, min(64, ceiling))
	if floor < 1 || ceiling < floor {
		return 0, 0, fmt.Errorf("engine: a pool from %d to %d: want a floor of at least 1, and a ceiling that is not below it", floor, ceiling)
	}
	return floor, ceiling, nil
}

// Run attempts tasks until ctx ends. It then stops intake and new attempts, waits for attempts in
// flight (StopTimeout at most), commits their outcomes, releases its shards and returns nil.
// Attempts that it interrupts are repeated after the next start.
//
// If the store accepts nothing, Run gives up one second after StopTimeout; attempts that were not
// recorded are repeated after the next start. If a call of the store does not return at all, Run
// returns an error 20 s after StopTimeout and abandons that call. If a handler ignores the end of
// its context, Run waits for it and keeps its leases: otherwise another node would attempt the same
// task concurrently.
//
// Run can be called once. Any other error is the reason why the engine stopped.
func (e *Engine) Run(ctx context.Context) error {
	if e.ran.Swap(true) {
		return errors.New("engine: Run was called before")
	}
	outlive := context.WithoutCancel(ctx)
	if err := e.start(outlive); err != nil {
		e.life.stopping.Store(true)
		close(e.life.started)
		e.committer.close()
		e.watch.close()
		return fmt.Errorf("engine: %w", err)
	}
	var commits sync.WaitGroup
	e.committer.run(outlive, &commits)
	for range chainWorkers {
		commits.Go(e.chains.passAll)
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var loops, beats sync.WaitGroup
	keep := func(g *sync.WaitGroup, ctx context.Context, loop func(context.Context) error) {
		g.Go(func() {
			if err := loop(ctx); err != nil {
				cancel(err)
			}
		})
	}
	beating, still := context.WithCancel(outlive) // attempts in flight outlive ctx, and need their leases
	defer still()
	keep(&beats, beating, e.leases.KeepAlive)
	for _, loop := range []func(context.Context) error{e.runner.tick, e.loader.load, e.keepHouse, e.leases.Rebalance, e.leases.KeepShards} {
		keep(&loops, ctx, loop)
	}
	e.runner.ready.Store(true)
	close(e.life.started)
	<-ctx.Done()
	e.runner.ready.Store(false)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.stop(&loops, &commits)
		still()
		beats.Wait()
		e.leases.CloseHints()
		if err := e.store.Leave(outlive, e.leases.Name()); err != nil && !errors.Is(err, bellman.ErrClosed) {
			e.log.Warn("shards cannot be given back", "err", err)
		}
	}()
	stuck := time.NewTimer(e.options.StopTimeout + stuckTimeout)
	defer stuck.Stop()
	for wait := true; wait; {
		select {
		case <-stopped:
			wait = false
		case <-stuck.C:
			if e.runner.handling.Load() > 0 {
				stuck.Reset(stuckTimeout)
				continue
			}
			return fmt.Errorf("engine: a call of the store has not returned %v after the stop; attempts that are not recorded are made again after the next start", e.options.StopTimeout+stuckTimeout)
		}
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// start joins the cluster, claims shards and counts the pending work.
func (e *Engine) start(ctx context.Context) error {
	state, err := e.store.State(ctx, "")
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	var found Resumed
	for _, s := range state.Shards {
		found.Crashed = found.Crashed || s.Owner != "" && !s.Alive
	}
	if err := e.leases.Rejoin(ctx); err != nil {
		return err
	}
	if err := e.leases.Look(ctx, true); err != nil {
		return err
	}
	depths, err := e.store.Depths(ctx)
	if err != nil {
		return fmt.Errorf("count tasks: %w", err)
	}
	for _, d := range depths {
		found.Pending += d.Pending
		if _, ok := e.rules.queue(d.Queue); !ok && d.Pending > 0 {
			e.unknownQueues.hold(d.Queue)
		}
	}
	now := e.clock.Now().UnixMilli()
	if found.Overdue, err = store.CountDue(ctx, e.store, e.leases.Shards(), store.Position{}, now, 100_000); err != nil {
		return err
	}
	e.resumed.Store(&found)
	e.log.Info("started", "pending", found.Pending, "overdue", found.Overdue, "after_crash", found.Crashed, "shards", len(e.leases.Shards()))
	return nil
}

// Resumed returns the work that the engine found at its start; ok is false before that.
func (m *Monitor) Resumed() (r Resumed, ok bool) {
	if p := m.resumed.Load(); p != nil {
		return *p, true
	}
	return Resumed{}, false
}

// stop ends an engine in order: intake, new attempts, attempts in flight, uncommitted outcomes.
func (e *Engine) stop(loops, commits *sync.WaitGroup) {
	e.runner.starting.Lock()
	e.life.stopping.Store(true)
	e.runner.starting.Unlock()
	defer time.AfterFunc(e.options.StopTimeout+storeTimeout, e.impatient).Stop()
	loops.Wait()
	var giving sync.WaitGroup
	if !e.sole {
		giving.Go(func() { e.leases.Depart(e.patience) })
	}
	landed := make(chan struct{})
	go func() {
		e.runner.flights.Wait()
		e.runner.workers.close()
		close(landed)
	}()
	timer := time.NewTimer(e.options.StopTimeout)
	defer timer.Stop()
	select {
	case <-landed:
	case <-timer.C:
		e.log.Warn("attempts in flight are cut off; they are made again after the next start", "in_flight", e.dispatch.Totals().InFlight)
		e.runner.cutOff()
		<-landed
	}
	hurry := time.AfterFunc(storeTimeout, e.impatient)
	defer hurry.Stop()
	defer e.impatient()
	e.committer.outcomes.Hasten()
	e.committer.todo.Wait()
	giving.Wait()
	e.runner.cutOff()
	e.committer.close()
	e.chains.close()
	commits.Wait()
	e.watch.close()
}

// Ready returns nil when the engine runs and can write.
func (e *Engine) Ready(context.Context) error {
	switch {
	case e.life.stopping.Load():
		return bellman.ErrClosed
	case !e.runner.ready.Load():
		return errors.New("bellman: the store does not take writes, or the engine has not started")
	}
	return nil
}

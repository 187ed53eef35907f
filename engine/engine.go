package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/commit"
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

	// Wall reads the wall clock, which may be set at any time: the engine's own clock
	// follows it slowly. Default: time.Now.
	Wall func() time.Time

	// Hint tells the node at an address something, which takes it in with Hinted. It
	// may fail, or take as long as ctx allows: nothing waits for it, and there is one
	// call at a time for an address. Nil: nodes find out by looking at the store.
	Hint func(ctx context.Context, addr string, h Hint)

	// Ask asks the node at an address for its Report. It may fail, or take as long as
	// ctx allows. Nil: figures are this node's, and name all others as silent.
	Ask func(ctx context.Context, addr string, ask figures.Ask) (Report, error)

	Logger   *slog.Logger   // default: slog.Default()
	Observer Observer       // told what happens; may be nil
	Tracer   bellman.Tracer // makes spans of it; nil: there are none

	Flow      Flow
	Retention Retention

	// Schedules are the parsed ones, shared with others that parse the same; nil: the engine's own.
	Schedules *schedule.Cache

	// Spare frees memory that can be had again, such as caches. It is called when the heap passes
	// seven eighths of Flow.Heap, and again when intake stops because of the heap. nil: nothing.
	Spare func()

	MaxInFlight int           // attempts in flight at most; default 2048; see SetPool
	PoolFloor   int           // how far the adapting limit of attempts to quick endpoints shrinks; default 64; see SetPool
	StopTimeout time.Duration // for attempts in flight when Run must end; default 8s

	Limits Limits // of what is in memory, read and written at once; the zero value is right
}

// Flow says when intake stops: when more tasks than High are overdue or wait to
// be committed, or the heap is larger than Heap, Add answers ErrOverloaded until
// there are fewer than Low, and the heap is below seven eighths.
type Flow struct {
	High int   // default 200,000
	Low  int   // default half of High
	Heap int64 // bytes that live after a collection; 0: no limit
}

// Retention is how long ended tasks are kept; 0 keeps them for ever.
type Retention struct {
	Succeeded, Failed, Cancelled time.Duration
}

// An Engine attempts the tasks of a store. Make one with New, and Run it. All
// methods are safe for concurrent use.
type Engine struct {
	store    store.Store
	log      *slog.Logger
	clock    *clock
	options  Options
	limits   Limits // of options, with defaults
	sole     bool   // nobody else writes to the store
	leases   *leases
	todo     commit.Work       // what is to be done before a stop is over
	outcomes *commit.Lane[*op] // of attempts, and what is written only under a lease
	asked    *commit.Lane[*op] // for: new tasks, and what people do; the same lane where the store is this process's alone
	hand     *hand
	dispatch *dispatch.D[*item]
	watch    *watch
	pauses   pauses
	strays   strays
	cluster  cluster
	hints    hints
	gifts    gifts
	found    found
	order    order
	moves    moves

	schedules *schedule.Cache
	queues    atomic.Pointer[map[string]Queue]

	// attempts is the context of all attempts: it ends when they must.
	attempts context.Context
	cutOff   context.CancelFunc
	flights  sync.WaitGroup
	handling atomic.Int64 // handlers that are running
	workers  workers

	// patience ends when a stop waits no longer for a store that takes nothing.
	patience  context.Context
	impatient context.CancelFunc

	starting locks.RWMutex // held for reading while an attempt is started

	loader    atomic.Pointer[loader] // once it runs; see check.go
	kick      chan struct{}          // wakes the loader
	resumedAt atomic.Int64           // when a pause ended, Unix ms, until the loader has seen it
	poke      chan struct{}          // wakes the ticker
	looks     chan struct{}          // wakes keepShards
	crowded   chan struct{}          // wakes keepHouse
	nextMs    atomic.Int64           // when the ticker wakes by itself
	firedAt   atomic.Int64           // when the ticker last came round and could have started attempts, Unix ns of the wall clock; 0: not yet
	content   atomic.Int64           // bytes of tasks' contents in hand
	usual     atomic.Int64           // bytes of a task's content, of those read last
	asides    atomic.Int64           // tasks being set aside

	saidSlow atomic.Int64 // when the log said last that the store reads too slowly, Unix ns
	held     atomic.Bool  // attempts are kept from starting by holdsBack

	shareChanged atomic.Bool // limits are to be told to the dispatcher again

	refusedFollows atomic.Int64 // follow-up tasks that were not valid, since the start

	started    chan struct{} // closed when Run has taken over what there is, or failed
	ran        atomic.Bool
	stopping   atomic.Bool
	ready      atomic.Bool
	backMs     atomic.Int64                   // the loader has overdue tasks before it, from this look on; noTime: none
	behind     atomic.Pointer[map[peers]bool] // whose due tasks wait on disk, since their lines are full; nil: nobody's
	overloaded atomic.Bool
	tight      atomic.Bool                             // the heap is above seven eighths of Flow.Heap
	moved      struct{ added, attempted atomic.Int64 } // tasks, since the start: how a backlog may have changed
	flow       atomic.Pointer[figures.Intake]          // as the meter read it last; nil before
	crowdedAt  atomic.Int64                            // when netAdded is as large, the intake is measured anew
	resumed    atomic.Pointer[Resumed]
}

// Resumed is what an engine found when it started.
type Resumed struct {
	Pending int64 // tasks that go on
	Overdue int64 // of them, due already; counted up to 100,000
	Crashed bool  // the last owner did not stop in good order
}

const (
	storeTimeout = time.Second      // how long a stop waits for a store that refuses what it is given
	stuckTimeout = 20 * time.Second // how long it waits for a call of the store that does not return
)

// New makes an engine. It does nothing until Run.
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
	return build(o)
}

func build(o Options) (*Engine, error) {
	if o.Wall == nil {
		o.Wall = time.Now
	}
	limits := o.Limits.withDefaults()
	c := newClock(o.Wall)
	now := c.now()
	e := &Engine{
		store:     o.Store,
		log:       o.Logger,
		clock:     c,
		options:   o,
		schedules: cmp.Or(o.Schedules, new(schedule.Cache)),
		limits:    limits,
		pauses:    pauses{turn: newTurn("pauses.turn")},
		leases: &leases{
			turn:   newTurn("leases.turn"),
			base:   fmt.Sprintf("%s/%s", o.Node, o.Process),
			node:   store.Node{Addr: o.Addr, Version: o.Version, Joined: now},
			held:   make(map[uint16]store.Lease),
			giving: make(map[uint16]bool),
			deaths: make(map[uint16]int64),
			unsent: make(map[uint16]map[bellman.ID]announcement),
			addrs:  make(map[uint16]string),
		},
		hints: hints{
			send:    o.Hint,
			to:      make(map[string]*Hint),
			leaving: make(map[string]time.Time),
			offered: make(map[uint16]bool),
		},
		gifts: gifts{wake: make(chan struct{}, 1)},
		hand:  newHand(c, limits.Hand, limits.Wheel),
		watch: newWatch(o.Observer, c),
		dispatch: dispatch.New[*item](dispatch.Options{
			Floor:      o.PoolFloor,
			Ceiling:    o.MaxInFlight,
			LineBound:  limits.Line,
			TotalBound: limits.Lines,
			Start:      4, // a thousand new endpoints at once are four thousand connections
		}),
		kick: make(chan struct{}, 1),
		poke: make(chan struct{}, 1),

		looks:   make(chan struct{}, 1),
		crowded: make(chan struct{}, 1),

		started: make(chan struct{}),
	}
	for name, lock := range map[string]any{
		"starting": &e.starting, "leases": &e.leases.mu, "pauses": &e.pauses.mu, "strays": &e.strays.mu, "hints": &e.hints.mu, "gifts": &e.gifts.mu,
		"found": &e.found.mu, "order": &e.order.mu, "moves": &e.moves.mu, "workers": &e.workers.mu, "watch": &e.watch.mu, "hand": &e.hand.mu,
	} {
		locks.Name(lock, name)
	}
	e.order = order{work: &e.todo, chains: make(map[chain]passing), wake: make(chan struct{}, passers)}
	e.hand.freed = func(c chain) { e.order.push(c, passing{superseded: true}) }
	e.nextMs.Store(noTime)
	e.backMs.Store(noTime)
	use := store.UseOf(o.Store)
	e.sole = use.Exclusive
	e.attempts, e.cutOff = context.WithCancel(context.Background())
	e.patience, e.impatient = context.WithCancel(context.Background())
	lane := commit.Options{Most: limits.Uncommitted, Patience: e.patience}
	lane.Batch = cmp.Or(limits.Batch, use.BatchSize, maxBatch)
	if e.sole {
		e.outcomes = commit.New(&writer{e: e}, &e.todo, lane)
		e.asked = e.outcomes
	} else {
		e.leases.wall = o.Wall
		e.asked = commit.New(&writer{e: e, parallel: true}, &e.todo, lane)
		lane.Gather = gatherServer
		e.outcomes = commit.New(&writer{e: e}, &e.todo, lane)
	}
	if err := e.SetQueues(o.Queues); err != nil {
		return nil, err
	}
	return e, nil
}

// SetQueues replaces the queues' rules. Tasks that exist keep the schedule and
// the rules they were accepted with; limits and handlers apply at once. On an
// error nothing changes.
func (e *Engine) SetQueues(queues []Queue) error {
	if len(queues) == 0 {
		return errors.New("engine: no queue is configured")
	}
	named := make(map[string]Queue, len(queues))
	for _, q := range queues {
		q = q.withDefaults()
		if err := q.check(); err != nil {
			return err
		}
		if _, ok := named[q.Name]; ok {
			return fmt.Errorf("engine: queue %q is given twice", q.Name)
		}
		named[q.Name] = q
	}
	e.queues.Store(&named)
	e.relimit()
	e.comeBack() // there may be room for what was set aside
	return nil
}

// SetPool replaces Options.PoolFloor and Options.MaxInFlight; 0 is the default of each. The number of attempts in flight to
// endpoints that answer quickly is limited, and the limit adapts between floor and three quarters
// of ceiling; ceiling is the most attempts in flight to all endpoints. What is in flight beyond a
// smaller ceiling ends by itself. The error says which of the two is wrong, and nothing changes.
func (e *Engine) SetPool(floor, ceiling int) error {
	floor, ceiling, err := poolOf(floor, ceiling)
	if err != nil {
		return err
	}
	e.dispatch.Resize(e.clock.now().UnixNano(), floor, ceiling)
	e.pump()
	return nil
}

// poolOf puts defaults in place of zeros, and checks the pool's bounds.
func poolOf(floor, ceiling int) (int, int, error) {
	ceiling = cmp.Or(ceiling, 2048)
	floor = cmp.Or(floor, min(64, ceiling))
	if floor < 1 || ceiling < floor {
		return 0, 0, fmt.Errorf("engine: a pool from %d to %d: want a floor of at least 1, and a ceiling that is not below it", floor, ceiling)
	}
	return floor, ceiling, nil
}

func (e *Engine) queue(name string) (Queue, bool) {
	q, ok := (*e.queues.Load())[name]
	return q, ok
}

func (e *Engine) jitter() float64 { return rand.Float64() }

// Run attempts tasks until ctx ends. Then it takes nothing in and starts
// nothing, waits for the attempts in flight (StopTimeout at most; what it cuts
// off is made again after the next start), commits what is left, gives its
// shards back, and returns nil. Where the store takes nothing, it gives that up a
// second after StopTimeout, and what was not recorded is made again after the next
// start. If a call of the store does not return at all, Run returns an error 20 s after
// StopTimeout and leaves that call behind. A handler that goes on although its context ended is
// waited for, and its leases are kept: else another node would attempt the same task beside it.
// Any other error is what ended Run. Run can be called once.
func (e *Engine) Run(ctx context.Context) error {
	if e.ran.Swap(true) {
		return errors.New("engine: Run was called before")
	}
	outlive := context.WithoutCancel(ctx)
	if err := e.start(outlive); err != nil {
		e.stopping.Store(true)
		close(e.started)
		e.closeLanes()
		e.watch.close()
		return fmt.Errorf("engine: %w", err)
	}
	var commits sync.WaitGroup
	commits.Go(func() { e.outcomes.Run(outlive) })
	if e.asked != e.outcomes {
		commits.Go(func() { e.asked.Run(outlive) })
	}
	for range passers {
		commits.Go(e.passAll)
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
	keep(&beats, beating, e.beat)
	for _, loop := range []func(context.Context) error{e.tick, e.load, e.keepHouse, e.giveBack, e.keepShards} {
		keep(&loops, ctx, loop)
	}
	e.ready.Store(true)
	close(e.started)
	<-ctx.Done()
	e.ready.Store(false)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.stop(&loops, &commits)
		still()
		beats.Wait()
		e.hints.close()
		if err := e.store.Leave(outlive, e.leases.name()); err != nil && !errors.Is(err, bellman.ErrClosed) {
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
			if e.handling.Load() > 0 {
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

// start joins the other nodes and finds out what there is to go on with.
func (e *Engine) start(ctx context.Context) error {
	state, err := e.store.State(ctx, "")
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	var found Resumed
	for _, s := range state.Shards {
		found.Crashed = found.Crashed || s.Owner != "" && !s.Alive
	}
	if err := e.rejoin(ctx); err != nil {
		return err
	}
	if err := e.look(ctx, true); err != nil {
		return err
	}
	depths, err := e.store.Depths(ctx)
	if err != nil {
		return fmt.Errorf("count tasks: %w", err)
	}
	for _, d := range depths {
		found.Pending += d.Pending
		if _, ok := e.queue(d.Queue); !ok && d.Pending > 0 {
			e.stray(d.Queue)
		}
	}
	now := e.clock.now().UnixMilli()
	if found.Overdue, err = e.countOverdue(ctx, store.Position{}, now, 100_000); err != nil {
		return err
	}
	e.resumed.Store(&found)
	e.log.Info("started", "pending", found.Pending, "overdue", found.Overdue, "after_crash", found.Crashed, "shards", len(e.leases.shards()))
	return nil
}

// Resumed returns what the engine found when it started; ok is false before.
func (e *Engine) Resumed() (r Resumed, ok bool) {
	if p := e.resumed.Load(); p != nil {
		return *p, true
	}
	return Resumed{}, false
}

// stop ends an engine in order: intake, firing, what is in flight, what is not
// committed.
func (e *Engine) stop(loops, commits *sync.WaitGroup) {
	e.starting.Lock()
	e.stopping.Store(true)
	e.starting.Unlock()
	defer time.AfterFunc(e.options.StopTimeout+storeTimeout, e.impatient).Stop()
	loops.Wait()
	var giving sync.WaitGroup
	if !e.sole {
		giving.Go(e.depart)
	}
	landed := make(chan struct{})
	go func() {
		e.flights.Wait()
		e.workers.close()
		close(landed)
	}()
	timer := time.NewTimer(e.options.StopTimeout)
	defer timer.Stop()
	select {
	case <-landed:
	case <-timer.C:
		e.log.Warn("attempts in flight are cut off; they are made again after the next start", "in_flight", e.dispatch.Totals().InFlight)
		e.cutOff()
		<-landed
	}
	hurry := time.AfterFunc(storeTimeout, e.impatient)
	defer hurry.Stop()
	defer e.impatient()
	e.outcomes.Hasten()
	e.todo.Wait()
	giving.Wait()
	e.cutOff()
	e.closeLanes()
	e.order.close()
	commits.Wait()
	e.watch.close()
}

func (e *Engine) closeLanes() {
	e.outcomes.Close()
	e.asked.Close()
}

// Ready returns nil when the engine runs and can write.
func (e *Engine) Ready(context.Context) error {
	switch {
	case e.stopping.Load():
		return bellman.ErrClosed
	case !e.ready.Load():
		return errors.New("bellman: the store does not take writes, or the engine has not started")
	}
	return nil
}

// signOfLife is how long the ticker sleeps at most: what watches Gauges.Fired
// from outside learns within a multiple of it that nothing is fired any more.
const signOfLife = 5 * time.Second

// sleepUntil waits until a time in Unix ms (noTime: without end), for signOfLife
// at most, or until the ticker is wanted earlier.
func (e *Engine) sleepUntil(ctx context.Context, ms int64) {
	e.nextMs.Store(ms)
	wait := signOfLife
	if ms != noTime {
		wait = min(e.clock.until(time.UnixMilli(ms)), wait)
	}
	if wait > 0 {
		e.nap(ctx, wait, e.poke)
	}
	e.nextMs.Store(noTime)
}

// wakeBefore wakes the ticker if it sleeps beyond a time in Unix ms.
func (e *Engine) wakeBefore(ms int64) {
	if ms >= e.nextMs.Load() {
		return
	}
	select {
	case e.poke <- struct{}{}:
	default:
	}
}

func (e *Engine) kickLoader() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// nap waits for a while, or until ctx ends or something comes from wake.
func (e *Engine) nap(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

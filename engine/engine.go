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
	"github.com/bellmanhq/bellman/dispatch"
	"github.com/bellmanhq/bellman/schedule"
)

// Options for an engine. Store and Queues are required.
type Options struct {
	Store  bellman.Store
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
	Hint func(ctx context.Context, addr string, h bellman.Hint)

	// Ask asks the node at an address for its Report. It may fail, or take as long as
	// ctx allows. Nil: figures are this node's, and name all others as silent.
	Ask func(ctx context.Context, addr string, ask bellman.FiguresAsk) (Report, error)

	Logger   *slog.Logger     // default: slog.Default()
	Observer bellman.Observer // told what happens; may be nil
	Tracer   bellman.Tracer   // makes spans of it; nil: there are none

	Flow      Flow
	Retention Retention

	MaxInFlight int           // attempts in flight at most; default 2048
	StopTimeout time.Duration // for attempts in flight when Run must end; default 8s
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
	store    bellman.Store
	log      *slog.Logger
	clock    *clock
	options  Options
	sole     bool // nobody else writes to the store
	leases   *leases
	lane     *lane
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

	schedules schedule.Cache
	queues    atomic.Pointer[map[string]Queue]

	// attempts is the context of all attempts: it ends when they must.
	attempts context.Context
	cutOff   context.CancelFunc
	flights  sync.WaitGroup
	workers  workers

	// patience ends when a stop waits no longer for a store that takes nothing.
	patience  context.Context
	impatient context.CancelFunc

	starting sync.RWMutex // held for reading while an attempt is started

	kick      chan struct{} // wakes the loader
	resumedAt atomic.Int64  // when a pause ended, Unix ms, until the loader has seen it
	poke      chan struct{} // wakes the ticker
	looks     chan struct{} // wakes keepShards
	crowded   chan struct{} // wakes keepHouse
	nextMs    atomic.Int64  // when the ticker wakes by itself
	firedAt   atomic.Int64  // when the ticker last came round and could have started attempts, Unix ns of the wall clock; 0: not yet
	content   atomic.Int64  // bytes of tasks' contents in hand
	usual     atomic.Int64  // bytes of a task's content, of those read last
	asides    atomic.Int64  // tasks being set aside

	shareChanged atomic.Bool // limits are to be told to the dispatcher again

	refusedFollows atomic.Int64 // follow-up tasks that were not valid, since the start

	started    chan struct{} // closed when Run has taken over what there is, or failed
	ran        atomic.Bool
	stopping   atomic.Bool
	ready      atomic.Bool
	backMs     atomic.Int64                   // the loader has overdue tasks before it, from this look on; noTime: none
	behind     atomic.Pointer[map[peers]bool] // whose due tasks wait on disk, since their lines are full; nil: nobody's
	overloaded atomic.Bool
	moved      struct{ added, attempted atomic.Int64 } // tasks, since the start: how a backlog may have changed
	flow       atomic.Pointer[bellman.Intake]          // as the meter read it last; nil before
	crowdedAt  atomic.Int64                            // when netAdded is as large, the intake is measured anew
	resumed    atomic.Pointer[Resumed]
}

// Resumed is what an engine found when it started.
type Resumed struct {
	Pending int64 // tasks that go on
	Overdue int64 // of them, due already; counted up to 100,000
	Crashed bool  // the last owner did not stop in good order
}

// lineBound is how many due tasks of one line wait in memory.
const lineBound = 4096

// storeTimeout is how long a stop waits for a store that takes nothing.
const storeTimeout = time.Second

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
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 2048)
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
	c := newClock(o.Wall)
	now := c.now()
	e := &Engine{
		store:   o.Store,
		log:     o.Logger,
		clock:   c,
		options: o,
		pauses:  pauses{turn: newTurn()},
		leases: &leases{
			turn:   newTurn(),
			base:   fmt.Sprintf("%s/%s", o.Node, o.Process),
			node:   bellman.Node{Addr: o.Addr, Version: o.Version, Joined: now},
			held:   make(map[uint16]bellman.Lease),
			giving: make(map[uint16]bool),
			deaths: make(map[uint16]int64),
			addrs:  make(map[uint16]string),
		},
		hints: hints{
			send:    o.Hint,
			to:      make(map[string]*bellman.Hint),
			leaving: make(map[string]time.Time),
			offered: make(map[uint16]bool),
		},
		gifts: gifts{wake: make(chan struct{}, 1)},
		lane:  newLane(),
		hand:  newHand(c),
		watch: newWatch(o.Observer, c),
		dispatch: dispatch.New[*item](dispatch.Options{
			Ceiling:   o.MaxInFlight,
			LineBound: lineBound,
			Start:     4, // a thousand new endpoints at once are four thousand connections
		}),
		kick: make(chan struct{}, 1),
		poke: make(chan struct{}, 1),

		looks:   make(chan struct{}, 1),
		crowded: make(chan struct{}, 1),

		started: make(chan struct{}),
	}
	e.order = order{lane: e.lane, chains: make(map[chain]passing), wake: make(chan struct{}, passers)}
	e.hand.freed = func(c chain) { e.order.push(c, passing{superseded: true}) }
	e.nextMs.Store(noTime)
	e.backMs.Store(noTime)
	if s, ok := o.Store.(interface{ Sole() bool }); ok {
		e.sole = s.Sole()
	}
	if s, ok := o.Store.(interface{ BatchSize() int }); ok {
		e.lane.batch = s.BatchSize()
	}
	if !e.sole {
		e.lane.gather = gatherServer
	}
	e.attempts, e.cutOff = context.WithCancel(context.Background())
	e.patience, e.impatient = context.WithCancel(context.Background())
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

func (e *Engine) queue(name string) (Queue, bool) {
	q, ok := (*e.queues.Load())[name]
	return q, ok
}

func (e *Engine) jitter() float64 { return rand.Float64() }

// Run attempts tasks until ctx ends. Then it takes nothing in and starts
// nothing, waits for the attempts in flight (StopTimeout at most; what it cuts
// off is made again after the next start), commits what is left, gives its
// shards back, and returns nil. Any other return is an error that ended it. Run
// can be called once.
func (e *Engine) Run(ctx context.Context) error {
	if e.ran.Swap(true) {
		return errors.New("engine: Run was called before")
	}
	outlive := context.WithoutCancel(ctx)
	if err := e.start(outlive); err != nil {
		e.stopping.Store(true)
		close(e.started)
		e.lane.close()
		e.watch.close()
		return fmt.Errorf("engine: %w", err)
	}
	var commits sync.WaitGroup
	commits.Go(func() { e.commitAll(outlive) })
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
	for _, loop := range []func(context.Context) error{e.tick, e.load, e.keepHouse, e.giveBack, e.keepShards, e.listen} {
		keep(&loops, ctx, loop)
	}
	e.ready.Store(true)
	close(e.started)
	<-ctx.Done()
	e.ready.Store(false)
	e.stop(&loops, &commits)
	still()
	beats.Wait()
	e.hints.close()
	if err := e.store.Leave(outlive, e.leases.name()); err != nil && !errors.Is(err, bellman.ErrClosed) {
		e.log.Warn("shards cannot be given back", "err", err)
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// start joins the other nodes and finds out what there is to go on with.
func (e *Engine) start(ctx context.Context) error {
	shards, err := e.store.Shards(ctx)
	if err != nil {
		return fmt.Errorf("read shards: %w", err)
	}
	var found Resumed
	for _, s := range shards {
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
	if found.Overdue, err = e.countOverdue(ctx, bellman.Position{}, now, 100_000); err != nil {
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
	e.lane.flush()
	giving.Wait()
	e.cutOff()
	e.lane.close()
	e.order.close()
	commits.Wait()
	e.watch.close()
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

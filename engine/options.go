package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/store"
)

// Options for an engine. Store and Queues are required. A panic of Observer, Tracer, Hint, Ask,
// Spare, Failing or Refused is recovered; the log has the first of each function.
type Options struct {
	// Store keeps the tasks. A store of this process alone, such as store/pebble, takes one engine
	// at a time.
	Store store.Store

	// Queues must be the same in all engines of a store. Each engine attempts the tasks of its part
	// of the shards, whoever added them. Tasks whose queue it lacks wait.
	Queues []Queue

	// Node is the name in the attempts' log; default: the host's name. Process tells this process
	// from others of the node, in the list of nodes; default: its number. Both have at most 474
	// bytes together.
	Node, Process string

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
	Ask func(ctx context.Context, addr string, ask figures.Ask) (figures.Report, error)

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

	// Refused returns what this process refused within an hour, for the figures of all nodes. Nil:
	// nothing.
	Refused func() []figures.Refusal

	// Decided returns tasks that tell of a decision by hand, see [Admin.Decide]. They are added in
	// the transaction of the decision. by.Reason is the reason, a colon and the outcome. A panic is
	// an error of Decide, and nothing is decided. Nil: none.
	Decided func(t *bellman.Task, by bellman.By, now time.Time) []bellman.Task

	MaxInFlight int // most concurrent attempts; default 2048; SetPool changes it
	PoolFloor   int // least concurrent attempts that the adapting limit shrinks to; default 64; SetPool changes it

	// StopTimeout is how long Run waits at its end for attempts in flight. Default 8s. Whatever
	// ends the process, such as Kubernetes after a SIGTERM, should wait five seconds longer.
	StopTimeout time.Duration

	Limits Limits // of memory, pages and batches; the zero value is right for a server
}

// A Hint is a message between nodes that saves the receiver a poll of the store. A lost hint costs
// a moment, a wrong hint one poll. Nodes of different versions exchange it as JSON.
type Hint = cluster.Hint

// MostChanged bounds Hint.Changed.
const MostChanged = cluster.MostChanged

// Flow limits intake. Add returns ErrOverloaded while more than High tasks are overdue or wait to
// be committed, or while the heap is larger than Heap. It accepts tasks again below Low, with a
// heap below seven eighths of Heap.
type Flow struct {
	High int   // default 200,000
	Low  int   // default half of High, but 1 at least
	Heap int64 // bytes of live heap after a collection; 0: no limit
}

// Retention is how long ended tasks are kept, by their final state. 0 keeps them for ever.
type Retention struct {
	Succeeded, Failed, Cancelled time.Duration
}

// Limits bound what an engine holds in memory, reads in one page and writes in one transaction. The
// zero value is right for a server; tests use small limits to reach the behaviour at each bound. A
// field that is 0 or negative has its default.
type Limits struct {
	Line    int // due tasks in memory for one line; default 4096
	Lines   int // due tasks in memory for all lines together, plus a few for each line; default 65,536
	Pending int // due tasks that the loader holds while their lines are full; at least 4 * Page; default 16,000
	Peers   int // of Pending, tasks of one line; default half of Pending
	Agenda  int // tasks in memory, due or not; at least 4 * Page; default 100,000
	Waiting int // tasks in memory that are not due yet; default half of Agenda
	Page    int // entries of the due index in one read; default 2000
	Chunk   int // most tasks whose contents are read at once; default 256

	Uncommitted int // most rows that wait for a commit; at half of it no attempt starts; default 8192
	Batch       int // rows of one transaction; a larger single request is not split; default: what the store says, or 512
	Changed     int // tasks in one hint; default and maximum MostChanged
}

func (l Limits) withDefaults() Limits {
	l.Line = cmp.Or(max(l.Line, 0), 4096)
	l.Lines = cmp.Or(max(l.Lines, 0), 65_536)
	l.Page = cmp.Or(max(l.Page, 0), 2000)
	l.Pending = max(cmp.Or(max(l.Pending, 0), 16_000), 4*l.Page)
	l.Peers = cmp.Or(max(l.Peers, 0), max(l.Pending/2, 1))
	l.Agenda = max(cmp.Or(max(l.Agenda, 0), 100_000), 4*l.Page)
	l.Waiting = cmp.Or(max(l.Waiting, 0), max(l.Agenda/2, 1))
	l.Chunk = cmp.Or(max(l.Chunk, 0), 256)
	l.Uncommitted = cmp.Or(max(l.Uncommitted, 0), 8192)
	l.Batch = max(l.Batch, 0)
	l.Changed = min(cmp.Or(max(l.Changed, 0), MostChanged), MostChanged)
	return l
}

// fill sets the defaults of empty fields, and returns an error if a field has no valid value.
func (o *Options) fill() (err error) {
	if isNil(o.Store) {
		return errors.New("engine: Options.Store is required")
	}
	o.Flow.High = cmp.Or(o.Flow.High, 200_000)
	o.Flow.Low = cmp.Or(o.Flow.Low, o.Flow.High/2, 1) // intake opens below it
	if r := o.Retention; min(r.Succeeded, r.Failed, r.Cancelled) < 0 {
		return fmt.Errorf("engine: Retention %+v: want durations that are not negative; 0s keeps ended tasks for ever", r)
	}
	if o.Flow.Low > o.Flow.High {
		return fmt.Errorf("engine: Flow.Low %d is above Flow.High %d", o.Flow.Low, o.Flow.High)
	}
	if o.StopTimeout < 0 {
		return fmt.Errorf("engine: StopTimeout is %v: want a duration that is not negative; 0s means 8s", o.StopTimeout)
	}
	o.StopTimeout = cmp.Or(o.StopTimeout, 8*time.Second)
	if o.PoolFloor, o.MaxInFlight, err = poolOf(o.PoolFloor, o.MaxInFlight); err != nil {
		return err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Node == "" {
		o.Node, _ = os.Hostname()
	}
	o.Process = cmp.Or(o.Process, strconv.Itoa(os.Getpid()))
	if n := len(o.Node) + len(o.Process); n > mostNode {
		return fmt.Errorf("engine: Node and Process have %d bytes: want at most %d together", n, mostNode)
	}
	if o.Wall == nil {
		o.Wall = time.Now
	}
	o.Schedules = cmp.Or(o.Schedules, new(schedule.Cache))
	o.Limits = o.Limits.withDefaults()
	cached, spare := o.Schedules, o.Spare
	o.Spare = func() {
		cached.Drop()
		if spare != nil {
			spare()
		}
	}
	return nil
}

// mostNode bounds Node and Process: a store keeps both and an id as one name.
const mostNode = bellman.MaxStoredName - len("//") - len("00000000-0000-0000-0000-000000000000")

// poolOf fills in defaults and validates the bounds of the pool.
func poolOf(floor, ceiling int) (int, int, error) {
	ceiling = cmp.Or(ceiling, 2048)
	floor = cmp.Or(floor, min(64, ceiling))
	if floor < 1 || ceiling < floor {
		return 0, 0, fmt.Errorf("engine: a pool from %d to %d: want a floor of at least 1, and a ceiling that is not below it", floor, ceiling)
	}
	return floor, ceiling, nil
}

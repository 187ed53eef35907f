package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/store"
)

// A node is a host. It has one life after the other. Each fault is kept as the time when it ends.
type node struct {
	world *world
	index int
	name  string

	mu     sync.Mutex
	life   *life // nil: it is down
	lives  int
	up     bool // it should be
	gen    int  // grows with each order to start or stop
	frozen time.Time
	noNet  time.Time
	slowly time.Time
	extra  time.Duration // of each call, while it is slow
	lost   time.Time
	hung   time.Time  // commits wait until then
	glitch int        // so many of its next commits are not written
	dead   [kinds]int // of its next calls, how many nobody answers
	taken  time.Time  // when the database took it for dead although it lived
	deaf   time.Time  // nothing that others tell it arrives
	wall   wall
}

func (n *node) until(field *time.Time, length time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if end := time.Now().Add(length); end.After(*field) {
		*field = end
	}
}

func (n *node) cut(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return now.Before(n.noNet) || now.Before(n.world.dark())
}

func (n *node) slow(now time.Time) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Before(n.slowly) {
		return n.extra
	}
	return 0
}

// losing is how many of a thousand calls go wrong.
func (n *node) losing(now time.Time) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Before(n.lost) {
		return n.world.plan.lossPer
	}
	return 0
}

// glitches reports whether its next commit is not written.
func (n *node) glitches() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.glitch == 0 {
		return false
	}
	n.glitch--
	return true
}

func (n *node) freezing() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen
}

func (n *node) takenAt() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.taken
}

// current returns the life that can be asked for something; nil: there is none.
func (n *node) current() *life {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// A life is one process: an engine from its start to its end.
type life struct {
	world  *world
	node   *node
	number int
	engine atomic.Pointer[engine.Engine] // nil: it has ended
	cancel context.CancelFunc
	dead   chan struct{} // closed by a crash
	ended  chan struct{} // closed when Run has returned

	mu      sync.Mutex
	died    time.Time // of a crash
	stopped time.Time // when it was told to stop in order
	over    time.Time // when it had
	taken   time.Time // when the database took it for dead although it lived
	failed  error     // of Run
	begun   time.Time
	thawing int // calls that waited until it went on
	hinting int // hints that were to be sent

	committing map[*store.Batch]time.Time // outcomes on their way, since when; belongs to the ledger
	joins      int                        // how often it joined; belongs to the ledger
	joined     time.Time                  // for the first time; belongs to the ledger
	lastName   string                     // under which it joined last, and
	lastJoined time.Time                  // when; both belong to the ledger

	hand hand // of its clock; belongs to the ledger
}

func (l *life) String() string {
	if l == nil {
		return "another writer"
	}
	return fmt.Sprintf("%s.%d", l.node.name, l.number)
}

func (l *life) alive() bool {
	select {
	case <-l.dead:
		return false
	default:
		return true
	}
}

// sleep waits; the error says why not to the end.
func (l *life) sleep(ctx context.Context, d time.Duration) error {
	if !l.alive() {
		return errDead
	}
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.dead:
		return errDead
	}
}

// thaw waits while the process stands still. Nothing but its death shortens that.
func (l *life) thaw(ctx context.Context) error {
	for {
		end := l.node.freezing()
		left := time.Until(end)
		if left <= 0 {
			break
		}
		l.mu.Lock()
		l.thawing++
		d := newDice(l.world.seed, "thaw", l.node.index, l.number, l.thawing)
		l.mu.Unlock()
		if err := l.sleep(context.WithoutCancel(ctx), left+d.between(0, time.Millisecond)); err != nil {
			return err
		}
	}
	if !l.alive() {
		return errDead
	}
	return ctx.Err()
}

// start begins a life, and another one when that ends by itself, until the node is stopped.
func (n *node) start() {
	n.mu.Lock()
	if n.up {
		n.mu.Unlock()
		return
	}
	n.up = true
	n.gen++
	gen := n.gen
	n.mu.Unlock()
	n.world.spawn(func() {
		for n.begin(gen) {
			time.Sleep(newDice(n.world.seed, "supervisor", n.index, gen).between(500*time.Millisecond, time.Second))
		}
	})
}

// begin lives one life; it reports whether another should follow.
func (n *node) begin(gen int) (again bool) {
	n.mu.Lock()
	if !n.up || n.gen != gen {
		n.mu.Unlock()
		return false
	}
	w := n.world
	if n.wall.off(time.Now()).Abs() > store.MaxSkew || w.plan.sole && n.life != nil { // its store is still locked
		n.mu.Unlock()
		return true
	}
	l := &life{world: w, node: n, begun: time.Now(), number: n.lives, hand: newHand(&n.wall), dead: make(chan struct{}), ended: make(chan struct{}),
		committing: make(map[*store.Batch]time.Time)}
	n.lives++
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	e, err := engine.New(engine.Options{
		Store:   &wire{life: l},
		Queues:  w.queues(l, false),
		Node:    n.name,
		Process: strconv.Itoa(l.number),
		Addr:    n.address(),
		Wall:    n.wall.now,
		Hint:    l.hint(),
		Logger:  slog.New(&journal{life: l}),

		Limits:      w.plan.sizes,
		Retention:   w.plan.retention,
		MaxInFlight: w.plan.inFlight,
	})
	if err != nil {
		panic(err)
	}
	l.engine.Store(e)
	n.life, n.glitch = l, 0
	n.mu.Unlock()
	w.truth.open(l)
	w.note(func(g *ledger) { g.lives = append(g.lives, l) })

	err = e.Run(ctx)
	l.engine.Store(nil) // the ledger keeps lives, and must not keep engines
	l.mu.Lock()
	l.over, l.failed = time.Now(), err
	l.mu.Unlock()
	close(l.ended)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life == l {
		n.life = nil
	}
	return n.up && n.gen == gen
}

// hint carries what a life has to tell others; nil where nobody can be told.
func (l *life) hint() func(context.Context, string, engine.Hint) {
	w := l.world
	if w.plan.hintLoss == 100 || w.plan.sole {
		return nil
	}
	rest := make(map[string]time.Time) // after a failure nothing is sent for a moment (server/peers.go)
	return func(ctx context.Context, addr string, h engine.Hint) {
		l.mu.Lock()
		l.hinting++
		d := newDice(w.seed, "hint", l.node.index, l.number, l.hinting)
		resting := time.Now().Before(rest[addr])
		l.mu.Unlock()
		if resting {
			return
		}
		if l.thaw(ctx) != nil || l.sleep(ctx, d.between(200*time.Microsecond, w.plan.hintLag)) != nil {
			return
		}
		if !d.percent(w.plan.hintLoss) && w.hinted(ctx, l.node.index, addr, h) {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		rest[addr] = time.Now().Add(500 * time.Millisecond)
	}
}

// hinted tells the node at an address something, and reports whether it heard that.
func (w *world) hinted(ctx context.Context, from int, addr string, h engine.Hint) bool {
	for _, n := range w.nodes {
		n.mu.Lock()
		to := n.life
		deaf := time.Now().Before(n.deaf)
		n.mu.Unlock()
		if n.address() != addr || n.index == w.plan.unheard || deaf || slices.Contains(w.plan.mute, link{from, n.index}) || to == nil || to.thaw(ctx) != nil {
			continue
		}
		if e := to.engine.Load(); e != nil {
			e.Hinted(h)
			return true
		}
	}
	return false
}

// address is what a node says where others reach it.
func (n *node) address() string {
	if n.index == n.world.plan.unheard {
		return "127.0.0.1:1"
	}
	return n.name
}

// stop ends the node's life in order; the channel is closed when it has ended. A commit or two
// may break then, and that is no excuse.
func (n *node) stop() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up = false
	n.gen++
	l := n.life
	if l == nil {
		return closed
	}
	if d := newDice(n.world.seed, "stop", n.index, l.number); d.percent(40) {
		n.glitch = 1 + d.n(2)
	}
	l.mu.Lock()
	if l.stopped.IsZero() { // it may be asked twice
		l.stopped = time.Now()
	}
	l.mu.Unlock()
	l.cancel()
	return l.ended
}

// crash ends the node's life at once.
func (n *node) crash() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up = false
	n.gen++
	n.frozen = time.Time{}
	l := n.life
	if l == nil {
		return
	}
	n.life = nil
	l.mu.Lock()
	l.died = time.Now()
	l.mu.Unlock()
	close(l.dead)
	l.cancel()
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// A journal puts what an engine logs into the story.
type journal struct {
	life *life
	slog.Handler
}

func (j *journal) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	if !j.life.alive() {
		return nil
	}
	j.life.world.note(func(g *ledger) { g.logged(j.life, r) })
	return nil
}

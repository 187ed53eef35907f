package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A wire is the connection of one life of a node to the database: the store that its engine gets.
// Every call takes time in both directions, and the faults of the moment happen to it on the way.
type wire struct {
	life  *life
	calls [kinds]int // number of calls of each kind, for the dice
}

// A kind is the kind of a call, for the dice.
type kind int

const (
	reading kind = iota
	committing
	holding // join, beat, claim, release, leave
	kinds
)

var _ store.Store = (*wire)(nil)

var (
	errDead = fmt.Errorf("%w: this process is dead", bellman.ErrClosed)
	errCut  = errors.New("no connection to the database")
	errFix  = errors.New("the database is read-only")
	errRow  = errors.New("this row cannot be written")

	errGlitch = errors.New("the connection broke before anything was done")
)

// mostSilence bounds the wait on a connection whose other end is silent.
const mostSilence = 15 * time.Second

// silent makes a call wait that gets no answer. It returns false for other calls.
func (w *wire) silent(ctx context.Context, k kind) bool {
	n := w.life.node
	n.mu.Lock()
	dead := n.dead[k] > 0
	if dead {
		n.dead[k]--
	}
	n.mu.Unlock()
	if dead {
		world := w.life.world
		world.mu.Lock()
		world.storms = append(world.storms, storm{node: n.index, from: time.Now(), to: time.Now().Add(mostSilence), line: true})
		world.mu.Unlock()
	}
	if dead {
		w.life.sleep(ctx, mostSilence)
	}
	return dead
}

// A trip is the fate of one call.
type trip struct {
	*dice
	out, back time.Duration
}

func (w *wire) trip(k kind) trip {
	l := w.life
	l.mu.Lock()
	n := w.calls[k]
	w.calls[k]++
	l.mu.Unlock()
	d := newDice(l.world.seed, "call", l.node.index, l.number, int(k), n)
	lag := l.world.plan.lag
	if extra := l.node.slow(time.Now()); extra > 0 {
		lag += extra
	}
	if lag == 0 {
		return trip{dice: d}
	}
	return trip{d, d.between(lag/8, lag), d.between(lag/8, lag)}
}

// leave is the way out of the process: a process that stands still sends nothing until it goes on,
// and without a network nothing leaves.
func (w *wire) leave(ctx context.Context, t trip) error {
	l := w.life
	if err := l.thaw(ctx); err != nil {
		return err
	}
	if l.node.cut(time.Now()) {
		if err := l.sleep(ctx, t.between(time.Millisecond, 2*time.Second)); err != nil {
			return err
		}
		if err := l.thaw(ctx); err != nil {
			return err
		}
		return errCut
	}
	return nil
}

// ask makes a call that changes nothing.
func ask[T any](ctx context.Context, w *wire, f func() (T, error)) (v T, err error) {
	t := w.trip(reading)
	if err := w.leave(ctx, t); err != nil {
		return v, err
	}
	if w.silent(ctx, reading) {
		return v, errCut
	}
	if err := w.life.sleep(ctx, t.out); err != nil {
		return v, err
	}
	if v, err = f(); err != nil {
		return v, err
	}
	return v, w.home(ctx, t)
}

// home is the way of the answer.
func (w *wire) home(ctx context.Context, t trip) error {
	l := w.life
	if err := l.sleep(ctx, t.back); err != nil {
		return err
	}
	if err := l.thaw(ctx); err != nil {
		return err
	}
	if l.node.cut(time.Now()) {
		return errCut
	}
	return nil
}

// hold makes a call that changes the owners of shards. Its answer may be lost after the change, and
// the change may still happen after the process has died.
func hold[T any](ctx context.Context, w *wire, f func() (T, error)) (v T, err error) {
	t := w.trip(holding)
	if err := w.leave(ctx, t); err != nil {
		return v, err
	}
	if w.silent(ctx, holding) {
		return v, errCut
	}
	if err := w.life.sleep(ctx, t.out); err != nil {
		if t.percent(50) {
			f()
		}
		return v, err
	}
	if w.life.world.fixed(time.Now()) {
		return v, errFix
	}
	if t.permille(w.life.node.losing(time.Now())) {
		if t.percent(50) {
			f()
		}
		return v, errCut
	}
	v, err = f()
	if back := w.home(ctx, t); back != nil {
		return v, back
	}
	return v, err
}

// A commit on its way goes on after its sender has given up.
func (w *wire) Commit(ctx context.Context, b *store.Batch) error {
	l := w.life
	if w.Use().Exclusive { // nothing is on its way that its sender has given up
		ctx = context.WithoutCancel(ctx)
	}
	if slices.ContainsFunc(b.Changes, func(c store.Change) bool { return c.Attempt != nil }) {
		l.world.note(func(*ledger) { l.committing[b] = time.Now() })
		defer l.world.note(func(*ledger) { delete(l.committing, b) })
	}
	t := w.trip(committing)
	if err := w.leave(ctx, t); err != nil {
		return err
	}
	if l.world.full(time.Now()) {
		return bellman.ErrFull
	}
	if l.world.fixed(time.Now()) {
		return errFix
	}
	if l.node.glitches() {
		return errGlitch
	}
	if l.world.poisoned(b) {
		if err := l.sleep(ctx, t.out); err != nil {
			return err
		}
		return errRow
	}
	l.node.mu.Lock()
	wait := time.Until(l.node.hung)
	l.node.mu.Unlock()
	if err := l.sleep(ctx, wait+t.between(0, time.Millisecond)); wait > 0 && err != nil {
		return err
	}
	sent := copied(b)
	arrives, waits, never := t.out, time.Duration(-1), false
	if w.silent(ctx, committing) { // it was done, or did not arrive
		never, waits = t.percent(50), arrives+time.Millisecond
	}
	if waits < 0 && t.permille(l.node.losing(time.Now())) {
		how := t.n(4)
		if w.Use().Exclusive && how == 2 {
			how = 1
		}
		switch how {
		case 0: // it never arrives
			never, waits = true, t.between(time.Millisecond, time.Second)
		case 1: // its answer does not
			waits = arrives + t.between(time.Millisecond, time.Second)
		case 2: // it arrives when its sender has given it up
			arrives = t.between(200*time.Millisecond, 5*time.Second)
			waits = t.between(time.Millisecond, arrives)
			l.world.truth.note(func(g *ledger) { g.count.Late++ })
		case 3: // it is answered, and others have long seen what it did
			t.back = t.between(100*time.Millisecond, 2*time.Second)
		}
	}
	if waits < 0 && l.world.plan.tardy && !l.world.calm() && len(b.Adds) > 0 && t.percent(20) {
		t.back = t.between(100*time.Millisecond, time.Second) // others see what it did meanwhile, and do what follows
		l.world.note(func(g *ledger) {
			for _, a := range b.Adds {
				g.tardy[a.Task.ID] = true
			}
			for _, c := range b.Changes {
				for _, a := range c.Follow {
					g.tardy[a.Task.ID] = true
				}
			}
		})
	}
	done := make(chan error, 1)
	if !never {
		if arrives == 0 {
			done <- l.world.truth.commit(l, sent)
		} else {
			l.world.spawn(func() {
				time.Sleep(arrives)
				done <- l.world.truth.commit(l, sent)
			})
		}
	}
	unknown := func(why string) error {
		l.world.truth.note(func(g *ledger) {
			g.count.Unknown++
			g.tell(bellman.ID{}, "%s does not know whether its commit was written: %s", l, why)
		})
		return fmt.Errorf("%w: %s", bellman.ErrUnknown, why)
	}
	if waits >= 0 {
		if err := l.sleep(ctx, waits); err != nil && !l.alive() {
			return err
		}
		if err := l.thaw(ctx); err != nil && !l.alive() {
			return err
		}
		return unknown("the answer was lost")
	}
	var err error
	select {
	case err = <-done:
	case <-l.dead:
		return errDead
	case <-ctx.Done():
		return unknown("the caller gave up")
	}
	switch back := w.home(ctx, t); {
	case !l.alive():
		return errDead
	case back != nil:
		return unknown(back.Error())
	}
	if err == nil {
		answer(b, sent)
	}
	return err
}

func (w *wire) Prune(ctx context.Context, state bellman.State, before time.Time, limit int) (int, error) {
	return hold(ctx, w, func() (int, error) { return w.life.world.truth.prune(w.life, state, before, limit) })
}

func (w *wire) Join(ctx context.Context, n store.Node, ttl time.Duration) error {
	_, err := hold(ctx, w, func() (struct{}, error) { return struct{}{}, w.life.world.truth.join(w.life, n, ttl) })
	return err
}

func (w *wire) Beat(ctx context.Context, node string) error {
	if w.Use().Exclusive { // nodes are kept in memory
		if err := w.life.thaw(ctx); err != nil {
			return err
		}
		return w.life.world.truth.beat(node)
	}
	_, err := hold(ctx, w, func() (struct{}, error) { return struct{}{}, w.life.world.truth.beat(node) })
	return err
}

func (w *wire) Leave(ctx context.Context, node string) error {
	_, err := hold(ctx, w, func() (struct{}, error) { return struct{}{}, w.life.world.truth.leave(w.life, node) })
	return err
}

func (w *wire) Release(ctx context.Context, node string, lease store.Lease) error {
	_, err := hold(ctx, w, func() (struct{}, error) { return struct{}{}, w.life.world.truth.release(w.life, node, lease) })
	return err
}

func (w *wire) Claim(ctx context.Context, node string, shard uint16, seen int64) (store.Lease, error) {
	return hold(ctx, w, func() (store.Lease, error) { return w.life.world.truth.claim(w.life, node, shard, seen) })
}

// State reads all at one moment, as the stores do that several nodes can have.
func (w *wire) State(ctx context.Context, kind string) (store.State, error) {
	return ask(ctx, w, func() (store.State, error) { return w.life.world.truth.state(ctx, kind) })
}

func (w *wire) Due(ctx context.Context, shards []uint16, from store.Position, to int64, limit int, buf []store.Entry) ([]store.Entry, error) {
	return ask(ctx, w, func() ([]store.Entry, error) {
		return w.life.world.truth.at().Due(ctx, shards, from, to, limit, buf)
	})
}

func (w *wire) Load(ctx context.Context, entries []store.Entry) ([]*bellman.Task, error) {
	return ask(ctx, w, func() ([]*bellman.Task, error) { return w.life.world.truth.at().Load(ctx, entries) })
}

func (w *wire) Task(ctx context.Context, id bellman.ID) (*bellman.Task, error) {
	return ask(ctx, w, func() (*bellman.Task, error) { return w.life.world.truth.at().Task(ctx, id) })
}

func (w *wire) Find(ctx context.Context, keys []store.Key) ([]store.Found, error) {
	return ask(ctx, w, func() ([]store.Found, error) { return w.life.world.truth.at().Find(ctx, keys) })
}

func (w *wire) Chain(ctx context.Context, queue, orderingKey string, id bellman.ID, limit int) (store.Chain, error) {
	return ask(ctx, w, func() (store.Chain, error) { return w.life.world.truth.chain(w.life, queue, orderingKey, id, limit) })
}

func (w *wire) Attempts(ctx context.Context, id bellman.ID, after, limit int) ([]bellman.Attempt, error) {
	return ask(ctx, w, func() ([]bellman.Attempt, error) {
		return w.life.world.truth.at().Attempts(ctx, id, after, limit)
	})
}

func (w *wire) List(ctx context.Context, f store.Filter, before bellman.ID, limit int) (tasks []*bellman.Task, next bellman.ID, err error) {
	_, err = ask(ctx, w, func() (_ struct{}, err error) {
		tasks, next, err = w.life.world.truth.at().List(ctx, f, before, limit)
		return struct{}{}, err
	})
	return tasks, next, err
}

func (w *wire) Depths(ctx context.Context) ([]store.Depth, error) {
	return ask(ctx, w, func() ([]store.Depth, error) { return w.life.world.truth.at().Depths(ctx) })
}

func (w *wire) Docs(ctx context.Context, f store.DocFilter, limit int) ([]store.Doc, error) {
	return ask(ctx, w, func() ([]store.Doc, error) { return w.life.world.truth.at().Docs(ctx, f, limit) })
}

func (w *wire) Audits(ctx context.Context, before time.Time, limit int) ([]store.Audit, error) {
	return ask(ctx, w, func() ([]store.Audit, error) { return w.life.world.truth.at().Audits(ctx, before, limit) })
}

// Close leaves the database open, because all nodes share it.
func (w *wire) Close() error { return nil }

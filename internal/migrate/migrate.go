package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Options of a move. The stores and Kinds are required.
type Options struct {
	From, To         store.Store
	FromName, ToName string   // for people, without secrets
	Kinds            []string // of the documents to move

	// Report is called with the progress, not concurrently; may be nil.
	Report func(Progress)
}

// A Progress is the progress of a move.
type Progress struct {
	Phase string   // copying, waiting, moving, checking, done
	Wait  []string // while waiting: the nodes that must stop
	Seen  int64    // tasks of the source that this phase has examined
	Total int64    // tasks in the source at the start of the phase
	Wrote int64    // tasks that this run has written or updated
}

// A Count is the number of tasks and documents in a store.
type Count struct {
	Pending, Ended int64
	Docs, Audits   int64
}

// Counted counts what a move would copy.
func Counted(ctx context.Context, s store.Store, kinds []string) (c Count, err error) {
	depths, err := s.Depths(ctx)
	if err != nil {
		return c, err
	}
	for _, d := range depths {
		c.Pending += d.Pending
		c.Ended += d.Succeeded + d.Failed + d.Cancelled
	}
	for _, kind := range kinds {
		d := &documents{s: s, kind: kind}
		for {
			doc, err := d.next(ctx)
			if err != nil {
				return c, err
			}
			if doc == nil {
				break
			}
			c.Docs++
		}
	}
	a := &audits{s: s}
	for {
		group, err := a.next(ctx)
		if err != nil {
			return c, err
		}
		if group == nil {
			return c, nil
		}
		c.Audits += int64(len(group))
	}
}

// ErrNotEmpty reports a target with content that is not of this move.
var ErrNotEmpty = errors.New("the target is not empty")

// A run is one call of Run.
type run struct {
	Options
	out, in *mark
	leases  []store.Lease // of all shards of the target
	turn    atomic.Uint32
	wrote   int64
}

// fence returns the lease for the next batch. Batches use the shards in turn, because a database
// makes batches with the same lease wait for each other. Whoever takes over the target claims all
// shards first, so any lease protects it.
func (r *run) fence() []store.Lease {
	i := int(r.turn.Add(1)) % len(r.leases)
	return r.leases[i : i+1]
}

// Run moves everything. It returns nil when servers can start on the target. After an error or a
// crash, call it again: it continues. In the source it changes only the mark and the epochs of the
// shards.
func Run(ctx context.Context, o Options) (err error) {
	if o.Report == nil {
		o.Report = func(Progress) {}
	}
	r := &run{Options: o}
	done, err := r.begin(ctx)
	if done || err != nil {
		return err
	}
	target, err := hold(ctx, r.To, "move/"+r.out.ID, nil)
	if err != nil {
		return fmt.Errorf("target %s: %w", r.ToName, err)
	}
	defer func() { err = errors.Join(err, target.leave()) }()
	r.leases = target.leases
	if err := r.into(ctx); err != nil {
		return err
	}
	if r.out.State == copying {
		busy, err := registered(ctx, r.From)
		if err != nil {
			return err
		}
		if busy {
			if _, err := r.pass(target.during(ctx), "copying", false); err != nil {
				return err
			}
		}
		r.out.State = closing
		if err := r.out.put(ctx, r.From, out, nil, ""); err != nil {
			return err
		}
	}
	if err := gone(ctx, r.From, func(nodes []string) { r.Report(Progress{Phase: "waiting", Wait: nodes, Wrote: r.wrote}) }); err != nil {
		return err
	}
	source, err := hold(ctx, r.From, "move/"+r.out.ID, func(owner string) {
		r.Report(Progress{Phase: "waiting", Wait: []string{owner}, Wrote: r.wrote})
	})
	if err != nil {
		return fmt.Errorf("source %s: %w", r.FromName, err)
	}
	defer func() { err = errors.Join(err, source.leave()) }()
	target.died = source.died
	held := source.during(target.during(ctx))
	phase := "moving"
	for range mostPasses {
		same, err := r.pass(held, phase, true)
		if err != nil {
			return errors.Join(err, context.Cause(held))
		}
		if same {
			return r.end(held, source.leases)
		}
		phase = "checking"
	}
	return fmt.Errorf("the two stores still differ after %d passes: something else writes to one of them; stop it and run this again", mostPasses)
}

// mostPasses is the number of passes after which something must be wrong. Two are usual: one that
// writes, and one that finds nothing to write.
const mostPasses = 10

// A course says how a run begins.
type course uint8

const (
	begins    course = iota // a new move
	continues               // it was interrupted
	opens                   // it was interrupted between its last two steps
	ended
)

// Check returns the error with which Run would refuse the stores, and changes nothing. To may be
// nil: it does not exist yet.
func Check(ctx context.Context, o Options) error {
	r := &run{Options: o}
	if _, err := r.look(ctx); err != nil || r.To == nil {
		return err
	}
	return r.fits(ctx)
}

// look decides whether this move is new, continues, or is done. To may be nil.
func (r *run) look(ctx context.Context) (course, error) {
	var err error
	if r.out, err = read(ctx, r.From, out); err != nil {
		return 0, err
	}
	other, err := read(ctx, r.From, in)
	if err == nil && other != nil {
		err = fmt.Errorf("the source %s is where a move from %s goes: let that come to its end first", r.FromName, other.Store)
	}
	if err != nil {
		return 0, err
	}
	var there *mark
	if r.To != nil {
		if r.in, err = read(ctx, r.To, in); err != nil {
			return 0, err
		}
		if there, err = read(ctx, r.To, landed); err != nil {
			return 0, err
		}
	}
	switch ours := r.out != nil && r.in != nil && r.in.ID == r.out.ID; {
	case r.out != nil && r.out.State == moved && there != nil && there.ID == r.out.ID && r.in == nil:
		return ended, nil
	case r.out != nil && r.out.State == moved && ours:
		return opens, nil
	case r.out != nil && r.out.State == moved:
		return 0, fmt.Errorf("the tasks of %s were moved to %s at %s: they go on there", r.FromName, r.out.Store, r.out.At)
	case ours:
		return continues, nil
	case r.in != nil:
		return 0, fmt.Errorf("%w: %s has what another move, from %s, wrote into it: let that come to its end, or, if it was given up, drop %s and move into a new one", ErrNotEmpty, r.ToName, r.in.Store, r.ToName)
	case r.To == nil:
		return begins, nil
	}
	return begins, r.empty(ctx)
}

// begin marks the source of a new move. It reports whether nothing is left to do.
func (r *run) begin(ctx context.Context) (done bool, err error) {
	switch is, err := r.look(ctx); {
	case err != nil, is == continues:
		return false, err
	case is == ended:
		return true, nil
	case is == opens:
		return true, r.open(ctx, nil)
	}
	if r.out == nil {
		r.out = &mark{State: copying}
	}
	// Another move: what an interrupted one wrote into another target is never taken for the result
	// of this one.
	r.out.ID, r.out.Store = bellman.NewID().String(), r.ToName
	if err := r.out.put(ctx, r.From, out, nil, ""); err != nil {
		return false, err
	}
	same, err := read(ctx, r.To, out)
	if err == nil && same != nil && same.ID == r.out.ID {
		err = errors.Join(errors.New("both are the same store"), Abandon(ctx, r.From))
	}
	return false, err
}

// empty returns an error if the target has content.
func (r *run) empty(ctx context.Context) error {
	c, err := Counted(ctx, r.To, r.Kinds)
	if err != nil {
		return err
	}
	if (c != Count{}) {
		return fmt.Errorf("%w: %s has %d tasks that wait, %d that ended, %d documents and %d audit records; want a new database or directory",
			ErrNotEmpty, r.ToName, c.Pending, c.Ended, c.Docs, c.Audits)
	}
	return nil
}

// fits returns an error if the target has another number of shards.
func (r *run) fits(ctx context.Context) error {
	from, err := r.From.State(ctx, "")
	if err != nil {
		return err
	}
	to, err := r.To.State(ctx, "")
	if err != nil {
		return err
	}
	if len(from.Shards) != len(to.Shards) {
		return fmt.Errorf("the source has %d shards and the target %d: make the target anew with ?shards=%d", len(from.Shards), len(to.Shards), len(from.Shards))
	}
	return nil
}

// into marks the target before anything else is written to it.
func (r *run) into(ctx context.Context) error {
	if err := r.fits(ctx); err != nil {
		return err
	}
	if r.in != nil {
		return nil
	}
	r.in = &mark{ID: r.out.ID, Store: r.FromName}
	return r.in.put(ctx, r.To, in, r.fence(), "")
}

// end marks the source as moved, and then releases the target.
func (r *run) end(ctx context.Context, leases []store.Lease) error {
	r.out.State = moved
	if err := r.out.put(ctx, r.From, out, leases, "moved to "+r.ToName); err != nil {
		return err
	}
	return r.open(ctx, r.fence())
}

// open removes the target's mark.
func (r *run) open(ctx context.Context, leases []store.Lease) error {
	before, err := read(ctx, r.To, landed)
	if err != nil {
		return err
	}
	m := &mark{ID: r.in.ID, Store: r.in.Store, At: r.in.At}
	if before != nil {
		m.kept = before.kept
	}
	doc, err := m.doc(landed)
	if err != nil {
		return err
	}
	b := &store.Batch{Leases: leases, Docs: []store.Doc{doc, {Kind: kind, Name: in, Was: slices.Clone(r.in.kept)}},
		Audits: []store.Audit{{At: r.out.At, Action: "move", Target: "store", Reason: "moved from " + r.FromName}}}
	if err := r.To.Commit(ctx, b); err != nil {
		return fmt.Errorf("free the target: %w", err)
	}
	r.Report(Progress{Phase: "done", Wrote: r.wrote})
	return nil
}

// Abandon gives up an unfinished move out of a store, so that its servers can start again. The
// copies stay in the target, which stays marked.
func Abandon(ctx context.Context, from store.Store) error {
	m, err := read(ctx, from, out)
	switch {
	case err != nil:
		return err
	case m == nil:
		return errors.New("no move is under way from this store")
	case m.State == moved:
		return fmt.Errorf("the tasks of this store were moved to %s at %s, and go on there: to begin with them here again would attempt them twice", m.Store, m.At)
	}
	return from.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: kind, Name: out, Was: m.kept}}})
}

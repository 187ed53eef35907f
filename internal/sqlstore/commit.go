package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// Commit writes b as one transaction.
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.Leases)+len(b.Adds)+len(b.Changes)+len(b.Docs)+len(b.Audits) == 0 {
		return nil
	}
	slot := s.slots.take()
	defer s.slots.give(slot)
	done, err := false, error(nil)
	if !conditional(b.Docs) { // conditional documents are read and written in turn
		done, err = s.short(ctx, b, slot)
	}
	if !done {
		err = s.write(ctx, func(tx Tx) ([]*Statement, error) { return s.newStage(tx, slot).run(ctx, b) })
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(b.Changes) > 0 {
		s.fold(ctx, slot)
	}
	s.afterMove(ctx)
	return nil
}

// A stage is the state of one try of a commit.
type stage struct {
	s     *Store // nil in a caller's transaction
	tx    Sender
	how   how
	batch int64 // number of this try; marks the rows that it inserted
	slot  int64

	current  map[bellman.ID]*current
	order    []bellman.ID // ids of current, in order of first use
	attempts map[attemptKey]*bellman.Attempt
	audits   []store.Audit
	depths   map[depthKey]int64
	places   places
}

// A current is a task's status, in the database and after this commit.
type current struct {
	queue  string
	line   int64
	there  bool // the task exists in the database before this commit
	state  bellman.State
	was    int64           // its version in the database
	status *bellman.Status // the new status; nil: unchanged
	now    uint32          // the new version
	in     bellman.State
	last   *bellman.Attempt  // the attempt in the ended row
	order  *bellman.Ordering // its ordering, if its place may change; nil: none
}

type attemptKey struct {
	id     bellman.ID
	number int
}

type depthKey struct {
	queue string
	state bellman.State
}

// how configures how a stage finds out which rows are new.
type how struct {
	counts bool // the affected rows of an Insert give the number of new rows
	locks  bool // read recent commits with a lock, because the isolation may hide them

	largest int    // bytes of a value; 0: no task is too large
	setting string // the server's setting that says so
}

func (s *Store) newStage(tx Sender, slot int64) *stage {
	by := how{counts: s.d.CountsInserts()}
	by.largest, by.setting = s.d.Largest()
	return newStage(s, tx, slot, by)
}

func newStage(s *Store, tx Sender, slot int64, by how) *stage {
	return &stage{s: s, tx: tx, how: by, batch: rand.Int64(), slot: slot, current: map[bellman.ID]*current{},
		attempts: map[attemptKey]*bellman.Attempt{}, depths: map[depthKey]int64{}}
}

// run decides the outcome of each item and returns the remaining writes.
func (g *stage) run(ctx context.Context, b *store.Batch) ([]*Statement, error) {
	fence, err := fence(b.Leases, g.s.d.LockFences())
	if err != nil {
		return nil, err
	}
	in := newInserter(g, slices.Collect(pointers(b.Adds)))
	first := append(g.places.read(b), in.statements()...)
	if fence != nil {
		first = append([]*Statement{fence}, first...)
	}
	if read := g.readVersions(b.Changes); read != nil {
		first = append(first, read)
	}
	if len(first) > 0 {
		if err := g.tx.Send(ctx, first...); err != nil {
			return nil, g.s.fenced(err, fence)
		}
	}
	if err := g.stand(ctx, b.Docs); err != nil {
		return nil, err
	}
	if err := in.finish(ctx); err != nil {
		return nil, err
	}
	if err := g.readEnded(ctx, b.Changes); err != nil {
		return nil, err
	}
	if err := g.decide(ctx, b.Changes); err != nil {
		return nil, err
	}
	statements := g.writes(b, Replace)
	if len(statements) == 0 && fence == nil {
		statements = g.vouch(b.Adds)
	}
	return statements, nil
}

// vouch is a write for a batch without writes that reports an existing task. If a database's COMMIT
// waits for a replica, it does so only after a write. Without a write, the reported task may exist
// on one machine only: PostgreSQL shows commits whose client stopped waiting for the replica.
func (g *stage) vouch(adds []store.Add) []*Statement {
	for i := range adds {
		if adds[i].Existing != (bellman.ID{}) {
			return []*Statement{depthRows([][]byte{[]byte(adds[i].Task.Queue)}, []int64{int64(bellman.Pending)}, []int64{g.slot}, []int64{0})}
		}
	}
	return nil
}

// writes returns the statements for all decisions except cold rows. then is the conflict action for
// an attempt whose number exists.
func (g *stage) writes(b *store.Batch, then Conflict) []*Statement {
	return slices.Concat(g.statusWrites(), g.placeWrites(), g.attemptWrites(then), docWrites(b.Docs), auditWrites(append(g.audits, b.Audits...)), g.depthWrites())
}

func pointers[T any](list []T) func(yield func(*T) bool) {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// fence is the statement that fails unless each lease is the newest lease of its shard; nil if
// there are no leases. The mark of a lease is the node that claimed it. A released shard still
// accepts commits under its newest lease.
//
// The fence holds the rows of the shards until the commit ends, so that a claim waits for it. With
// locks it locks the rows and makes no new versions of them: see Driver.LockFences.
func fence(leases []store.Lease, locks bool) (*Statement, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	leases = slices.Clone(leases)
	slices.SortFunc(leases, func(a, b store.Lease) int {
		return cmp.Or(strings.Compare(a.Mark, b.Mark), cmp.Compare(a.Shard, b.Shard))
	})
	epochs := map[uint16]store.Lease{}
	var newest strings.Builder // the condition that a row has the epoch and the owner of its lease
	var args []any
	for i, l := range leases {
		if other, twice := epochs[l.Shard]; twice && other != l {
			return nil, fmt.Errorf("%w: shard %d at epochs %d of %q and %d of %q", bellman.ErrFenced, l.Shard, other.Epoch, other.Mark, l.Epoch, l.Mark)
		} else if twice {
			continue
		}
		switch { // usually one owner has all shards
		case i == 0:
			newest.WriteString(`owner IN (?, ?) AND (`)
			args = append(args, []byte(l.Mark), []byte(given(l.Mark)))
		case l.Mark != leases[i-1].Mark:
			newest.WriteString(`) OR owner IN (?, ?) AND (`)
			args = append(args, []byte(l.Mark), []byte(given(l.Mark)))
		default:
			newest.WriteString(` OR `)
		}
		newest.WriteString(`(shard = ? AND epoch = ?)`)
		args = append(args, int64(l.Shard), l.Epoch)
		epochs[l.Shard] = l
	}
	newest.WriteString(`)`)
	shards := make([]int64, 0, len(epochs))
	for _, shard := range slices.Sorted(maps.Keys(epochs)) {
		shards = append(shards, int64(shard))
	}
	text := `UPDATE bellman_shard SET fence = fence + CASE WHEN ` + newest.String() + ` THEN 1 ELSE 9223372036854775807 END WHERE shard IN (??)`
	if locks {
		text = `SELECT shard FROM bellman_shard WHERE (` + newest.String() + `) AND shard IN (??) ORDER BY shard FOR NO KEY UPDATE`
	}
	return &Statement{Name: "fence", Text: text, Args: append(args, shards), Want: int64(len(shards))}, nil
}

// fenced returns ErrFenced if err comes from the fence: an overflow, or fewer rows than shards.
func (s *Store) fenced(err error, fence *Statement) error {
	if failed, is := errors.AsType[*Failed](err); fence == nil || !is || failed.Statement != fence {
		return err
	}
	if s.refused(err) {
		s.count.fenced.Add(1)
		return fmt.Errorf("%w: %v", bellman.ErrFenced, err)
	}
	return err
}

// refused reports whether an error of the fence means that a lease is not the newest.
func (s *Store) refused(err error) bool {
	return errors.Is(err, ErrRaced) || s.d.Kind(err) == Overflow
}

// readVersions reads unknown versions of the pending tasks in changes; nil if all versions are
// known.
func (g *stage) readVersions(changes []store.Change) *Statement {
	ids := g.unknown(changes)
	if len(ids) == 0 {
		return nil
	}
	return &Statement{Name: "read versions", Text: `SELECT id, version, queue, line FROM bellman_live WHERE id IN (??)`, Args: []any{ids},
		Each: func(r Row) error {
			var id bellman.ID
			var version, line int64
			var queue []byte
			if err := r.Scan(&id, &version, &queue, &line); err != nil {
				return err
			}
			g.found(id, bellman.Pending, version, string(queue), line)
			return nil
		}}
}

// unknown returns the tasks in changes whose versions are unknown, in order.
func (g *stage) unknown(changes []store.Change) []bellman.ID {
	ids := make([]bellman.ID, 0, len(changes))
	for i := range changes {
		if g.current[changes[i].ID] == nil {
			ids = append(ids, changes[i].ID)
		}
	}
	slices.SortFunc(ids, bellman.ID.Compare)
	return slices.Compact(ids)
}

// believe uses the task state that changes carry instead of a read, if that state is sufficient.
func (g *stage) believe(changes []store.Change) {
	for i := range changes {
		if of := changes[i].Of; of != nil && of.ID == changes[i].ID && of.Version == changes[i].Version && !of.State.Ended() {
			g.found(of.ID, of.State, int64(of.Version), of.Queue, int64(store.LineOf(of.Queue, of.Endpoint)))
		}
	}
}

func (g *stage) found(id bellman.ID, state bellman.State, version int64, queue string, line int64) {
	if g.current[id] == nil {
		g.order = append(g.order, id)
		g.current[id] = &current{queue: queue, line: line, there: true, state: state, was: version, now: uint32(version), in: state}
	}
}

// readEnded reads the versions of tasks that are not pending. One statement reads all states, so
// that a moving task is seen exactly once.
func (g *stage) readEnded(ctx context.Context, changes []store.Change) error {
	ids := g.unknown(changes)
	if len(ids) == 0 {
		return nil
	}
	return g.tx.Send(ctx, &Statement{Name: "read versions of ended tasks", Text: `SELECT id, 0, version, queue, line, NULL FROM bellman_live WHERE id IN (??)
		UNION ALL SELECT id, state, version, queue, line, attempt FROM bellman_ended WHERE state IN (1, 2, 3) AND id IN (??)`, Args: []any{ids, ids},
		Each: func(r Row) error {
			var id bellman.ID
			var state, version, line int64
			var queue, last []byte
			if err := r.Scan(&id, &state, &version, &queue, &line, &last); err != nil {
				return err
			}
			a, err := parseAttempt(id, last)
			if err != nil {
				return err
			}
			if g.current[id] == nil {
				g.found(id, bellman.State(state), version, string(queue), line)
				g.current[id].last = a
			}
			return nil
		}})
}

// decide decides which changes are made, and inserts the follow-up tasks of these changes.
func (g *stage) decide(ctx context.Context, changes []store.Change) error {
	var follow []*store.Add
	unsettled := map[bellman.ID]bool{} // follow-up tasks that are not inserted yet
	settle := func() error {
		in := newInserter(g, follow)
		if statements := in.statements(); len(statements) > 0 {
			if err := g.tx.Send(ctx, statements...); err != nil {
				return err
			}
		}
		follow = nil
		clear(unsettled)
		return in.finish(ctx)
	}
	for i := range changes {
		c := &changes[i]
		if unsettled[c.ID] {
			if err := settle(); err != nil {
				return err
			}
		}
		if !g.change(c) {
			continue
		}
		for j := range c.Follow {
			follow = append(follow, &c.Follow[j])
			unsettled[c.Follow[j].Task.ID] = true
		}
	}
	if len(follow) == 0 {
		return nil
	}
	return settle()
}

// change makes one change if its task exists and has the expected version.
func (g *stage) change(c *store.Change) (made bool) {
	c.Err = nil
	have := g.current[c.ID]
	switch {
	case have == nil:
		c.Err = bellman.ErrNotFound
		return false
	case have.now != c.Version:
		c.Err = bellman.ErrConflict
		return false
	}
	c.To.Version = have.now + 1
	g.count(have.queue, have.in, -1)
	g.count(have.queue, c.To.State, 1)
	have.status, have.now, have.in = &c.To, c.To.Version, c.To.State
	if c.Ordering != nil {
		have.order = c.Ordering
	}
	g.attempted(c, have)
	if c.Audit != nil {
		g.audits = append(g.audits, *c.Audit)
	}
	return true
}

// attempted records the attempt of a change. If the attempt ends its task, it is stored in the
// ended row. The next change moves it to the log.
func (g *stage) attempted(c *store.Change, have *current) {
	if old := have.last; old != nil {
		g.attempts[attemptKey{c.ID, old.Number}] = old
	}
	have.last = nil
	switch {
	case c.Attempt == nil:
	case c.To.State.Ended():
		have.last = c.Attempt
		delete(g.attempts, attemptKey{c.ID, c.Attempt.Number}) // added by the same commit
	default:
		g.attempts[attemptKey{c.ID, c.Attempt.Number}] = c.Attempt
	}
}

func (g *stage) count(queue string, state bellman.State, n int64) {
	g.depths[depthKey{queue, state}] += n
}

// depthWrites updates the counters. These writes come last, because commits contend for these rows.
func (g *stage) depthWrites() []*Statement {
	var queues [][]byte
	var states, slots, tasks []int64
	order := slices.SortedFunc(maps.Keys(g.depths), func(a, b depthKey) int {
		return cmp.Or(strings.Compare(a.queue, b.queue), cmp.Compare(a.state, b.state))
	})
	for _, key := range order {
		if n := g.depths[key]; n != 0 {
			queues, states = append(queues, []byte(key.queue)), append(states, int64(key.state))
			slots, tasks = append(slots, g.slot), append(tasks, n)
		}
	}
	if len(queues) == 0 {
		return nil
	}
	return []*Statement{depthRows(queues, states, slots, tasks)}
}

// depthRows returns the rows that update the counters.
func depthRows(queues [][]byte, states, slots, tasks []int64) *Statement {
	return &Statement{Name: "count tasks", Insert: &Insert{Into: "bellman_depth", Key: []string{"queue", "state", "slot"}, Then: Sum,
		Columns: []Column{{"queue", queues}, {"state", states}, {"slot", slots}, {"tasks", tasks}}}}
}

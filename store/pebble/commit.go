package pebble

import (
	"context"
	"errors"
	"fmt"
	"slices"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/pack"
	"github.com/bellmanhq/bellman/store"
)

// maxName is the maximum length in bytes of a text in a key. The API's own limits are far lower.
const maxName = 4 << 10

// A stage is the state of one commit. The rows to write are in the batch. The stage holds lookups
// for the rest of the same commit, and the changes to memory after the write.
type stage struct {
	key, row []byte // scratch

	before map[bellman.ID]*status // status of pending tasks, read ahead for this commit
	status map[bellman.ID]*status // status after this commit
	spare  []*status              // for reuse
	order  []bellman.ID           // scratch
	keys   map[string]claimed     // keys and aliases taken by this commit, as encoded by keyKey
	deltas map[uint32]counts      // changes to counters, by queue
	names  []uint32               // queues whose names this commit writes
	newest bellman.ID
	audits uint64
	floor  position // the earliest due entry written

	lasts map[string]int64 // last place of each ordering key that this commit adds to

	seek   *lsm.Iterator // for keys that probably do not exist; nil until needed
	places *lsm.Iterator // of ordering keys; nil until needed
}

// claimed is the value of a key row. An alias has no digest.
type claimed struct {
	id     bellman.ID
	digest bellman.Digest
}

func (g *stage) reset(s *Store) {
	if g.status == nil {
		g.before, g.status = map[bellman.ID]*status{}, map[bellman.ID]*status{}
		g.keys, g.deltas = map[string]claimed{}, map[uint32]counts{}
		g.lasts = map[string]int64{}
	}
	for _, m := range []map[bellman.ID]*status{g.before, g.status} {
		for _, st := range m {
			*st = status{}
			g.spare = append(g.spare, st)
		}
		clear(m)
	}
	g.spare = g.spare[:min(len(g.spare), 2048)]
	clear(g.keys)
	clear(g.deltas)
	clear(g.lasts)
	g.names = g.names[:0]
	g.newest, g.audits, g.floor = s.newest, s.audits, lastPosition
}

// take returns an empty status for reuse.
func (g *stage) take() *status {
	if n := len(g.spare); n > 0 {
		st := g.spare[n-1]
		g.spare = g.spare[:n-1]
		return st
	}
	return new(status)
}

// Commit writes b as one transaction, synced.
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.fence(b.Leases); err != nil {
		return err
	}
	s.stage.reset(s)
	if err := s.standing(b.Docs); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := errors.Join(s.fill(b), s.stage.close()); err != nil {
		s.rows.reset()
		return fmt.Errorf("commit: %w", err)
	}
	if b.Whole() && slices.ContainsFunc(b.Adds, func(a store.Add) bool { return errors.Is(a.Err, bellman.ErrFull) }) {
		s.rows.reset()
		return bellman.ErrFull
	}
	return s.flush()
}

// fill puts all of b into s.rows.
func (s *Store) fill(b *store.Batch) error {
	low := len(b.Adds) > 0 && s.disk.low()
	for i := range b.Adds {
		if err := s.add(&b.Adds[i], low); err != nil {
			return fmt.Errorf("add task %s: %w", b.Adds[i].Task.ID, err)
		}
	}
	if err := s.readAhead(b.Changes); err != nil {
		return err
	}
	for i := range b.Changes {
		if err := s.change(&b.Changes[i]); err != nil {
			return fmt.Errorf("change task %s: %w", b.Changes[i].ID, err)
		}
	}
	for _, d := range b.Docs {
		if err := s.putDoc(d); err != nil {
			return fmt.Errorf("write document %s/%s: %w", d.Kind, d.Name, err)
		}
	}
	for _, a := range b.Audits {
		if err := s.putAudit(a); err != nil {
			return fmt.Errorf("write audit record: %w", err)
		}
	}
	return s.putCounts()
}

// flush writes the rows, if there are any, and then updates the memory.
func (s *Store) flush() error {
	g := &s.stage
	if err := s.rows.moveTo(s.batch); err != nil {
		s.batch.Reset()
		return fmt.Errorf("commit: %w", err)
	}
	if s.batch.Empty() {
		return nil
	}
	s.front.writing(g.floor)
	return s.writeThen(func() { // before the next commit, so the stage is still this one's
		s.front.wrote()
		s.newest, s.audits = g.newest, g.audits
		for _, n := range g.names {
			s.queues.durable[n] = true
		}
		s.queues.mu.Lock()
		defer s.queues.mu.Unlock()
		for n, delta := range g.deltas {
			for i := range delta {
				s.queues.counts[n][i] += delta[i]
			}
		}
	})
}

// add inserts a task unless its id, key or alias already exists.
func (s *Store) add(a *store.Add, low bool) error {
	a.Existing, a.Err = bellman.ID{}, nil
	if a.Err = check(a.Task); a.Err != nil {
		return nil
	}
	isNew, err := s.isNew(a)
	if err != nil || !isNew {
		return err
	}
	if low {
		a.Err = bellman.ErrFull
		return nil
	}
	return s.insert(a)
}

// isNew reports whether a task can be inserted. If not, a says why.
func (s *Store) isNew(a *store.Add) (bool, error) {
	t := a.Task
	if queue, known := s.queues.numbers[t.Queue]; t.Key != "" && known {
		have, found, err := s.holder(queue, t.Key)
		if err != nil {
			return false, err
		}
		if found {
			a.Existing = have.id
			if have.digest != a.Digest {
				a.Err = bellman.ErrKeyTaken
			}
			return false, nil
		}
	}
	if t.ID.IsZero() {
		a.Err = bellman.InvalidField("id", "is missing")
		return false, nil
	}
	there, err := s.exists(t.ID)
	if err != nil {
		return false, err
	}
	if there {
		// Same id: the same task, retried after a commit of unknown outcome.
		a.Existing = t.ID
		return false, nil
	}
	if t.Alias() != "" {
		have, taken, err := s.holder(aliases, t.Alias())
		if err != nil {
			return false, err
		}
		if taken {
			a.Existing, a.Err = have.id, bellman.ErrAliasTaken
			return false, nil
		}
	}
	return true, nil
}

// insert puts a new task and its rows in the indexes into the batch.
func (s *Store) insert(a *store.Add) error {
	t, g := a.Task, &s.stage
	queue := s.queues.intern(t.Queue)
	st := g.take()
	*st = status{Status: t.Status, queue: queue, line: store.LineOf(t.Queue, t.Endpoint)}
	st.Version = max(st.Version, 1)
	if !a.Moved {
		st.Place = 0
	}
	g.status[t.ID] = st
	if t.ID.Compare(g.newest) > 0 {
		g.newest = t.ID
	}
	g.row = appendCold(g.row[:0], t, queue)
	g.key = coldKey(g.key[:0], t.ID)
	if err := s.set(g.key, g.row); err != nil {
		return err
	}
	if t.Key != "" {
		if err := s.putKey(queue, t.Key, claimed{t.ID, a.Digest}); err != nil {
			return err
		}
	}
	if t.Alias() != "" {
		if err := s.putKey(aliases, t.Alias(), claimed{id: t.ID}); err != nil {
			return err
		}
	}
	if t.MerchantNo != "" {
		g.key = merchantKey(g.key[:0], t.MerchantNo, t.ID)
		if err := s.set(g.key, nil); err != nil {
			return err
		}
	}
	if t.OrderNo != "" {
		g.key = orderKey(g.key[:0], t.OrderNo, t.ID)
		if err := s.set(g.key, nil); err != nil {
			return err
		}
	}
	s.count(queue, st.State, 1)
	if t.OrderingKey != "" && !st.State.Ended() {
		if err := s.takePlace(t, st); err != nil {
			return err
		}
	}
	t.Place = st.Place
	return s.putStatus(t.ID, st)
}

// putKey writes the row of a key or an alias.
func (s *Store) putKey(queue uint32, key string, by claimed) error {
	g := &s.stage
	g.key = keyKey(g.key[:0], queue, key)
	g.keys[string(g.key)] = by
	g.row = append(append(g.row[:0], by.id[:]...), by.digest[:]...)
	return s.set(g.key, g.row)
}

// check rejects a text too long for a key, and a task without a queue.
func check(t *bellman.Task) error {
	var wrong bellman.Invalid
	if t.Queue == "" {
		wrong.Add("queue", "is missing")
	}
	for _, f := range [...]struct{ name, text string }{
		{"queue", t.Queue}, {"key", t.Key}, {"alias", t.Alias()}, {"merchant_no", t.MerchantNo}, {"order_no", t.OrderNo},
		{"ordering_key", t.OrderingKey},
	} {
		if len(f.text) > maxName {
			wrong.Add(f.name, fmt.Sprintf("has %d bytes: want at most %d", len(f.text), maxName))
		}
	}
	return wrong.Err()
}

// holder finds the task that has this key, or this alias.
func (s *Store) holder(queue uint32, key string) (claimed, bool, error) {
	g := &s.stage
	g.key = keyKey(g.key[:0], queue, key)
	if have, ok := g.keys[string(g.key)]; ok {
		return have, true, nil
	}
	if g.seek == nil {
		// Get reads a block of the lowest level even if its filter could exclude the key. The
		// iterator reads a block in one lookup of a hundred.
		bounds := within([]byte{tableKey})
		bounds.UseL6Filters = true
		var err error
		if g.seek, err = s.db.NewIter(bounds); err != nil {
			return claimed{}, false, err
		}
	}
	if !g.seek.SeekPrefixGE(g.key) {
		return claimed{}, false, g.seek.Error()
	}
	row, err := g.seek.ValueAndErr()
	if err != nil {
		return claimed{}, false, err
	}
	have, err := parseClaimed(row)
	return have, true, err
}

// close closes the iterators of one commit.
func (g *stage) close() (err error) {
	for _, iter := range [...]**lsm.Iterator{&g.seek, &g.places} {
		if *iter != nil {
			err = errors.Join(err, (*iter).Close())
			*iter = nil
		}
	}
	return err
}

func parseClaimed(row []byte) (c claimed, err error) {
	if len(row) != len(c.id)+len(c.digest) {
		return c, pack.ErrCorrupt
	}
	copy(c.digest[:], row[copy(c.id[:], row):])
	return c, nil
}

// exists reports whether a task has this id. An id greater than all earlier ids, the usual case,
// needs no read.
func (s *Store) exists(id bellman.ID) (bool, error) {
	g := &s.stage
	if id.Compare(g.newest) > 0 {
		return false, nil
	}
	if _, ok := g.status[id]; ok {
		return true, nil
	}
	g.key = coldKey(g.key[:0], id)
	err := get(s.db, g.key, func([]byte) error { return nil })
	if errors.Is(err, bellman.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// change moves a task from one status to the next.
func (s *Store) change(c *store.Change) error {
	c.Err = nil
	g := &s.stage
	old, err := s.current(c.ID)
	if errors.Is(err, bellman.ErrNotFound) {
		c.Err = bellman.ErrNotFound
		return nil
	}
	if err != nil {
		return err
	}
	if old.Version != c.Version {
		c.Err = bellman.ErrConflict
		return nil
	}
	c.To.Version = old.Version + 1

	// A task that keeps its state keeps its row; the row is overwritten.
	once := old.Version == 1
	if c.To.State != old.State {
		g.key = statusKey(g.key[:0], old.State, c.ID)
		if err := s.del(g.key, once && !old.State.Ended()); err != nil {
			return err
		}
		s.count(old.queue, old.State, -1)
		s.count(old.queue, c.To.State, 1)
	}
	stays := !c.To.State.Ended() && milli(c.To.VisibleAt) == milli(old.VisibleAt)
	if !old.State.Ended() && !stays {
		g.key = dueKey(g.key[:0], milli(old.VisibleAt), c.ID)
		if err := s.del(g.key, once); err != nil {
			return err
		}
	}
	st := g.status[c.ID]
	if st == nil {
		st = g.take()
		g.status[c.ID] = st
	}
	*st = status{Status: c.To, queue: old.queue, line: old.line}
	if c.Ordering != nil && c.To.State.Ended() != old.State.Ended() {
		if err := s.movePlace(c.ID, c.Ordering, st, old.Place); err != nil {
			return err
		}
	}
	if err := s.putStatus(c.ID, st); err != nil {
		return err
	}
	if c.Attempt != nil {
		g.key = attemptKey(g.key[:0], c.ID, c.Attempt.Number)
		g.row = pack.Attempt(g.row[:0], c.ID, c.Attempt)
		if err := s.set(g.key, g.row); err != nil {
			return err
		}
	}
	if c.Audit != nil {
		if err := s.putAudit(*c.Audit); err != nil {
			return err
		}
	}
	for i := range c.Follow {
		if err := s.add(&c.Follow[i], false); err != nil {
			return err
		}
	}
	return nil
}

// putStatus writes the status row of a task and, while the task is pending, its due row.
func (s *Store) putStatus(id bellman.ID, st *status) error {
	g := &s.stage
	g.key = statusKey(g.key[:0], st.State, id)
	g.row = appendStatus(g.row[:0], id, st)
	if err := s.set(g.key, g.row); err != nil {
		return err
	}
	if st.State.Ended() {
		s.pruned[st.State] = lesser(s.pruned[st.State], id)
		return nil
	}
	look := milli(st.VisibleAt)
	g.key = dueKey(g.key[:0], look, id)
	g.row = appendEntry(g.row[:0], st)
	if at := (position{look, id}); at.before(g.floor) {
		g.floor = at
	}
	return s.set(g.key, g.row)
}

func (s *Store) count(queue uint32, state bellman.State, n int64) {
	delta := s.stage.deltas[queue]
	delta[state&3] += n
	s.stage.deltas[queue] = delta
}

// putCounts writes the counters that this commit changes, and the names of new queues.
func (s *Store) putCounts() error {
	g := &s.stage
	for n, delta := range g.deltas {
		sum := s.queues.counts[n]
		for i := range sum {
			sum[i] += delta[i]
		}
		g.key = queueKey(g.key[:0], tableDepth, n)
		g.row = appendCounts(g.row[:0], sum)
		if err := s.set(g.key, g.row); err != nil {
			return err
		}
		if s.queues.durable[n] {
			continue
		}
		name, _ := s.queues.name(n)
		g.key = queueKey(g.key[:0], tableQueue, n)
		if err := s.set(g.key, []byte(name)); err != nil {
			return err
		}
		g.names = append(g.names, n)
	}
	return nil
}

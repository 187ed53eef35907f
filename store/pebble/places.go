package pebble

import (
	"bytes"
	"context"
	"errors"
	"time"

	lsm "github.com/cockroachdb/pebble/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// takePlace appends a new task to the pending tasks of its ordering key, unless the task has a
// place.
func (s *Store) takePlace(t *bellman.Task, st *status) error {
	g := &s.stage
	g.key = placesKey(g.key[:0], st.queue, t.OrderingKey, false)
	chain := string(g.key)
	last, known := g.lasts[chain]
	if !known {
		var err error
		if last, err = s.lastPlace(st.queue, t.OrderingKey); err != nil {
			return err
		}
	}
	if st.Place == 0 {
		st.Place = max(time.Now().UnixMicro(), last+1)
	}
	g.lasts[chain] = max(last, st.Place)
	g.key = placeKey(g.key[:0], st.queue, t.Ordering(), st.Place, t.ID)
	return s.set(g.key, nil)
}

// lastPlace returns the last place of an ordering key before this commit; 0 if the key has no
// pending task.
func (s *Store) lastPlace(queue uint32, ordering string) (last int64, err error) {
	g := &s.stage
	if g.places == nil {
		if g.places, err = s.db.NewIter(within([]byte{tablePlace})); err != nil {
			return 0, err
		}
	}
	for _, supersedes := range [...]bool{false, true} {
		prefix := placesKey(nil, queue, ordering, supersedes)
		if g.places.SeekLT(after(prefix)) && bytes.HasPrefix(g.places.Key(), prefix) {
			last = max(last, parsePlace(g.places.Key()).look)
		}
	}
	return last, g.places.Error()
}

// movePlace deletes the place old of a task that ended, and restores the place of a task that is
// pending again. st is the new status.
func (s *Store) movePlace(id bellman.ID, o *bellman.Ordering, st *status, old int64) error {
	g := &s.stage
	if st.State.Ended() {
		g.key = placeKey(g.key[:0], st.queue, o, old, id)
		return s.del(g.key, false)
	}
	g.key = placeKey(g.key[:0], st.queue, o, st.Place, id)
	return s.set(g.key, nil)
}

// Chain reads the pending tasks of an ordering key from one snapshot.
func (s *Store) Chain(_ context.Context, queue, orderingKey string, id bellman.ID, limit int) (found store.Chain, err error) {
	if err := s.enter(); err != nil {
		return found, err
	}
	defer s.leave()
	var missing error // error for a task that is not in the chain
	if !id.IsZero() {
		missing = bellman.ErrNotFound
	}
	n, ok := s.queues.number(queue)
	if !ok || orderingKey == "" || len(orderingKey) > maxName {
		return found, missing
	}
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	c := chain{snapshot, n, orderingKey}
	own := firstPosition
	if !id.IsZero() {
		var st status
		err = get(snapshot, hotKey(nil, id), func(row []byte) error { return parseStatus(row, id, &st) })
		if err != nil {
			return found, err
		}
		own = position{st.Place, id}
		if there, err := c.has(own); err != nil || !there {
			return found, errors.Join(err, missing)
		}
	}
	first, err := c.first(max(limit, 1))
	if err != nil || len(first) == 0 {
		return found, err
	}
	if id.IsZero() {
		own = first[0]
	}
	for _, p := range first[:min(len(first), max(limit, 0))] {
		found.First = append(found.First, p.id)
	}
	last, err := c.lastSuperseding()
	if own.before(last) {
		found.SupersededBy = last.id
	}
	return found, err
}

// A chain is the pending tasks of an ordering key. Its positions are places, ordered by time and
// id.
type chain struct {
	r     lsm.Reader
	queue uint32
	key   string
}

func (c chain) iter(supersedes bool) (*lsm.Iterator, error) {
	return c.r.NewIter(within(placesKey(nil, c.queue, c.key, supersedes)))
}

// first reads up to limit places in order.
func (c chain) first(limit int) (places []position, err error) {
	var sides [2]*lsm.Iterator
	for i := range sides {
		if sides[i], err = c.iter(i == 1); err != nil {
			return nil, err
		}
		defer sides[i].Close()
		sides[i].First()
	}
	for len(places) < limit {
		next := sides[0]
		if b := sides[1]; !next.Valid() || b.Valid() && parsePlace(b.Key()).before(parsePlace(next.Key())) {
			next = b
		}
		if !next.Valid() {
			break
		}
		places = append(places, parsePlace(next.Key()))
		next.Next()
	}
	return places, errors.Join(sides[0].Error(), sides[1].Error())
}

// lastSuperseding returns the position of the last superseding task, or the first position of all
// if no task supersedes.
func (c chain) lastSuperseding() (position, error) {
	iter, err := c.iter(true)
	if err != nil {
		return firstPosition, err
	}
	defer iter.Close()
	if !iter.Last() {
		return firstPosition, iter.Error()
	}
	return parsePlace(iter.Key()), nil
}

// has reports whether a task is at a place.
func (c chain) has(p position) (bool, error) {
	for _, supersedes := range [...]bool{false, true} {
		o := bellman.Ordering{Key: c.key, Supersedes: supersedes}
		err := get(c.r, placeKey(nil, c.queue, &o, p.look, p.id), func([]byte) error { return nil })
		if err == nil || !errors.Is(err, bellman.ErrNotFound) {
			return err == nil, err
		}
	}
	return false, nil
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A truth is the database: the real store, and beside it the ledger, which sees every change in the
// order in which the store makes it.
type truth struct {
	store.Store
	mu sync.Mutex
	*ledger

	sole     bool              // it is exclusive
	opened   *life             // the life that has the exclusive store open
	heirless map[uint16]string // by shard: the owner that was gone when the store was opened
	replica  *replica          // the replica that a fail-over promotes; nil: there is none
	moment   time.Time         // of the last commit
	times    int               // number of commits at that moment
}

// stands ends the process when somebody commits again and again while time stands still: the run
// would never end, and say nothing.
func (t *truth) stands(l *life) {
	const most = 50_000
	if now := time.Now(); !now.Equal(t.moment) {
		t.moment, t.times = now, 0
	}
	if t.times++; t.times > most {
		panic(fmt.Sprintf("%s commits without end, and time stands still", l))
	}
}

func (t *truth) commit(l *life, b *store.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed(l) {
		return errDead
	}
	t.stands(l)
	same := unshared(b)
	err := t.Store.Commit(context.Background(), b)
	if err == nil {
		t.mirrored(func(r *replica) { r.store.Commit(context.Background(), same) })
		t.committed(l, b)
		return nil
	}
	if errors.Is(err, bellman.ErrFenced) {
		t.count.Fenced++
		if !slices.ContainsFunc(b.Leases, func(lease store.Lease) bool { return t.shard(lease.Shard).lease(lease.Shard) != lease }) {
			t.wrong(bellman.ID{}, "%s was fenced off although all its leases are the newest: %v", l, err)
		}
		t.tell(bellman.ID{}, "%s was fenced off: %v", l, err)
	}
	return err
}

func (t *truth) join(l *life, n store.Node, ttl time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed(l) {
		return errDead
	}
	err := t.Store.Join(context.Background(), n, ttl)
	if err == nil {
		t.mirrored(func(r *replica) { r.beat(n.Name, r.store.Join(context.Background(), n, ttl)) })
		t.joined(l, n, ttl)
	}
	return err
}

func (t *truth) beat(node string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Store.Beat(context.Background(), node)
	if err == nil {
		t.mirrored(func(r *replica) { r.beat(node, r.store.Beat(context.Background(), node)) })
		t.beaten(node)
	}
	return err
}

func (t *truth) leave(l *life, node string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed(l) {
		return errDead
	}
	err := t.Store.Leave(context.Background(), node)
	if err == nil {
		t.mirrored(func(r *replica) { r.store.Leave(context.Background(), node) })
		t.left(l, node)
	}
	return err
}

func (t *truth) release(l *life, node string, lease store.Lease) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed(l) {
		return errDead
	}
	err := t.Store.Release(context.Background(), node, lease)
	if err == nil {
		t.mirrored(func(r *replica) { r.store.Release(context.Background(), node, lease) })
		t.released(l, node, lease)
	}
	return err
}

func (t *truth) claim(l *life, node string, n uint16, seen int64) (store.Lease, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed(l) {
		return store.Lease{}, errDead
	}
	lease, err := t.Store.Claim(context.Background(), node, n, seen)
	if err == nil {
		t.mirrored(func(r *replica) { r.store.Claim(context.Background(), node, n, seen) })
		t.claimed(l, node, n, seen, lease)
		delete(t.heirless, n)
	}
	return lease, err
}

func (t *truth) state(ctx context.Context, kind string) (store.State, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	state, err := t.Store.State(ctx, kind)
	t.orphaned(state.Shards)
	return state, err
}

// note writes something into the ledger.
func (t *truth) note(f func(g *ledger)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.ledger)
}

// copied returns a batch that shares nothing with b that its maker changes.
func copied(b *store.Batch) *store.Batch {
	c := &store.Batch{
		Leases:  slices.Clone(b.Leases),
		Adds:    slices.Clone(b.Adds),
		Changes: slices.Clone(b.Changes),
		Docs:    slices.Clone(b.Docs),
		Audits:  slices.Clone(b.Audits),
	}
	for i := range c.Changes {
		ch := &c.Changes[i]
		ch.Follow = slices.Clone(ch.Follow)
		if ch.Attempt != nil {
			a := *ch.Attempt
			ch.Attempt = &a
		}
	}
	return c
}

// answer copies the results of the copy into b.
func answer(b, done *store.Batch) {
	for i := range b.Adds {
		b.Adds[i].Existing, b.Adds[i].Err = done.Adds[i].Existing, done.Adds[i].Err
	}
	for i := range b.Changes {
		to, from := &b.Changes[i], &done.Changes[i]
		to.To.Version, to.Err = from.To.Version, from.Err
		for j := range to.Follow {
			to.Follow[j].Existing, to.Follow[j].Err = from.Follow[j].Existing, from.Follow[j].Err
		}
	}
}

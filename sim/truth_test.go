package sim

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// A truth is the database: the real store, and beside it the ledger, which sees
// everything in the order in which the store does it.
type truth struct {
	bellman.Store
	mu sync.Mutex
	*ledger
}

func (t *truth) commit(l *life, b *bellman.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Store.Commit(context.Background(), b)
	if err == nil {
		t.committed(l, b)
		return nil
	}
	if errors.Is(err, bellman.ErrFenced) {
		t.count.Fenced++
		if !slices.ContainsFunc(b.Leases, func(lease bellman.Lease) bool { return t.shard(lease.Shard).epoch != lease.Epoch }) {
			t.wrong(bellman.ID{}, "%s was fenced off although all its leases are the newest: %v", l, err)
		}
		t.tell(bellman.ID{}, "%s was fenced off: %v", l, err)
	}
	return err
}

func (t *truth) join(l *life, n bellman.Node, ttl time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Store.Join(context.Background(), n, ttl)
	if err == nil {
		t.joined(l, n, ttl)
	}
	return err
}

func (t *truth) beat(node string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Store.Beat(context.Background(), node)
	if err == nil {
		t.beaten(node)
	}
	return err
}

func (t *truth) leave(l *life, node string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Store.Leave(context.Background(), node)
	if err == nil {
		t.left(l, node)
	}
	return err
}

func (t *truth) release(l *life, node string, lease bellman.Lease) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.Store.Release(context.Background(), node, lease)
	if err == nil {
		t.released(l, node, lease)
	}
	return err
}

func (t *truth) claim(l *life, node string, n uint16, seen int64) (bellman.Lease, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lease, err := t.Store.Claim(context.Background(), node, n, seen)
	if err == nil {
		t.claimed(l, node, n, seen, lease)
	}
	return lease, err
}

func (t *truth) glance(ctx context.Context, kind string) (nodes []bellman.Node, shards []bellman.Shard, docs []bellman.Doc, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if nodes, err = t.Store.Nodes(ctx); err == nil {
		shards, err = t.Store.Shards(ctx)
	}
	if err == nil {
		docs, err = t.Store.Docs(ctx, kind, "", 1000) // more than there are receivers and queues
	}
	return nodes, shards, docs, err
}

// note writes something into the ledger.
func (t *truth) note(f func(g *ledger)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.ledger)
}

// copied returns a batch that shares nothing with b that its maker changes.
func copied(b *bellman.Batch) *bellman.Batch {
	c := &bellman.Batch{
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

// answer writes into b what became of its copy.
func answer(b, done *bellman.Batch) {
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

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// mostBeats is how many beats may wait for their answers at once.
const mostBeats = int(leaseTTL / leaseBeat)

// keepAlive is the goroutine that keeps this node registered. A node that was away
// for longer than the TTL is dead to the others: it never comes back under its
// old name, but joins under a new one, and trusts none of its shards until it has
// looked whose they are.
//
// A beat goes out each leaseBeat, whether or not those before it were answered, and whichever
// answer comes first counts: a connection on which no answer comes costs one beat and no
// lease.
func (l *leases) keepAlive(ctx context.Context) error {
	ticker := time.NewTicker(leaseBeat)
	defer ticker.Stop()
	answers := make(chan answer, mostBeats)
	var beats sync.WaitGroup
	defer beats.Wait()
	for waiting := 0; ; {
		var a answer
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if waiting < mostBeats {
				waiting++
				beats.Go(func() { answers <- l.beatOnce(ctx) })
			}
			continue
		case a = <-answers:
			waiting--
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(a.err, bellman.ErrClosed):
			return fmt.Errorf("beat: %w", a.err)
		case errors.Is(a.err, bellman.ErrFenced):
			if a.name != l.name() {
				continue // it has joined anew since
			}
			l.log.Warn("this node was away for too long; it joins anew", "node", a.name)
			err := l.rejoin(ctx)
			l.lookSoon()
			if err != nil && ctx.Err() == nil {
				l.log.Error("this node cannot join anew", "err", err)
			}
		case a.err != nil:
			l.log.Error("beat failed", "err", a.err)
		}
		l.runner.mayFire() // firing stops while the leases are not to be trusted
	}
}

// An answer is what came of a beat under a name.
type answer struct {
	name string
	err  error
}

// beatOnce beats. An answer that takes longer than the TTL is worth nothing.
func (l *leases) beatOnce(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, leaseTTL)
	defer cancel()
	name, sent := l.name(), time.Now()
	err := l.store.Beat(ctx, name)
	if err == nil {
		l.trust(name, sent)
	}
	return answer{name, err}
}

// join registers this node under a new name.
func (l *leases) join(ctx context.Context) error {
	l.mu.RLock()
	node := l.node
	l.mu.RUnlock()
	node.Name = fmt.Sprintf("%s/%s", l.base, bellman.NewID())
	sent := time.Now()
	if err := l.store.Join(ctx, node, leaseTTL); err != nil {
		return fmt.Errorf("join as node %s: %w", node.Name, err)
	}
	l.joined(node, sent)
	return nil
}

// rejoin joins under a new name while nobody claims shards under the old one.
func (l *leases) rejoin(ctx context.Context) error {
	l.claiming.Lock()
	defer l.claiming.Unlock()
	return l.join(ctx)
}

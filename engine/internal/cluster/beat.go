package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
)

// mostBeats bounds the heartbeats that wait for an answer.
const mostBeats = int(leaseTTL / leaseBeat)

// KeepAlive is the goroutine that sends heartbeats. If the node was silent for longer than the TTL,
// it is dead for the others. It never returns under its old name: it joins under a new one, and
// trusts its shards only after it has read who owns them.
//
// A heartbeat goes out each leaseBeat, whether or not earlier ones were answered, and the first
// answer counts. So a silent connection costs one heartbeat and no lease.
func (m *Member) KeepAlive(ctx context.Context) error {
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
				beats.Go(func() { answers <- m.beatOnce(ctx) })
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
			if a.name != m.Name() {
				continue // it has joined again since
			}
			m.log.Warn("the registration of this node expired; it joins again", "node", a.name)
			err := m.Rejoin(ctx)
			if errors.Is(err, bellman.ErrClosed) { // the store takes no nodes any more
				return fmt.Errorf("join again: %w", err)
			}
			m.lookSoon()
			if err != nil && ctx.Err() == nil {
				m.log.Error("this node cannot join again", "err", err)
			}
		case a.err != nil:
			m.log.Error("beat failed", "err", a.err)
		}
		m.host.Changed() // attempts stop while the leases are not trusted
	}
}

// An answer is the result of a heartbeat under a name.
type answer struct {
	name string
	err  error
}

// beatOnce sends one heartbeat. An answer after the TTL is useless.
func (m *Member) beatOnce(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, leaseTTL)
	defer cancel()
	name, sent := m.Name(), time.Now()
	err := m.store.Beat(ctx, name)
	if err == nil {
		m.trust(name, sent)
	}
	return answer{name, err}
}

// suffixed separates the name of a process from the suffix of one registration.
const suffixed = "/"

// baseOf returns the name of a node without the suffix of its registration.
func baseOf(name string) string {
	if i := strings.LastIndex(name, suffixed); i >= 0 {
		return name[:i]
	}
	return name
}

// join registers this node under a new name.
func (m *Member) join(ctx context.Context) error {
	m.mu.RLock()
	node := m.node
	m.mu.RUnlock()
	node.Name = m.base + suffixed + bellman.NewID().String()
	sent := time.Now()
	if err := m.store.Join(ctx, node, leaseTTL); err != nil {
		return fmt.Errorf("join as node %s: %w", node.Name, err)
	}
	m.joined(node, sent)
	return nil
}

// Rejoin joins under a new name while no claim under the old name is in progress.
func (m *Member) Rejoin(ctx context.Context) error {
	m.claiming.Lock()
	defer m.claiming.Unlock()
	return m.join(ctx)
}

package engine

import (
	"context"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

// A Report holds the figures that only one node knows. Nodes exchange it as JSON.
type Report = figures.Report

// Report returns the figures that only this node knows. Options.Ask of another node fetches it.
func (m *Monitor) Report(ctx context.Context, ask figures.Ask) Report {
	now := m.clock.Now()
	h := m.watch.history
	r := Report{Node: m.leases.Name()}
	if ask.Queues {
		states := m.dispatch.Queues()
		names := make(map[string]int, len(states))
		for name := range *m.rules.queues.Load() {
			names[name] = -1
		}
		for i, st := range states {
			names[st.Name] = i
		}
		for name, i := range names {
			q := figures.QueueReport{Name: name, LastMinute: h.LastMinute(now, name), FailedHour: h.FailedHour(now, name)}
			if i >= 0 {
				q.Waiting, q.Held, q.InFlight, q.OldestFree = states[i].Waiting, states[i].Held, states[i].InFlight, atNs(states[i].OldestDue)
			}
			r.Queues = append(r.Queues, q)
		}
	}
	if ask.Endpoints {
		r.Endpoints = m.Endpoints()
	}
	if ask.Gauges {
		r.Gauges = m.Gauges(ctx)
		if m.failing != nil {
			r.Failing = m.failing(ctx)
		}
		r.Follows = m.committer.refusedFollows.All(now)
		if m.refused != nil {
			r.Refused = m.refused()
		}
	}
	for _, window := range ask.Windows {
		r.Windows = append(r.Windows, h.Window(now, window))
	}
	r.Minutes = h.Minutes(now, &ask)
	if ask.Recent != nil {
		of := figures.RecentAsk{Endpoints: most(ask.Recent.Endpoints), Merchants: most(ask.Recent.Merchants)}
		r.RecentEndpoints, r.RecentMerchants = m.watch.health.Named(now, &of)
	}
	r.Wall = m.clock.Wall()
	return r
}

func most(names []string) []string { return names[:min(len(names), figures.MostRecent)] }

// figuresWithin is how long the other nodes have to answer, and so how long a reader waits for a
// node that is down.
const figuresWithin = 300 * time.Millisecond

// Figures returns the sums over all nodes that answer within 300 ms, and names the others. The
// error is the store's.
func (m *Monitor) Figures(ctx context.Context, ask figures.Ask) (figures.Figures, error) {
	others, silent, skewed := m.reports(ctx, ask)
	mine := ask
	mine.Queues = false // Queues below knows more of them
	own := m.Report(ctx, mine)
	f := figures.Sum(append([]Report{own}, others...), &ask)
	f.Nodes, f.Silent, f.Skewed = 1+len(others), silent, skewed
	if !ask.Queues {
		return f, nil
	}
	var err error
	f.Queues, err = m.Queues(ctx)
	for i := range f.Queues {
		for j := range others {
			figures.AddQueue(&f.Queues[i], &others[j])
		}
	}
	return f, err
}

// reports requests the reports of all other nodes concurrently. silent names the nodes that did not
// answer, skewed those whose clock is off. The difference of a clock is known up to half the time
// that the answer took.
func (m *Monitor) reports(ctx context.Context, ask figures.Ask) (reports []Report, silent []string, skewed []figures.Skew) {
	ctx, cancel := context.WithTimeout(ctx, figuresWithin)
	defer cancel()
	nodes := m.leases.Peers()
	answers, ahead := make([]Report, len(nodes)), make([]time.Duration, len(nodes))
	var asking sync.WaitGroup
	for i, n := range nodes {
		if m.ask == nil || n.Addr == "" {
			continue
		}
		asking.Go(func() {
			began, wall := time.Now(), m.clock.Wall()
			r, err := m.ask(ctx, n.Addr, ask)
			if took := time.Since(began); err == nil && !r.Wall.IsZero() {
				ahead[i] = r.Wall.Sub(wall.Round(0).Add(took / 2))
				if off := max(ahead[i], -ahead[i]) - took/2; off <= store.MaxSkew {
					ahead[i] = 0
				}
			}
			if err != nil {
				m.log.Debug("a node did not report its figures", "node", n.Name, "addr", n.Addr, "err", err)
				return
			}
			answers[i] = r
		})
	}
	asking.Wait()
	for i, n := range nodes {
		if answers[i].Node != n.Name { // no answer, or another node's at this address
			silent = append(silent, n.Name)
			continue
		}
		reports = append(reports, answers[i])
		if ahead[i] != 0 {
			skewed = append(skewed, figures.Skew{Node: n.Name, Ahead: ahead[i].Round(time.Millisecond)})
		}
	}
	return reports, silent, skewed
}

package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/engine/internal/clock"
	"github.com/bellmanhq/bellman/engine/internal/cluster"
	"github.com/bellmanhq/bellman/engine/internal/dispatch"
	"github.com/bellmanhq/bellman/store"
)

// Monitor holds the methods that observe an engine and its tasks. It changes nothing and is safe
// for concurrent use.
type Monitor struct {
	store         store.Store
	log           *slog.Logger
	clock         *clock.Clock
	rules         *Rules
	leases        *cluster.Member
	agenda        *agenda
	dispatch      *dispatch.D[*item]
	committer     *committer
	loader        *loader
	pauses        *pauses
	unknownQueues *unknownQueues
	intake        *intake
	ticker        *ticker
	watch         *watch
	resumed       atomic.Pointer[Resumed]
	page          int                                                                             // entries read at once
	ask           func(ctx context.Context, addr string, ask figures.Ask) (figures.Report, error) // may be nil
	failing       func(ctx context.Context) []figures.FailingMerchant                             // may be nil
	refused       func() []figures.Refusal                                                        // may be nil
}

// Queues describes every configured queue and every other queue that has tasks, by name.
func (m *Monitor) Queues(ctx context.Context) ([]figures.Queue, error) {
	depths, err := m.store.Depths(ctx)
	if err != nil {
		return nil, fmt.Errorf("count tasks: %w", err)
	}
	now := m.clock.Now()
	infos := make(map[string]*figures.Queue)
	for name, q := range *m.rules.queues.Load() {
		infos[name] = &figures.Queue{
			Name:                name,
			Kind:                q.Kind.String(),
			Schedule:            q.Schedule,
			Success:             q.Success,
			Timeout:             q.Timeout,
			MaxAge:              q.MaxAge,
			Delay:               q.Delay,
			Concurrency:         q.Concurrency,
			Rate:                q.Rate,
			YoungFirst:          q.YoungFirst,
			EndpointConcurrency: q.EndpointConcurrency,
			EndpointRate:        q.EndpointRate,
			Depth:               store.Depth{Queue: name},
		}
	}
	for _, d := range depths {
		info, ok := infos[d.Queue]
		if !ok {
			info = &figures.Queue{Name: d.Queue}
			infos[d.Queue] = info
		}
		info.Depth = d
	}
	states := make(map[string]dispatch.QueueState)
	for _, st := range m.dispatch.Queues() {
		states[st.Name] = st
	}
	for name, info := range infos {
		info.Pause = m.pauses.get("queue/" + name)
		info.LastMinute = m.watch.history.LastMinute(now, name)
		st := states[name]
		info.Waiting, info.Held, info.InFlight = st.Waiting, st.Held, st.InFlight
		info.OldestOverdue = atNs(st.OldestDue)
		info.FailedHour = m.watch.history.FailedHour(now, name)
	}
	sorted := make([]figures.Queue, 0, len(infos))
	for _, info := range infos {
		sorted = append(sorted, *info)
	}
	slices.SortFunc(sorted, func(a, b figures.Queue) int { return strings.Compare(a.Name, b.Name) })
	return sorted, nil
}

// Endpoints describes, by name, endpoints that had tasks lately, those whose last attempt failed
// within a day, and those that are paused.
func (m *Monitor) Endpoints() []figures.Endpoint {
	var infos []figures.Endpoint
	seen := make(map[string]bool)
	hours := make(map[string]*figures.Recent)
	recent := m.watch.health.Endpoints(m.clock.Now())
	for i := range recent {
		hours[recent[i].Name] = &recent[i]
	}
	for _, d := range m.dispatch.Endpoints() {
		seen[d.Name] = true
		success := d.Success
		if d.Attempts == 0 {
			success = -1
		}
		target := "endpoint/" + d.Name
		if d.Queue != "" { // such an endpoint is paused as a queue
			target = "queue/" + d.Queue
		}
		infos = append(infos, figures.Endpoint{
			Endpoint:    d.Name,
			InFlight:    d.InFlight,
			Limit:       d.Limit,
			Rate:        d.Rate,
			Waiting:     d.Waiting,
			Oldest:      atNs(d.OldestDue),
			SuccessRate: success,
			Attempts:    d.Attempts,
			Breaker:     d.Breaker.String(),
			Pause:       m.pauses.get(target),
			Hour:        hours[d.Name],
		})
	}
	for i := range recent { // between two attempts nothing waits, and the dispatcher forgets an endpoint
		r := &recent[i]
		if _, queue := m.rules.queue(r.Name); seen[r.Name] || queue && !r.Fails() {
			continue
		}
		seen[r.Name] = true
		infos = append(infos, figures.Endpoint{Endpoint: r.Name, SuccessRate: r.Rate(), Attempts: int(min(r.Attempts, 100)), Breaker: "closed", Pause: m.pauses.get("endpoint/" + r.Name), Hour: r})
	}
	for target, p := range m.pauses.all() {
		name, ok := strings.CutPrefix(target, "endpoint/")
		if _, queue := m.rules.queue(name); queue { // a queue without endpoints is paused as a queue
			continue
		}
		if ok && !seen[name] {
			infos = append(infos, figures.Endpoint{Endpoint: name, SuccessRate: -1, Breaker: "closed", Pause: p})
		}
	}
	slices.SortFunc(infos, func(a, b figures.Endpoint) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return infos
}

// Gauges returns the current figures for metrics.
func (m *Monitor) Gauges(ctx context.Context) figures.Gauges {
	t := m.dispatch.Totals()
	_, waiting := m.agenda.len()
	g := figures.Gauges{
		InFlight:      t.InFlight,
		PoolLimit:     t.Limit,
		PoolFloor:     t.Floor,
		PoolCeiling:   t.Ceiling,
		Waiting:       t.Waiting,
		OldestWaiting: atNs(t.OldestDue),
		Loaded:        waiting,
		Uncommitted:   m.committer.uncommitted(),
		Rejected:      m.committer.rejected(),
		Endpoints:     t.Endpoints,
		BreakersOpen:  t.OpenBreakers,

		Started:    m.watch.history.Started().UTC(),
		SlowCommit: max(m.watch.history.SlowCommit(m.clock.Now()), m.committer.outcomes.Writing(), m.committer.asked.Writing()),

		Stray:          m.unknownQueues.tasks(),
		RefusedFollows: m.committer.follows.Load(),
		Fired:          atNs(m.ticker.firedAt.Load()),
	}
	if m.intake.overloaded.Load() {
		g.Refusing = 1
	}
	var inLine time.Time
	for _, q := range m.dispatch.Queues() {
		g.Held += q.Held
		inLine = figures.Sooner(inLine, atNs(q.OldestDue))
	}
	oldest, known := m.oldestOverdue(ctx)
	if !known || m.loader.swept.floor.Load() > 0 {
		oldest = figures.Sooner(oldest, inLine)
	}
	g.OldestOverdue = oldest
	return g
}

const (
	overduePages = 4  // pages of held tasks that oldestOverdue reads past
	overdueChunk = 32 // tasks whose merchants are looked up at once
)

// oldestOverdue returns the due time of the first overdue task that is not held by a pause of its
// queue, endpoint or merchant, or by a breaker. It returns zero if there is none. known is false if
// the store does not answer, or if more held tasks come first than are read. If reads from the
// beginning of the due index take long, it reads from where the last sweep found tasks: see sweep.
func (m *Monitor) oldestOverdue(ctx context.Context) (due time.Time, known bool) {
	from := store.Position{VisibleAt: m.loader.swept.floor.Load()}
	now := m.clock.Now().UnixMilli()
	held := make(map[store.Line]bool)
	var page, free []store.Entry
	size := 1 // usually the first task is not held
	for range 1 + overduePages {
		var err error
		if page, err = m.store.Due(ctx, m.leases.Shards(), from, now, size, page[:0]); err != nil {
			return time.Time{}, false
		}
		free = free[:0]
		for i := range page {
			line := page[i].Line
			if _, seen := held[line]; !seen {
				held[line] = m.dispatch.Held(uint64(line))
			}
			if !held[line] {
				free = append(free, page[i])
			}
		}
		if first, found, err := m.firstFree(ctx, free); err != nil || found {
			return first, err == nil
		}
		if len(page) < size {
			return time.Time{}, true
		}
		from, size = page[len(page)-1].Position(), m.page
	}
	return time.Time{}, false
}

// firstFree returns the due time of the first of these tasks that no pause stops.
func (m *Monitor) firstFree(ctx context.Context, entries []store.Entry) (due time.Time, found bool, err error) {
	if m.pauses.none() && len(entries) > 0 {
		return time.UnixMilli(entries[0].Due).UTC(), true, nil
	}
	for chunk := range slices.Chunk(entries, overdueChunk) {
		tasks, err := m.store.Load(ctx, chunk)
		if err != nil {
			return time.Time{}, false, err
		}
		for _, t := range tasks {
			if t == nil { // it changed meanwhile
				continue
			}
			if target, _ := m.Held(t); target == "" {
				return t.Due, true, nil
			}
		}
	}
	return time.Time{}, false, nil
}

// Now returns the engine's time in UTC, by which due times are kept. It follows the wall clock
// slowly. Handlers that compute due times should use it.
func (m *Monitor) Now() time.Time { return m.clock.Now() }

// Resumed describes the work that an engine found at its start.
type Resumed struct {
	Pending int64 // tasks that have not ended
	Due     int64 // of these, tasks that were due, held or not; counted up to 100,000, or only those of the last 30 s if the count takes too long

	// Crashed reports whether a former owner of shards was found dead at the start. It is false if
	// the registration of that owner has not expired yet: 6 s after a crash, unless one process
	// alone can have the store.
	Crashed bool
}

// Resumed returns the work that the engine found at its start; ok is false before that.
func (m *Monitor) Resumed() (r Resumed, ok bool) {
	if p := m.resumed.Load(); p != nil {
		return *p, true
	}
	return Resumed{}, false
}

// Intake reports whether new tasks are accepted. It is measured each second, and again when more
// than the high mark wait in memory.
func (m *Monitor) Intake() figures.Intake { return m.intake.state() }

// Route returns the current rules of a task's merchant. They are zero if the task names no
// merchant, or if they cannot be read; in that case the handler reports the error at the attempt.
func (m *Monitor) Route(t *bellman.Task) bellman.Route { return m.rules.route(t) }

// MerchantPause returns who paused a merchant, or nil if the merchant is not paused.
func (m *Monitor) MerchantPause(merchantNo string) *figures.Pause {
	return m.pauses.merchant(merchantNo)
}

// PausedMerchants returns the paused merchants, the longest paused first.
func (m *Monitor) PausedMerchants() (paused []figures.MerchantPause) {
	if m.pauses.merchants.Load() == 0 {
		return nil
	}
	for target, p := range m.pauses.all() {
		if no, is := strings.CutPrefix(target, merchantTarget); is {
			paused = append(paused, figures.MerchantPause{MerchantNo: no, Pause: *p})
		}
	}
	slices.SortFunc(paused, func(a, b figures.MerchantPause) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.MerchantNo, b.MerchantNo))
	})
	return paused
}

// Held returns the pause that stops a pending task: of its queue, merchant or endpoint. target is
// its name in audit records. It returns nil if none of them is paused.
func (m *Monitor) Held(t *bellman.Task) (target string, p *figures.Pause) {
	targets := []string{"queue/" + t.Queue, "endpoint/" + t.Endpoint}
	if g := m.rules.route(t); g.Endpoint != "" {
		targets[1] = "endpoint/" + g.Endpoint
	}
	if q, _ := m.rules.queue(t.Queue); t.MerchantNo != "" {
		if _, routed := routerOf(&q, t); routed {
			targets = append(targets, merchantTarget+t.MerchantNo)
		}
	}
	for _, target := range targets {
		if p := m.pauses.get(target); p != nil {
			return target, p
		}
	}
	return "", nil
}

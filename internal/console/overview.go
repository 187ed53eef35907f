package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store"
)

const (
	chartMinutes  = 60
	nearPast      = 5 * time.Minute // period of the present percentiles
	backlogLimit  = 2000            // largest number of due tasks counted in each period; beyond it the page says "or more"
	aheadPages    = 3               // a period is counted by reading at most this many pages of tasks
	maxHeld       = 20_000          // largest number of tasks on hold that the count of overdue tasks skips
	troubleTasks  = 8               // failed tasks, and orders, that are shown
	troubleWindow = time.Hour

	slowAge  = 10 * time.Second      // how old slow figures may be …
	slowWait = 50 * time.Millisecond // … unless reading them takes longer than this
)

// A snapshot holds the present figures.
type snapshot struct {
	At         time.Time
	Last       figures.Counts // of the last minute, all queues
	Attempts   int64          // of the last minute
	Near       figures.Stats  // of the last few minutes
	Hour       figures.Stats
	Gauges     figures.Gauges
	Queues     []figures.Queue
	Intake     *figures.Intake    // of this node; nil: unknown
	Sources    []source.Info      // of this node
	Breakers   []figures.Endpoint // endpoints whose breaker is not closed, or that are paused or throttled
	OpenMore   int                // number of endpoints that are not shown
	Paused     []figures.MerchantPause
	MorePaused int // number of pauses that are not shown
	Failing    []figures.FailingMerchant
	MoreFail   int // number of merchants that are not shown
	Nodes      []engine.NodeInfo
	Unowned    int
	Alarms     []alarm.Alarm // raised alarms
	Of         int           // number of nodes that reported
	Silent     []string      // nodes that did not report
	Chart      string        // JSON for the charts
	Slow       *slowFigures
}

// slowFigures are figures that take long to read. They are read less often, and no page waits long for
// them.
type slowFigures struct {
	Late    bool // they are being read for the first time
	Backlog []backlog
	Failed  []row // the newest failures among recently ended tasks
	Unknown []row // orders that were given up without a decision and for which no payment was found since
}

// A backlog is the number of tasks due in a period.
type backlog struct {
	Name  string // name of the period's text
	Tasks int
	More  bool // there are more than counted
}

// An overview is the first page.
type overview struct {
	*view
	*snapshot
}

func (q *request) home() {
	f, err := q.figures(q.r.Context())
	if err != nil {
		q.refuse(err)
		return
	}
	q.render(http.StatusOK, "overview", &overview{view: q.view("page.overview"), snapshot: f})
}

// figures returns the present figures. Requests within a short time share one reading.
func (c *Console) figures(ctx context.Context) (*snapshot, error) {
	return c.now.get(ctx, time.Second, func(ctx context.Context) (*snapshot, error) {
		slow, has, err := c.slow.soon(ctx, slowAge, c.patience, c.readSlow)
		if err != nil {
			return nil, err
		}
		if !has {
			slow = &slowFigures{Late: true}
		}
		all, err := c.engine.Figures(ctx, figures.Ask{Queues: true, Endpoints: true, Gauges: true,
			Windows: []time.Duration{nearPast, troubleWindow}, Minutes: chartMinutes})
		if err != nil {
			return nil, err
		}
		if len(all.Windows) < 2 { // no node reported
			all.Windows = make([]figures.Stats, 2)
		}
		f := &snapshot{At: time.Now(), Near: all.Windows[0], Hour: all.Windows[1], Gauges: all.Gauges, Queues: all.Queues, Slow: slow,
			Chart: chart(all.Minutes), Of: all.Nodes, Silent: all.Silent}
		if c.intake != nil {
			i := c.intake()
			f.Intake = &i
		}
		if c.sources != nil {
			f.Sources = c.sources()
		}
		for i := range all.Queues {
			m := &all.Queues[i].LastMinute
			f.Last.Added += m.Added
			f.Last.Succeeded += m.Succeeded
			f.Last.Failed += m.Failed
			for _, n := range m.Attempts {
				f.Attempts += n
			}
		}
		for _, e := range all.Endpoints {
			if trouble(&e) > 0 {
				f.Breakers = append(f.Breakers, e)
			}
		}
		slices.SortStableFunc(f.Breakers, func(a, b figures.Endpoint) int { return b.Waiting - a.Waiting })
		if f.OpenMore = len(f.Breakers) - troubleTasks; f.OpenMore > 0 {
			f.Breakers = f.Breakers[:troubleTasks]
		}
		f.Paused = c.engine.PausedMerchants()
		if f.MorePaused = len(f.Paused) - troubleTasks; f.MorePaused > 0 {
			f.Paused = f.Paused[:troubleTasks]
		}
		f.Failing = all.Failing
		if f.MoreFail = len(f.Failing) - troubleTasks; f.MoreFail > 0 {
			f.Failing = f.Failing[:troubleTasks]
		}
		if c.nodes != nil {
			var unowned []store.Lease
			if f.Nodes, unowned, err = c.nodes.Nodes(ctx); err != nil {
				return nil, err
			}
			f.Unowned = len(unowned)
		}
		if c.alarms != nil {
			alarms, err := c.alarms.List(ctx)
			if err != nil {
				return nil, err
			}
			over := slices.IndexFunc(alarms, func(a alarm.Alarm) bool { return !a.Raised() })
			if over >= 0 {
				alarms = alarms[:over]
			}
			f.Alarms = alarms[:min(len(alarms), troubleTasks)]
		}
		return f, nil
	})
}

func (c *Console) readSlow(ctx context.Context) (*slowFigures, error) {
	var f slowFigures
	var err error
	if f.Backlog, err = c.backlog(ctx, time.Now()); err != nil {
		return nil, err
	}
	q := &request{Console: c, r: (&http.Request{}).WithContext(ctx)}
	failed := bellman.Failed
	tasks, _, err := q.read(&wish{Pick: resend.Pick{Filter: store.Filter{State: &failed}}}, bellman.ID{}, 4*troubleTasks)
	if err != nil {
		return nil, err
	}
	for _, r := range q.rows(tasks) {
		switch {
		case r.Order != nil:
			if r.Order.Open() && len(f.Unknown) < troubleTasks {
				f.Unknown = append(f.Unknown, r)
			}
		case len(f.Failed) < troubleTasks && time.Since(r.Finished) < troubleWindow:
			f.Failed = append(f.Failed, r)
		}
	}
	if c.queueNames == nil || c.kinds == nil {
		return &f, nil
	}
	for _, name := range c.queueNames() {
		if c.kinds(name) != "order" || len(f.Unknown) == troubleTasks {
			continue
		}
		tasks, _, err := q.read(&wish{Pick: resend.Pick{Filter: store.Filter{Queue: name, State: &failed}}}, bellman.ID{}, 4*troubleTasks)
		if err != nil {
			return nil, err
		}
		for _, r := range q.rows(tasks) {
			known := slices.ContainsFunc(f.Unknown, func(u row) bool { return u.ID == r.ID })
			if !known && r.Order != nil && r.Order.Open() && len(f.Unknown) < troubleTasks {
				f.Unknown = append(f.Unknown, r)
			}
		}
	}
	return &f, nil
}

// backlog counts due tasks, as far as that is quick. A due task that is held back, in a line or deferred,
// counts as on hold, neither as overdue nor as due later.
func (c *Console) backlog(ctx context.Context, now time.Time) ([]backlog, error) {
	var shards []uint16
	state, err := c.reader.State(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, s := range state.Shards {
		shards = append(shards, s.Shard)
	}
	f, err := c.engine.Figures(ctx, figures.Ask{Gauges: true})
	if err != nil {
		return nil, err
	}
	inLine := min(f.Gauges.Held, maxHeld)
	overdue, err := c.countDue(ctx, shards, now.UnixMilli(), backlogLimit+inLine+1)
	if err != nil {
		return nil, err
	}
	deferred, err := store.CountDue(ctx, c.reader, shards, store.Position{VisibleAt: beyondTasks}, store.MaxTime, backlogLimit+1)
	if err != nil {
		return nil, err
	}
	out := []backlog{few("backlog.overdue", max(overdue-inLine, 0), false), few("backlog.held", f.Gauges.Held+int(deferred), false)}
	from := store.Position{VisibleAt: now.UnixMilli()}
	for _, s := range []struct {
		name string
		end  time.Duration
	}{{"backlog.minute", time.Minute}, {"backlog.hour", time.Hour}, {"backlog.day", 24 * time.Hour}} {
		to := store.Position{VisibleAt: now.Add(s.end).UnixMilli()}
		ahead, aside, more, err := c.countAhead(ctx, shards, from, to.VisibleAt, now.UnixMilli())
		if err != nil {
			return nil, err
		}
		out = append(out, few(s.name, ahead, more))
		out[1] = few("backlog.held", out[1].Tasks+aside, out[1].More || more && aside > 0)
		from = to
	}
	return out, nil
}

// beyondTasks is later than every task's time. Entries after it in the due index are deferred, because
// their merchant is paused or their line is blocked (engine/DESIGN.md).
const beyondTasks = 1 << 50 // Unix ms, in the year 37648

// few returns a backlog of n tasks, capped at backlogLimit.
func few(name string, n int, more bool) backlog {
	return backlog{Name: name, Tasks: min(n, backlogLimit), More: more || n > backlogLimit}
}

// countDue counts tasks that may be attempted now, up to most.
func (c *Console) countDue(ctx context.Context, shards []uint16, to int64, most int) (int, error) {
	n, err := store.CountDue(ctx, c.reader, shards, store.Position{}, to, int64(most))
	return int(n), err
}

// countAhead counts the tasks of a period that become due in it, and overdue tasks that are deferred until
// then. more means that there are more.
func (c *Console) countAhead(ctx context.Context, shards []uint16, from store.Position, to, now int64) (ahead, aside int, more bool, err error) {
	var page []store.Entry
	for range aheadPages {
		if page, err = c.reader.Due(ctx, shards, from, to, backlogLimit, page[:0]); err != nil {
			return 0, 0, false, err
		}
		for i := range page {
			if page[i].Due > now {
				ahead++
			} else {
				aside++
			}
		}
		if len(page) < backlogLimit || ahead > backlogLimit {
			return ahead, aside, ahead > backlogLimit, nil
		}
		last := page[len(page)-1]
		from = store.Position{VisibleAt: last.VisibleAt, ID: last.ID}
	}
	return ahead, aside, true, nil
}

// chart returns the data of the charts: times in Unix seconds, and a number or null for each. It omits the
// present minute, which is incomplete and would look like a fall.
func chart(minutes []figures.Stats) string {
	if len(minutes) > 0 {
		minutes = minutes[:len(minutes)-1]
	}
	var data struct {
		At        []int64    `json:"at"`
		Added     []int64    `json:"added"`
		Attempts  []int64    `json:"attempts"`
		Succeeded []int64    `json:"succeeded"`
		Failed    []int64    `json:"failed"`
		P50       []*float64 `json:"p50"` // milliseconds; null: there was no attempt
		P99       []*float64 `json:"p99"`
	}
	for i := range minutes {
		m := &minutes[i]
		var attempts int64
		for _, n := range m.Counts.Attempts {
			attempts += n
		}
		data.At = append(data.At, m.Since.Unix())
		data.Added = append(data.Added, m.Counts.Added)
		data.Attempts = append(data.Attempts, attempts)
		data.Succeeded = append(data.Succeeded, m.Counts.Succeeded)
		data.Failed = append(data.Failed, m.Counts.Failed)
		var p50, p99 *float64
		if m.Lateness.Count > 0 {
			p50, p99 = milliseconds(m.Lateness.P50), milliseconds(m.Lateness.P99)
		}
		data.P50, data.P99 = append(data.P50, p50), append(data.P99, p99)
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // cannot happen: the values are numbers
	}
	return string(text)
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d.Microseconds()) / 1000
	return &ms
}

package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
)

const (
	chartMinutes  = 60
	nearPast      = 5 * time.Minute // that percentiles of the moment are of
	backlogLimit  = 2000            // due tasks that are counted in each stretch; more are "or more"
	troubleTasks  = 8               // failed tasks, and orders, that are shown
	troubleWindow = time.Hour

	slowAge  = 10 * time.Second      // how old figures that take some reading may be …
	slowWait = 50 * time.Millisecond // … unless they take longer than that
)

// Figures are what goes on at this moment.
type figures struct {
	At       time.Time
	Last     bellman.Counts // of the last minute, all queues
	Attempts int64          // of the last minute
	Near     bellman.Stats  // of the last few minutes
	Hour     bellman.Stats
	Gauges   bellman.Gauges
	Queues   []bellman.QueueInfo
	Intake   *bellman.Intake        // of this node; nil: not known
	Sources  []bellman.SourceInfo   // of this node
	Breakers []bellman.EndpointInfo // endpoints behind a breaker that is not closed, or paused
	OpenMore int                    // how many of these are not shown
	Nodes    []bellman.NodeInfo
	Unowned  int
	Alarms   []bellman.Alarm // that are raised
	Of       int             // nodes whose figures these are
	Silent   []string        // nodes whose figures these are not
	Chart    string          // JSON for the charts
	Slow     *slowFigures
}

// slowFigures are those that take some reading. They are read less often, and no page
// waits long for them.
type slowFigures struct {
	Late    bool // they are being read: there are none yet
	Backlog []backlog
	Failed  []row // the newest that failed of those that ended lately
	Unknown []row // orders that were given up without a decision, and of which no payment was found since
}

// A backlog is how much is due in some stretch of time.
type backlog struct {
	Name  string // of its text
	Tasks int
	More  bool // there are more
}

// An overview is the first page.
type overview struct {
	*view
	*figures
}

func (q *request) home() {
	f, err := q.figures(q.r.Context())
	if err != nil {
		q.refuse(err)
		return
	}
	q.render(http.StatusOK, "overview", &overview{view: q.view("page.overview"), figures: f})
}

// figures reads what goes on. Many pages share what was read a moment ago.
func (c *Console) figures(ctx context.Context) (*figures, error) {
	return c.now.get(ctx, time.Second, func(ctx context.Context) (*figures, error) {
		slow, has, err := c.slow.soon(ctx, slowAge, c.patience, c.readSlow)
		if err != nil {
			return nil, err
		}
		if !has {
			slow = &slowFigures{Late: true}
		}
		all, err := c.engine.Figures(ctx, bellman.FiguresAsk{Queues: true, Endpoints: true, Gauges: true,
			Windows: []time.Duration{nearPast, troubleWindow}, Minutes: chartMinutes})
		if err != nil {
			return nil, err
		}
		if len(all.Windows) < 2 { // of nobody
			all.Windows = make([]bellman.Stats, 2)
		}
		f := &figures{At: time.Now(), Near: all.Windows[0], Hour: all.Windows[1], Gauges: all.Gauges, Queues: all.Queues, Slow: slow,
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
		slices.SortStableFunc(f.Breakers, func(a, b bellman.EndpointInfo) int { return b.Waiting - a.Waiting })
		if f.OpenMore = len(f.Breakers) - troubleTasks; f.OpenMore > 0 {
			f.Breakers = f.Breakers[:troubleTasks]
		}
		if c.nodes != nil {
			var unowned []bellman.Lease
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
			over := slices.IndexFunc(alarms, func(a bellman.Alarm) bool { return !a.Raised() })
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
	tasks, _, err := q.read(&wish{Pick: bellman.Pick{Filter: bellman.Filter{State: &failed}}}, bellman.ID{}, 4*troubleTasks)
	if err != nil {
		return nil, err
	}
	for _, r := range q.rows(tasks) {
		switch {
		case r.Order != nil:
			if r.Order.open() && len(f.Unknown) < troubleTasks {
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
		tasks, _, err := q.read(&wish{Pick: bellman.Pick{Filter: bellman.Filter{Queue: name, State: &failed}}}, bellman.ID{}, 4*troubleTasks)
		if err != nil {
			return nil, err
		}
		for _, r := range q.rows(tasks) {
			known := slices.ContainsFunc(f.Unknown, func(u row) bool { return u.ID == r.ID })
			if !known && r.Order != nil && r.Order.open() && len(f.Unknown) < troubleTasks {
				f.Unknown = append(f.Unknown, r)
			}
		}
	}
	return &f, nil
}

// backlog counts what is due, as far as that is quick.
func (c *Console) backlog(ctx context.Context, now time.Time) ([]backlog, error) {
	var shards []uint16
	all, err := c.reader.Shards(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		shards = append(shards, s.Shard)
	}
	stretches := []struct {
		name string
		end  time.Duration
	}{{"backlog.overdue", 0}, {"backlog.minute", time.Minute}, {"backlog.hour", time.Hour}, {"backlog.day", 24 * time.Hour}}
	out := make([]backlog, len(stretches))
	from := bellman.Position{}
	for i, s := range stretches {
		to := now.Add(s.end).UnixMilli()
		n, err := c.countDue(ctx, shards, from, to)
		if err != nil {
			return nil, err
		}
		out[i] = backlog{Name: s.name, Tasks: min(n, backlogLimit), More: n > backlogLimit}
		from = bellman.Position{Look: to}
	}
	return out, nil
}

// countDue counts due tasks, up to one more than is shown.
func (c *Console) countDue(ctx context.Context, shards []uint16, from bellman.Position, to int64) (int, error) {
	if counter, can := c.reader.(dueCounter); can {
		n, err := counter.CountDue(ctx, shards, from, to, backlogLimit+1)
		return int(n), err
	}
	entries, err := c.reader.Due(ctx, shards, from, to, backlogLimit+1, nil)
	return len(entries), err
}

// A dueCounter is a store that counts what Due would read more cheaply than by
// reading it: a database does.
type dueCounter interface {
	CountDue(ctx context.Context, shards []uint16, from bellman.Position, to, most int64) (int64, error)
}

// chart is what the charts draw: times in Unix seconds, and a number or null for
// each. The minute that is not over is left out, for it would always look like a
// fall.
func chart(minutes []bellman.Stats) string {
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
		panic(err) // numbers only
	}
	return string(text)
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d.Microseconds()) / 1000
	return &ms
}

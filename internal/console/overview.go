package console

import (
	"context"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/store"
)

const (
	chartMinutes  = 60
	nearPast      = 5 * time.Minute // period of the present percentiles
	backlogLimit  = 2000            // largest number of due tasks counted in each period; beyond it the page says "or more"
	aheadPages    = 3               // a period is counted by reading at most this many pages of tasks
	maxHeld       = 20_000          // largest number of tasks on hold that the count of overdue tasks skips
	troubleWindow = time.Hour
	needsAge      = 2 * time.Second // how old the list of what needs a person may be

	slowAge  = 10 * time.Second      // how old slow figures may be …
	slowWait = 50 * time.Millisecond // … unless reading them takes longer than this
)

// A snapshot holds the present figures.
type snapshot struct {
	At       time.Time
	Last     figures.Counts // of the last minute, all queues
	Attempts int64          // of the last minute
	Near     figures.Stats  // of the last few minutes
	Hour     figures.Stats
	Gauges   figures.Gauges
	Queues   []figures.Queue
	Intake   *figures.Intake // of this node; nil: unknown
	Sources  []source.Info   // of this node
	Nodes    []engine.NodeInfo
	Of       int             // number of nodes that reported
	Silent   []string        // nodes that did not report
	Minutes  []figures.Stats // the latest hour
	Slow     *slowFigures
	Needs    needs
	Hot      map[string]bool // tiles whose figures are beyond the threshold of an alarm
}

// FailedHour returns the tasks of all queues that failed within the last hour. The tile is hot
// because of them.
func (f *snapshot) FailedHour() (n int64) {
	for i := range f.Queues {
		n += int64(f.Queues[i].FailedHour)
	}
	return n
}

// needs are what needs a person.
type needs struct {
	attention.List
	Late bool // it is being read for the first time
}

// slowFigures are figures that take long to read. They are read less often, and no page waits long
// for them.
type slowFigures struct {
	Late    bool // they are being read for the first time
	Backlog []backlog
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
	Charts   [][]*chart // each in two widths
	PeriodIs string     // what is wrong with the range; empty: nothing
}

func (q *request) home() error {
	f, err := q.figures(q.r.Context())
	if err != nil {
		return err
	}
	v := &overview{view: q.view("page.overview"), snapshot: f}
	if v.Period.Wrong != nil {
		_, v.PeriodIs = q.wrong(v.Period.Wrong)
	}
	if v.Charts, err = q.charts(&v.Period, f); err != nil {
		return err
	}
	return q.render(http.StatusOK, "overview", v)
}

// charts draws the figures of a range, as far as nodes remember them.
func (q *request) charts(p *period, f *snapshot) ([][]*chart, error) {
	now := time.Now()
	from, to := p.From, p.End(now)
	if since := now.Add(-mostPeriod); from.Before(since) {
		from = since
	}
	every := everyFor(to.Sub(from))
	minutes := f.Minutes
	if p.Kind != "hour" && from.Before(to) {
		all, err := q.o.Engine.Figures(q.r.Context(), figures.Ask{Minutes: int(now.Sub(from)/time.Minute) + 2, Every: int(every / time.Minute)})
		if err != nil {
			return nil, err
		}
		minutes = all.Minutes
	}
	events, err := q.events(from, to, minutes, f)
	if err != nil {
		return nil, err
	}
	c := newCanvas(from, to, now, every, p.zone, minutes, events)
	return [][]*chart{
		c.draw("chart.counts", countSeries(every), wholes, perMinuteText),
		c.draw("chart.lateness", latenessSeries(), durations, shortTook),
	}, nil
}

// eventRows is the number of audit records in which pauses are looked for: a bulk resend makes one
// for each task.
const eventRows = 2000

// events returns what happened in a range: pauses and their ends, take-overs and starts of nodes.
func (q *request) events(from, to time.Time, minutes []figures.Stats, f *snapshot) (all []chartMark, err error) {
	for seen, before := 0, to; seen < eventRows && before.After(from); {
		records, err := q.o.Reader.Audits(q.r.Context(), before, auditRead)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if before = r.At; !r.At.Before(from) && (r.Action == "pause" || r.Action == "resume") {
				all = append(all, chartMark{Kind: r.Action, What: maskURL(r.Target), At: r.At})
			}
		}
		if seen += len(records); len(records) < auditRead {
			break
		}
	}
	for _, m := range minutes {
		if m.Claimed > 0 {
			all = append(all, chartMark{Kind: "takeover", What: q.visitor.lang.say("node.shards", "n", m.Claimed), At: m.Since.Add(time.Second)})
		}
	}
	for _, n := range f.Nodes {
		all = append(all, chartMark{Kind: "joined", What: plain(n.Name + " " + n.Version), At: n.Joined})
	}
	return all, nil
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
		all, err := c.o.Engine.Figures(ctx, figures.Ask{Queues: true, Endpoints: true, Gauges: true,
			Windows: []time.Duration{nearPast, troubleWindow}, Minutes: chartMinutes})
		if err != nil {
			return nil, err
		}
		if len(all.Windows) < 2 { // no node reported
			all.Windows = make([]figures.Stats, 2)
		}
		f := &snapshot{At: time.Now(), Near: all.Windows[0], Hour: all.Windows[1], Gauges: all.Gauges, Queues: all.Queues, Slow: slow,
			Minutes: all.Minutes, Of: all.Nodes, Silent: all.Silent}
		if c.o.Intake != nil {
			i := c.o.Intake()
			f.Intake = &i
		}
		if c.o.Sources != nil {
			f.Sources = c.o.Sources()
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
		if c.o.Nodes != nil {
			if f.Nodes, _, err = c.o.Nodes(ctx); err != nil {
				return nil, err
			}
		}
		if c.o.Attention == nil {
			return f, nil
		}
		list, has, err := c.needs.soon(ctx, needsAge, c.patience, c.o.Attention.List)
		if err != nil {
			return nil, err
		}
		f.Needs = needs{list, !has}
		f.Hot = hot(f, c.o.Attention.Rules())
		return f, nil
	})
}

// hot returns the tiles whose figures are beyond the threshold of an alarm.
func hot(f *snapshot, rules []alarm.Rule) map[string]bool {
	late := alarm.Above(rules, alarm.Overdue, "")
	tiles := map[string]bool{
		"overdue":  !f.Gauges.OldestOverdue.IsZero() && f.At.Sub(f.Gauges.OldestOverdue).Seconds() > late,
		"lateness": f.Near.Lateness.P99.Seconds() > late,
	}
	for i := range f.Queues {
		q := &f.Queues[i]
		when := alarm.TasksFailed
		if q.Kind == "order" {
			when = alarm.OrdersUnknown
		}
		if float64(q.FailedHour) > alarm.Above(rules, when, q.Name) {
			tiles["failed"] = true
		}
	}
	return tiles
}

func (c *Console) readSlow(ctx context.Context) (*slowFigures, error) {
	backlog, err := c.backlog(ctx, time.Now())
	return &slowFigures{Backlog: backlog}, err
}

// backlog counts due tasks, as far as that is quick. A due task that is held back, in a line or
// deferred, counts as on hold, neither as overdue nor as due later.
func (c *Console) backlog(ctx context.Context, now time.Time) ([]backlog, error) {
	var shards []uint16
	state, err := c.o.Reader.State(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, s := range state.Shards {
		shards = append(shards, s.Shard)
	}
	f, err := c.o.Engine.Figures(ctx, figures.Ask{Gauges: true})
	if err != nil {
		return nil, err
	}
	inLine := min(f.Gauges.Held, maxHeld)
	overdue, err := store.CountDue(ctx, c.o.Reader, shards, store.Position{}, now.UnixMilli(), int64(backlogLimit+inLine+1))
	if err != nil {
		return nil, err
	}
	deferred, err := store.CountDue(ctx, c.o.Reader, shards, store.Position{VisibleAt: beyondTasks}, store.MaxTime, backlogLimit+1)
	if err != nil {
		return nil, err
	}
	out := []backlog{few("backlog.overdue", max(int(overdue)-inLine, 0), false), few("backlog.held", f.Gauges.Held+int(deferred), false)}
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

// beyondTasks is later than every task's time. Entries after it in the due index are deferred,
// because their merchant is paused or their line is blocked (engine/DESIGN.md).
const beyondTasks = 1 << 50 // Unix ms, in the year 37648

// few returns a backlog of n tasks, capped at backlogLimit.
func few(name string, n int, more bool) backlog {
	return backlog{Name: name, Tasks: min(n, backlogLimit), More: more || n > backlogLimit}
}

// countAhead counts the tasks of a period that become due in it, and overdue tasks that are
// deferred until then. more means that there are more.
func (c *Console) countAhead(ctx context.Context, shards []uint16, from store.Position, to, now int64) (ahead, aside int, more bool, err error) {
	var page []store.Entry
	for range aheadPages {
		if page, err = c.o.Reader.Due(ctx, shards, from, to, backlogLimit, page[:0]); err != nil {
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

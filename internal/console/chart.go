package console

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/engine/figures"
)

// Measures of a chart. There is one picture for wide pages and one for phones; the stylesheet shows
// the one that fits.
const (
	wideChart, phoneChart = 620.0, 340.0

	chartTop   = 16.0  // room for marks
	chartFoot  = 166.0 // the axis of time
	chartLeft  = 54.0  // room for numbers
	mostSteps  = 96    // steps of time in one chart
	leastSteps = 2     // fewer say nothing
)

// A chart is a picture of figures over time: one line for each series, a value for each step of
// time. It is drawn on the server.
type chart struct {
	Name   string // of its text
	Width  float64
	Series []series
	Rows   []axisMark // values
	Ticks  []axisMark // times
	Steps  []chartStep
	Marks  []chartMark
	Few    bool // there is too little to draw
	Past   bool // the range has ended: there will be no more
}

// Phone reports whether the chart is drawn for phones.
func (c *chart) Phone() bool { return c.Width == phoneChart }

// Right returns where the lines end.
func (c *chart) Right() float64 { return c.Width - 6 }

// A series is a line of a chart.
type series struct {
	Name  string // of its text, or a text like p99
	Tone  string // class of its colour
	Path  string
	value func(*figures.Stats) (float64, bool)
}

// An axisMark is a number or a time beside a chart.
type axisMark struct {
	At   float64
	Text string
	Time time.Time // of a time, which the script shows in the viewer's zone
}

// A chartStep is a column that says its values when it is pointed at.
type chartStep struct {
	X, Width float64
	From, To time.Time
	Values   []string // one for each series
}

// A chartMark is an event: a pause, its end, a take-over or the start of a node.
type chartMark struct {
	X    float64
	Kind string
	What string
	At   time.Time
}

// countSeries are the lines of the chart of tasks and attempts, per minute.
func countSeries(every time.Duration) []series {
	rate := func(n func(*figures.Counts) int64) func(*figures.Stats) (float64, bool) {
		return func(s *figures.Stats) (float64, bool) {
			return float64(n(&s.Counts)) / max(every.Minutes(), 1), true
		}
	}
	return []series{
		{Name: "chart.added", Tone: "gone", value: rate(func(c *figures.Counts) int64 { return c.Added })},
		{Name: "chart.attempts", Tone: "accent", value: rate(func(c *figures.Counts) (n int64) {
			for _, m := range c.Attempts {
				n += m
			}
			return n
		})},
		{Name: "chart.succeeded", Tone: "ok", value: rate(func(c *figures.Counts) int64 { return c.Succeeded })},
		{Name: "chart.failed", Tone: "bad", value: rate(func(c *figures.Counts) int64 { return c.Failed })},
	}
}

// latenessSeries are the lines of the chart of lateness, in seconds.
func latenessSeries() []series {
	late := func(of func(*figures.Percentiles) time.Duration) func(*figures.Stats) (float64, bool) {
		return func(s *figures.Stats) (float64, bool) {
			return of(&s.Lateness).Seconds(), s.Lateness.Count > 0
		}
	}
	return []series{
		{Name: "chart.p50", Tone: "accent", value: late(func(p *figures.Percentiles) time.Duration { return p.P50 })},
		{Name: "chart.p99", Tone: "warn", value: late(func(p *figures.Percentiles) time.Duration { return p.P99 })},
	}
}

// A canvas is what the charts of one page have in common.
type canvas struct {
	from, to time.Time
	every    time.Duration
	zone     *time.Location
	past     bool            // the range has ended
	steps    []figures.Stats // steps that are over, the oldest first
	events   []chartMark     // without X
}

// everyFor returns the length of a step for a range.
func everyFor(long time.Duration) time.Duration {
	for _, minutes := range []time.Duration{1, 2, 5, 10} {
		if every := minutes * time.Minute; long <= mostSteps*every {
			return every
		}
	}
	return 15 * time.Minute
}

// newCanvas takes the steps of a range that are over. A range that begins before the figures do is
// drawn from their beginning.
func newCanvas(from, to, now time.Time, every time.Duration, zone *time.Location, all []figures.Stats, events []chartMark) *canvas {
	c := &canvas{from: from, to: to, every: every, zone: zone, past: to.Before(now.Add(-every))}
	for _, s := range all {
		end := s.Since.Truncate(every).Add(every)
		if end.After(from) && s.Since.Before(to) && !end.After(now) {
			c.steps = append(c.steps, s)
		}
	}
	if len(c.steps) > 0 && c.steps[0].Since.After(c.from) {
		c.from = c.steps[0].Since
	}
	for _, e := range events {
		if e.At.After(c.from) && e.At.Before(to) {
			c.events = append(c.events, e)
		}
	}
	return c
}

// x returns the position of a time.
func (c *canvas) x(ch *chart, at time.Time) float64 {
	share := float64(at.Sub(c.from)) / float64(max(c.to.Sub(c.from), 1))
	return math.Round(10*(chartLeft+min(max(share, 0), 1)*(ch.Right()-chartLeft))) / 10
}

// draw returns a chart in both widths.
func (c *canvas) draw(name string, all []series, scale func(top float64) []float64, say func(float64) string) []*chart {
	var out []*chart
	for _, width := range []float64{wideChart, phoneChart} {
		ch := &chart{Name: name, Width: width, Past: c.past}
		top, known := 0.0, 0
		for i := range c.steps {
			any := false
			for _, s := range all {
				v, ok := s.value(&c.steps[i])
				top, any = max(top, v), any || ok
			}
			if any {
				known++
			}
		}
		if ch.Few = known < leastSteps; ch.Few {
			return []*chart{ch}
		}
		values := scale(top)
		most := values[len(values)-1]
		y := func(v float64) float64 {
			return math.Round(10*(chartFoot-v/most*(chartFoot-chartTop))) / 10
		}
		for _, v := range values {
			ch.Rows = append(ch.Rows, axisMark{At: y(v), Text: say(v)})
		}
		for _, s := range all {
			s.Path = c.path(ch, &s, y)
			ch.Series = append(ch.Series, s)
		}
		for i := range c.steps {
			s := &c.steps[i]
			from, to := c.bounds(i)
			step := chartStep{X: c.x(ch, from), From: from, To: to}
			step.Width = math.Round(10*(c.x(ch, to)-step.X)) / 10
			for _, of := range all {
				text := "–"
				if v, ok := of.value(s); ok {
					text = say(v)
				}
				step.Values = append(step.Values, text)
			}
			ch.Steps = append(ch.Steps, step)
		}
		ch.Ticks = c.ticks(ch)
		for _, e := range c.events {
			e.X = c.x(ch, e.At)
			ch.Marks = append(ch.Marks, e)
		}
		out = append(out, ch)
	}
	return out
}

func (c *canvas) bounds(i int) (from, to time.Time) {
	since := c.steps[i].Since
	return since, since.Truncate(c.every).Add(c.every)
}

// path draws one series: a level for each step, so that one step alone is seen too. Steps without a
// value are left out.
func (c *canvas) path(ch *chart, s *series, y func(float64) float64) string {
	var b strings.Builder
	pen := false
	for i := range c.steps {
		v, ok := s.value(&c.steps[i])
		if !ok {
			pen = false
			continue
		}
		from, to := c.bounds(i)
		move := "V"
		if !pen || i > 0 && !c.steps[i-1].Since.Truncate(c.every).Add(c.every).Equal(from) {
			fmt.Fprintf(&b, "M%v ", c.x(ch, from))
			move = ""
		}
		fmt.Fprintf(&b, "%s%vH%v", move, y(v), c.x(ch, to))
		pen = true
	}
	return b.String()
}

// tickLengths are the distances of times on the axis.
var tickLengths = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour}

func (c *canvas) ticks(ch *chart) (all []axisMark) {
	most := time.Duration(7)
	if ch.Phone() {
		most = 4
	}
	every := tickLengths[len(tickLengths)-1]
	for _, length := range tickLengths {
		if c.to.Sub(c.from) <= most*length {
			every = length
			break
		}
	}
	_, offset := c.from.In(c.zone).Zone()
	shift := time.Duration(offset) * time.Second
	for at := c.from.Add(shift).Truncate(every).Add(every - shift); at.Before(c.to); at = at.Add(every) {
		if x := c.x(ch, at); x < ch.Right()-14 {
			all = append(all, axisMark{At: x, Text: at.In(c.zone).Format("15:04"), Time: at.UTC()})
		}
	}
	return all
}

// wholes returns the numbers beside a chart of counts.
func wholes(top float64) []float64 {
	step := 1.0
	for k := 0; 4*step < top; k++ {
		step = []float64{2, 5, 10}[k%3] * math.Pow10(k/3)
	}
	return upTo(top, step)
}

// durations returns the numbers beside a chart of durations in seconds.
func durations(top float64) []float64 {
	step := 0.001
	for _, s := range []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400} {
		if 4*step >= top {
			break
		}
		step = s
	}
	for 8*step < top {
		step *= 2
	}
	return upTo(top, step)
}

func upTo(top, step float64) []float64 {
	values := []float64{0}
	for v := step; len(values) == 1 || v < top+step; v += step {
		values = append(values, v)
	}
	return values
}

// perMinuteText formats a count beside a chart.
func perMinuteText(v float64) string {
	if v != math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return grouped(int64(v))
}

// shortTook formats a duration in seconds beside a chart, with a unit that fits.
func shortTook(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	text := func(v float64, unit string) string {
		return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) + " " + unit
	}
	switch {
	case d < time.Second:
		return text(float64(d)/float64(time.Millisecond), "ms")
	case d < time.Minute:
		return text(d.Seconds(), "s")
	case d < time.Hour:
		return text(d.Minutes(), "min")
	}
	return text(d.Hours(), "h")
}

// Kinds returns the kinds of the chart's marks, each once.
func (c *chart) Kinds() (kinds []string) {
	for _, m := range c.Marks {
		if !slices.Contains(kinds, m.Kind) {
			kinds = append(kinds, m.Kind)
		}
	}
	return kinds
}

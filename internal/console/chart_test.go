package console

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

// minutesOf are the figures of minutes since a time, with as many attempts; 0: none, and so no
// lateness.
func minutesOf(since time.Time, attempts ...int64) (all []figures.Stats) {
	for i, n := range attempts {
		s := figures.Stats{Since: since.Truncate(time.Minute).Add(time.Duration(i) * time.Minute), Counts: figures.Counts{Added: n, Attempts: map[bellman.Result]int64{bellman.Accepted: n}}}
		if n > 0 {
			s.Lateness = figures.Percentiles{Count: n, P50: 20 * time.Millisecond, P99: 150 * time.Second}
		}
		all = append(all, s)
	}
	return all
}

// The charts are on the page without a script: with numbers whose units fit, values to point at,
// and marks of pauses, take-overs and starts.
func TestChartsAreDrawnOnTheServer(t *testing.T) {
	s := open(t)
	now := time.Now()
	from := now.Add(-30 * time.Minute)
	s.fake.minutes = minutesOf(from, append([]int64{1234567, 0, 7, 3}, make([]int64, 27)...)...)
	s.fake.minutes[2].Claimed = 4
	s.fake.nodes = []engine.NodeInfo{{Name: "vm/1", Version: "1.2", Joined: from.Add(5 * time.Minute), Alive: true}}
	b := store.Batch{Audits: []store.Audit{{At: from.Add(10 * time.Minute), Who: "wang", Action: "pause", Target: "queue/pay", Reason: "r"}, {At: from.Add(11 * time.Minute), Action: "sign_in"}}}
	for i := range 3 * auditRead { // a bulk resend, which hides no pause
		b.Audits = append(b.Audits, store.Audit{At: from.Add(12*time.Minute + time.Duration(i)*time.Millisecond), Action: "resend", Target: bellman.NewID().String()})
	}
	if err := s.fake.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	page := s.get(t, "/", "Accept-Language: en").body
	_, charts, _ := strings.Cut(page, `class="charts"`)
	charts, _, _ = strings.Cut(charts, `id="live"`)
	for _, want := range []string{
		">1,500,000<", ">2 min<", ">0 ms<", // beside the lines
		"attempts 1,234,567", "p99 (slowest hundredth) 2.5 min", "p50 (median) –", // to point at
		"UTC · paused · queue/pay", "UTC · shards taken over · shards: 4", "UTC · node started · vm/1 1.2",
		`class="k of-bad">failed<`, `class="k event pause">paused<`,
	} {
		if !strings.Contains(charts, want) {
			t.Errorf("the charts do not have %q", want)
		}
	}
	if n := strings.Count(charts, "<svg"); n != 4 {
		t.Errorf("%d pictures; want two charts in two widths", n)
	}
	if strings.Contains(charts, "sign_in") || strings.Contains(page, "<circle") {
		t.Error("a chart marks a sign-in, or has a dot")
	}
}

// A chart of one value would be a dot: it says that it is too early instead.
func TestNoChartHasASingleValue(t *testing.T) {
	var minute time.Time
	var page string
	for !minute.Equal(time.Now().Truncate(time.Minute)) { // once more if another minute begins
		minute = time.Now().Truncate(time.Minute)
		s := open(t)
		s.fake.minutes = minutesOf(minute.Add(-3*time.Minute), 0, 0, 9, 5)
		page = s.get(t, "/", "Accept-Language: en").body
	}
	if strings.Count(page, "Too little to draw") != 1 || strings.Count(page, "<svg class=\"plot") != 2 {
		t.Error("the lateness of one minute is drawn, or the counts of three are not") // the fourth is not over
	}
}

// A level is as wide as its step, and a gap is a gap.
func TestPathOfAChart(t *testing.T) {
	since := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	c := newCanvas(since, since.Add(5*time.Minute), since.Add(5*time.Minute), time.Minute, time.UTC, minutesOf(since, 1, 2, 0, 4, 4), nil)
	late := c.draw("n", latenessSeries(), durations, shortTook)[0]
	if got := late.Series[0].Path; strings.Count(got, "M") != 2 || strings.Count(got, "H") != 4 {
		t.Errorf("lateness is drawn as %q; want two pieces of two levels", got)
	}
	counts := c.draw("n", countSeries(time.Minute), wholes, perMinuteText)[0]
	if got := counts.Series[1].Path; !strings.HasPrefix(got, "M54 128.5H") || strings.Count(got, "M") != 1 {
		t.Errorf("attempts are drawn as %q; want one piece from the left edge", got)
	}
	if texts := counts.Rows; texts[0].Text != "0" || texts[len(texts)-1].Text != "4" {
		t.Errorf("the numbers are %+v; want 0 to 4", texts)
	}
}

func TestReadPeriod(t *testing.T) {
	now := time.Date(2026, 11, 20, 3, 30, 0, 0, time.UTC) // 11:30 in Shanghai
	tests := []struct {
		query, kind, from, to string
		tasks, overview       string // where the range leads
	}{
		{"", "hour", "2026-11-20T02:30:00Z", "", "/tasks", "/"},
		{"range=today", "today", "2026-11-20T00:00:00Z", "", "/tasks?from=2026-11-20T00%3A00", "/?range=today"},
		{"range=today&zone=Asia/Shanghai", "today", "2026-11-19T16:00:00Z", "", "/tasks?from=2026-11-20T00%3A00&zone=Asia%2FShanghai", "/?range=today&zone=Asia%2FShanghai"},
		{"from=2026-11-20T00:00&zone=Asia/Shanghai", "today", "2026-11-19T16:00:00Z", "", "/tasks?from=2026-11-20T00%3A00&zone=Asia%2FShanghai", "/?range=today&zone=Asia%2FShanghai"},
		{"from=2026-11-20T01:00&to=2026-11-20T02:00", "custom", "2026-11-20T01:00:00Z", "2026-11-20T02:00:00Z", "/tasks?from=2026-11-20T01%3A00&to=2026-11-20T02%3A00", "/?from=2026-11-20T01%3A00&to=2026-11-20T02%3A00"},
		{"from=2026-11-20T01:00&to=2026-11-21T02:00", "custom", "2026-11-20T01:00:00Z", "", "/tasks?from=2026-11-20T01%3A00", "/?from=2026-11-20T01%3A00"},
		{"to=2026-11-20T02:00", "custom", "2026-11-20T01:00:00Z", "2026-11-20T02:00:00Z", "/tasks?from=2026-11-20T01%3A00&to=2026-11-20T02%3A00", "/?from=2026-11-20T01%3A00&to=2026-11-20T02%3A00"},
		{"to=2026-11-21T00:00", "custom", "2026-11-20T02:30:00Z", "", "/tasks?from=2026-11-20T02%3A30", "/?from=2026-11-20T02%3A30"},
		{"range=hour&from=2026-11-20T01:00", "hour", "2026-11-20T02:30:00Z", "", "/tasks", "/"},
	}
	for _, tt := range tests {
		in, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		p := readPeriod(in, now)
		to := ""
		if !p.To.IsZero() {
			to = p.To.Format(time.RFC3339)
		}
		if got := p.From.Format(time.RFC3339); p.Kind != tt.kind || got != tt.from || to != tt.to || p.Wrong != nil {
			t.Errorf("%q is %s from %s to %q (%v); want %s from %s to %q", tt.query, p.Kind, got, to, p.Wrong, tt.kind, tt.from, tt.to)
		}
		if tasks, overview := p.Walk("/tasks"), p.Walk("/"); tasks != tt.tasks || overview != tt.overview {
			t.Errorf("%q leads to %s and %s; want %s and %s", tt.query, tasks, overview, tt.tasks, tt.overview)
		}
	}
	for _, bad := range []string{"from=soon", "from=2026-11-20T02:00&to=2026-11-20T01:00", "from=2026-11-20T01:00&zone=Shangai"} {
		in, _ := url.ParseQuery(bad)
		if p := readPeriod(in, now); p.Wrong == nil || p.Kind != "hour" {
			t.Errorf("%q is taken as %s without a word", bad, p.Kind)
		}
	}
	s := open(t)
	if page := s.get(t, "/?from=soon", "Accept-Language: en").body; !strings.Contains(page, "is no time") {
		t.Error("the page does not say what is wrong with its range")
	}
}

// A range that has ended does not promise figures in two minutes.
func TestARangeWithoutFigures(t *testing.T) {
	s := open(t)
	now := time.Now().UTC()
	s.get(t, "/").has(t, []string{"Too little to draw"}, "No figures for this range")
	past := url.Values{"from": {now.Add(-3 * time.Hour).Format("2006-01-02T15:04")}, "to": {now.Add(-2 * time.Hour).Format("2006-01-02T15:04")}, "zone": {"UTC"}}
	s.get(t, "/?"+past.Encode()).has(t, []string{"No figures for this range"}, "Too little to draw")
}

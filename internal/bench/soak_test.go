package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSoak(t *testing.T) {
	t.Parallel()
	report := runTiny(t, Options{Scenarios: []string{"soak"}, Rate: 100})
	if f, _ := report.Figure("soak", "offered"); f.Value != 100 {
		t.Errorf("%g a second were offered; want the rate of the options", f.Value)
	}
	for _, name := range []string{"arrived", "arrival after due, p99", "disk"} {
		f, ok := report.Figure("soak", name+", last sixth")
		// Nothing may arrive within a sample of half a second, if the machine is late.
		if !ok || f.Series == nil || len(f.Series.Values) != 6 || slices.Min(f.Series.Values) <= 0 && name != "arrived" {
			t.Errorf("%s has the series %+v; want 6 samples above zero", name, f.Series)
		}
		if f, ok := report.Figure("soak", name+", furthest from its mean"); !ok || f.Required != "" {
			t.Errorf("%s: found %t, goal %q; want no goal in a short run", name, ok, f.Required)
		}
	}
}

// The first sixth of ten minutes is while the store fills.
func TestSteady(t *testing.T) {
	s := &soak{r: &run{scenario: "soak"}, every: time.Minute}
	s.steady("disk", "MiB", []float64{1, 50, 100, 98, 102, 100, 100, 100, 100, 104, 100, 110}, goal{store: "pebble", bound: soakGoal})
	s.steady("unknown", "MiB", make([]float64, 12))
	if n := len(s.r.report.Figures); n != 2 {
		t.Fatalf("%d figures; want 2, and none of a series that is unknown", n)
	}
	last, furthest := s.r.report.Figures[0], s.r.report.Figures[1]
	if last.Value != 105 || last.Base != 99 {
		t.Errorf("the last sixth is %g and the second %g; want 105 and 99", last.Value, last.Base)
	}
	if mean := 101.4; furthest.Value != 100*(110-mean)/mean || furthest.Required != "≤ 5 %" || *furthest.Met {
		t.Errorf("furthest from the mean: %g %%, goal %q, met %v; want that of 110, more than 5 %%", furthest.Value, furthest.Required, *furthest.Met)
	}
}

// A pace that cannot be kept takes no longer, but yields fewer samples.
func TestSoakEnds(t *testing.T) {
	t.Parallel()
	r := &run{ctx: t.Context(), receiver: newReceiver(), scenario: "soak", dir: t.TempDir(), sizes: tiny}
	defer r.receiver.close()
	r.url = must(r.receiver.listen(1, false))[0]
	err := r.attempt(Scenario{run: func(r *run) {
		s := &soak{r: r, store: r.store(""), rate: 20, every: soakShortest, count: 1000, all: newDurations()}
		s.p = r.start(s.store)
		s.measure()
		if len(s.disk) != soakLeast || len(s.late) != soakLeast {
			t.Errorf("%d and %d samples after the time was over; want %d", len(s.disk), len(s.late), soakLeast)
		}
		try(s.p.stop())
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// A load that is over is forgotten, so that memory does not grow, and another delivery of its tasks
// is noticed.
func TestSoakForgets(t *testing.T) {
	r := &run{ctx: t.Context(), receiver: newReceiver(), scenario: "soak"}
	s := &soak{r: r, count: 6, all: newDurations()}
	l := newLoad(r.nextLoad(), 1)
	l.due = []int64{1}
	r.receiver.begin(l)
	receive(r.receiver, appendBody(nil, l.id, 0))
	s.open = []*load{l}
	s.close()
	if len(s.open) != 0 || r.receiver.loads[l.id%slots].Load() != nil || s.arrived != 1 || len(s.late) != 1 {
		t.Errorf("after a load has ended, %d are open, %d arrived, %d samples; want 0, 1 and 1, and the load forgotten", len(s.open), s.arrived, len(s.late))
	}
	receive(r.receiver, appendBody(nil, l.id, 0))
	if n := r.receiver.strays.Load(); n != 1 {
		t.Errorf("%d strays after a second delivery; want 1", n)
	}
}

func TestChart(t *testing.T) {
	var b strings.Builder
	chart(&b, &Figure{Scenario: "soak", Unit: "MiB", Series: &Series{Name: "disk", EverySeconds: 10, Values: []float64{8, 16, 31, 32}}})
	const want = "\nsoak: disk: 8.00 MiB to 32.0 MiB; a column is 10s\n  │  ▇█\n  │  ██\n  │ ███\n  │████\n"
	if b.String() != want {
		t.Errorf("chart is\n%s; want\n%s", &b, want)
	}
	b.Reset()
	many := slices.Repeat([]float64{1, 3}, chartColumns)
	chart(&b, &Figure{Scenario: "soak", Unit: "MiB", Series: &Series{Name: "disk", EverySeconds: 60, Values: many}})
	if want := "\nsoak: disk: 2.00 MiB to 2.00 MiB; a column is 2m0s\n" + strings.Repeat("  │"+strings.Repeat("█", chartColumns)+"\n", chartRows); b.String() != want {
		t.Errorf("chart of many samples is\n%s; want\n%s", &b, want)
	}
}

package bench

import (
	"fmt"

	"github.com/bellmanhq/bellman/internal/config"
)

// A goal is what a figure must reach, on one kind of store.
type goal struct {
	store string // one of config's kinds
	text  string
	met   func(Figure) bool
}

// atLeast wants Ratio to be so much.
func atLeast(ratio float64) goal {
	return goal{met: func(f Figure) bool { return f.Base > 0 && f.Ratio >= ratio }}.saying("≥ %.3g × ", ratio)
}

// timesAtMost wants Ratio to be no more than that.
func timesAtMost(ratio float64) goal {
	return goal{met: func(f Figure) bool { return f.Base > 0 && f.Ratio <= ratio }}.saying("≤ %.3g × ", ratio)
}

// atMost wants Value to be no more than that.
func atMost(value float64) goal {
	return goal{met: func(f Figure) bool { return f.Value <= value }}.saying("≤ %g ", value)
}

func (g goal) saying(format string, value float64) goal {
	g.store, g.text = config.Pebble, fmt.Sprintf(format, value)
	return g
}

// inPostgres is a goal of PostgreSQL, and not of the embedded store.
func inPostgres(g goal) goal {
	g.store = config.Postgres
	return g
}

// figure notes a figure without a goal.
func (r *run) figure(name string, value float64, unit string) *Figure {
	r.report.Figures = append(r.report.Figures, Figure{Scenario: r.scenario, Name: name, Value: value, Unit: unit})
	return &r.report.Figures[len(r.report.Figures)-1]
}

// against sets what a figure is compared with.
func (f *Figure) against(name string, base float64) *Figure {
	f.BaseName, f.Base = name, base
	if base > 0 {
		f.Ratio = f.Value / base
	}
	return f
}

// must sets what a figure has to reach on the store that is measured, where one of
// the goals is about it. With small sizes it is told, not judged.
func (r *run) must(f *Figure, goals ...goal) {
	for _, g := range goals {
		if g.store == r.kind() {
			r.judge(f, g)
		}
	}
}

func (r *run) judge(f *Figure, g goal) {
	f.Required = g.text
	if f.BaseName != "" {
		f.Required += f.BaseName
	} else {
		f.Required += f.Unit
	}
	if r.report.Quick || f.BaseName != "" && f.Base == 0 {
		return
	}
	met := g.met(*f)
	f.Met = &met
}

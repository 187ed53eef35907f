package bench

import (
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman/internal/config"
)

// A goal is a limit for a figure, on one kind of store.
type goal struct {
	store string // one of config's kinds
	least bool   // bound is a minimum; false: a maximum
	times bool   // bound is for Ratio; false: for Value
	bound float64
}

func atLeast(ratio float64) goal     { return goal{config.Pebble, true, true, ratio} }
func timesAtMost(ratio float64) goal { return goal{config.Pebble, false, true, ratio} }
func atMost(value float64) goal      { return goal{config.Pebble, false, false, value} }
func noLess(value float64) goal      { return goal{config.Pebble, true, false, value} }

// mostMemory is the goal for the resident memory of a server under full load, in MiB.
func mostMemory() goal { return atMost(160) }

// inPostgres returns the goal for PostgreSQL instead of the embedded store.
func inPostgres(g goal) goal {
	g.store = config.Postgres
	return g
}

// figure adds a figure without a goal to the report.
func (r *run) figure(name string, value float64, unit string) *Figure {
	f := &Figure{Scenario: r.scenario, Name: name, Value: value, Unit: unit}
	r.report.Figures = append(r.report.Figures, f)
	return f
}

// against sets the base with which a figure is compared.
func (f *Figure) against(name string, base float64) *Figure {
	f.BaseName, f.Base = name, base
	if base > 0 {
		f.Ratio = f.Value / base
	}
	return f
}

// require sets the goal of a figure for the measured kind of store. With small sizes goals are not
// checked.
func (r *run) require(f *Figure, goals ...goal) {
	for _, g := range goals {
		if g.store != r.kind() {
			continue
		}
		sign, value, format, unit := "≤", f.Value, "%s %g %s", f.Unit
		if g.least {
			sign = "≥"
		}
		if g.times {
			value, format, unit = f.Ratio, "%s %.3g × %s", f.BaseName
		}
		f.Required = strings.TrimSpace(fmt.Sprintf(format, sign, g.bound, unit))
		if r.report.Quick || f.BaseName != "" && f.Base == 0 {
			continue
		}
		met := value == g.bound || value > g.bound == g.least
		f.Met = &met
	}
}

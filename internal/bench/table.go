package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteTable prints the report.
func (r *Report) WriteTable(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SCENARIO\tWHAT\tREACHED\tRATIO\tREQUIRED\t")
	for _, f := range r.Figures {
		ratio, verdict := "", ""
		if f.Base > 0 {
			ratio = fmt.Sprintf("%.2f × %s", f.Ratio, f.BaseName)
		}
		if f.Met != nil {
			verdict = map[bool]string{true: "reached", false: "MISSED"}[*f.Met]
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Scenario, f.Name, number(f.Value, f.Unit), ratio, f.Required, verdict)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, f := range r.Figures {
		if len(f.Histogram) > 0 {
			histogram(w, f)
		}
	}
	for _, f := range r.Figures {
		if f.Series != nil {
			chart(w, f)
		}
	}
	m := r.Machine
	fmt.Fprintf(w, "\n%d × %s, %s/%s, %s; %s; took %s\n", m.CPUs, m.CPU, m.OS, m.Arch, m.Go, m.Store, r.Took.Round(time.Second))
	if r.Others > 0.05 {
		fmt.Fprintf(w, "other programs took %.0f %% of the CPUs meanwhile: only ratios mean something\n", 100*r.Others)
	}
	if r.Quick {
		fmt.Fprintln(w, "small sizes: the figures give a rough idea, and are not held against what is required")
	}
	if len(r.Failures) == 0 {
		_, err := fmt.Fprintln(w, "nothing lost, doubled or early")
		return err
	}
	_, err := fmt.Fprintf(w, "PROMISES NOT KEPT:\n  %s\n", strings.Join(r.Failures, "\n  "))
	return err
}

func number(value float64, unit string) string {
	switch {
	case unit == "/s":
		return fmt.Sprintf("%.0f/s", value)
	case unit == "":
		return fmt.Sprintf("%.0f", value)
	case value >= 100:
		return fmt.Sprintf("%.0f %s", value, unit)
	case value >= 10:
		return fmt.Sprintf("%.1f %s", value, unit)
	default:
		return fmt.Sprintf("%.2f %s", value, unit)
	}
}

// histogram draws the distribution of lateness.
func histogram(w io.Writer, f *Figure) {
	fmt.Fprintf(w, "\n%s:\n", f.Scenario)
	var all, most int64
	for _, b := range f.Histogram {
		all += b.Count
		most = max(most, b.Count)
	}
	for _, b := range f.Histogram {
		bar := strings.Repeat("▇", int(b.Count*40/most))
		fmt.Fprintf(w, "  ≤ %7g ms  %6.2f %%  %s\n", b.AtMostMS, 100*float64(b.Count)/float64(all), bar)
	}
}

// The size of a chart. A bar has eight steps in each row.
const (
	chartColumns = 60
	chartRows    = 4
)

// chart draws a series as bars from zero up. Each column is one sample, or the mean of several.
func chart(w io.Writer, f *Figure) {
	values := f.Series.Values
	each := (len(values) + chartColumns - 1) / chartColumns
	var columns []float64
	for some := range slices.Chunk(values, each) {
		columns = append(columns, mean(some))
	}
	least, most := slices.Min(columns), slices.Max(columns)
	column := time.Duration(float64(each) * f.Series.EverySeconds * float64(time.Second))
	fmt.Fprintf(w, "\n%s: %s: %s to %s; a column is %s\n", f.Scenario, f.Series.Name, number(least, f.Unit), number(most, f.Unit), column)
	const steps = 8
	for row := chartRows - 1; row >= 0; row-- {
		line := "  │"
		for _, v := range columns {
			above := int(math.Round(v/most*chartRows*steps)) - row*steps
			line += string([]rune(" ▁▂▃▄▅▆▇█")[min(max(above, 0), steps)])
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/bellmanhq/bellman/internal/bench"
)

// measureBellman runs bellman's own scenarios in a store. Raw is the median of what
// was measured between them.
func measureBellman(ctx context.Context, store string, quick bool) (f figures, raw float64, err error) {
	report, err := bench.Run(ctx, bench.Options{Store: store, Quick: quick,
		Scenarios: []string{"raw", "drain", "batches", "singles", "lateness"}}, io.Discard)
	if err != nil {
		return f, 0, err
	}
	for _, want := range []struct {
		scenario, name string
		to             *float64
	}{
		{"drain", "delivered and recorded", &f.drain},
		{"singles", "created, delivered and recorded", &f.singles},
		{"batches", "created, delivered and recorded", &f.batches},
		{"lateness", "arrival after due, p50", &f.late},
		{"lateness", "arrival after due, p99", &f.late99},
	} {
		figure, ok := report.Figure(want.scenario, want.name)
		if !ok {
			return f, 0, fmt.Errorf("bellman's report has no %q of %s", want.name, want.scenario)
		}
		*want.to = figure.Value
	}
	f.failures = report.Failures
	slices.Sort(report.Raw)
	return f, report.Raw[len(report.Raw)/2], nil
}

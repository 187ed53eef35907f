package bench

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// tiny is just enough to go through every scenario.
var tiny = sizes{
	raw: 50 * time.Millisecond, drain: 2000, batches: 2000, singles: 500, creates: 500,
	addresses: 20, spread: 2000,
	latency: 200 * time.Millisecond, late: 500, over: 300 * time.Millisecond,
	waiting: 2000, overdue: 200, settle: 50 * time.Millisecond, idle: 50 * time.Millisecond,
	orders: 200, crowd: 2000, gap: 100 * time.Millisecond, polls: 3, ramp: 300 * time.Millisecond, steady: 500 * time.Millisecond,
	quiet: 100 * time.Millisecond, nodes: 3, kills: 1, doomed: 20, pace: 100, filled: 3000,
}

func TestRun(t *testing.T) {
	var out strings.Builder
	report, err := runSized(t.Context(), Options{Dir: t.TempDir()}, tiny, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failures {
		t.Error(f)
	}
}

// BenchmarkProduct runs the quick form of everything: go test -bench Product
// -benchtime 1x.
func BenchmarkProduct(b *testing.B) {
	for b.Loop() {
		report, err := Run(b.Context(), Options{Quick: true, Dir: b.TempDir()}, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range report.Failures {
			b.Error(f)
		}
		for _, f := range report.Figures {
			name := strings.ReplaceAll(f.Scenario+":"+f.Name, " ", "-")
			b.ReportMetric(f.Value, name+"-"+f.Unit)
		}
	}
}

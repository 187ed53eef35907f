package bench

import (
	"strings"
	"testing"
	"time"
)

func TestMarkdown(t *testing.T) {
	yes, no := true, false
	r := &Report{
		Machine: Machine{OS: "linux", Arch: "amd64", CPU: "AMD EPYC", CPUs: 2, Go: "go1.26.8", Store: "pebble, every commit synced",
			Code: "474e08e2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		Started: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), Command: "bellman bench drain", Others: 0.2,
		Figures: []*Figure{
			{Scenario: "drain", Name: "delivered", Value: 31_712, Unit: "/s", Base: 56_000, BaseName: "raw", Ratio: 0.566, Required: "≥ 0.75 × raw", Met: &no},
			{Scenario: "drain", Name: "server CPU a task", Value: 39, Unit: "µs", Series: &Series{Name: "server CPU a task", EverySeconds: 60, Values: []float64{20, 40}}},
			{Scenario: "restart", Name: "ready after", Value: 1234567, Unit: "ms", Required: "≤ 1000 ms", Met: &yes},
		},
		Failures: []string{"drain: 1 of 2 tasks lost"},
	}
	const want = "2 × AMD EPYC, linux/amd64, go1.26.8; pebble, every commit synced; 2026-11-26; commit 474e08e2; " +
		"while other programs took 20 % of the processors: `bellman bench drain`\n" + `
| what | goal | measured |
| --- | --- | --- |
| ` + "`drain`" + `: delivered | ≥ 0.75 × raw | 31,712/s, 0.57 × raw, missed |
| ` + "`drain`" + `: server CPU a task |  | 39.0 µs |
| ` + "`restart`" + `: ready after | ≤ 1000 ms | 1,234,567 ms |

` + "```text" + `
drain: server CPU a task: 20.0 µs to 40.0 µs; a column is 1m0s
  │ █
  │ █
  │██
  │██
` + "```" + `

- **Promise not kept:** drain: 1 of 2 tasks lost
`
	var b strings.Builder
	if err := r.WriteMarkdown(&b); err != nil || b.String() != want {
		t.Errorf("Markdown is\n%s\n%v; want\n%s", &b, err, want)
	}
}

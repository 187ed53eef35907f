package bench

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Report holds the figures of a run.
type Report struct {
	Machine  Machine       `json:"machine"`
	Command  string        `json:"command"` // as [Options.Command]
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	Quick    bool          `json:"quick"`
	Others   float64       `json:"others"`         // share of CPU time that other programs used, 0 to 1; −1: unknown
	Raw      []float64     `json:"raw_per_second"` // each measurement, in order
	Figures  []*Figure     `json:"figures"`
	Failures []string      `json:"failures"` // broken promises: tasks lost, doubled or early; empty: none
}

// A Machine describes where a run took place.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	CPU   string `json:"cpu"` // model; empty: unknown
	CPUs  int    `json:"cpus"`
	Go    string `json:"go"`
	Store string `json:"store"`
	Code  string `json:"code"` // the program's version or commit; may be empty
}

// A Figure is one value with the base and the goal that it is compared with.
type Figure struct {
	Scenario string  `json:"scenario"`
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"` // /s, ms, s, MiB, B, ms/s, µs, % or empty

	Base     float64 `json:"base,omitempty"` // what Value is compared with; 0: nothing
	BaseName string  `json:"base_name,omitempty"`
	Ratio    float64 `json:"ratio,omitempty"` // Value / Base

	Required string `json:"required,omitempty"` // the project's goal; empty: none
	Met      *bool  `json:"met,omitempty"`      // whether the goal was reached; nil: there is none, or the sizes are not the goal's

	Histogram []Bucket `json:"histogram,omitempty"` // of the durations, if Value is a percentile of them
	Series    *Series  `json:"series,omitempty"`    // the samples from which Value is calculated; nil: there are none
}

// A Series holds samples in the order of time.
type Series struct {
	Name         string    `json:"name"`
	EverySeconds float64   `json:"every_seconds"`
	Values       []float64 `json:"values"` // in the figure's unit
}

// A Bucket counts the values up to a limit.
type Bucket struct {
	AtMostMS float64 `json:"at_most_ms"`
	Count    int64   `json:"count"`
}

// Figure returns the first figure with these names; ok is false if there is none.
func (r *Report) Figure(scenario, name string) (f Figure, ok bool) {
	for _, f := range r.Figures {
		if f.Scenario == scenario && f.Name == name {
			return *f, true
		}
	}
	return Figure{}, false
}

func machine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Store: "pebble, every commit synced", CPU: cpuModel()}
	if info, ok := debug.ReadBuildInfo(); ok {
		m.Code = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				m.Code = s.Value
			}
		}
	}
	return m
}

// durations collects durations for percentiles: from 1 µs to 10 minutes, three
// digits exact.
type durations struct{ h *hdrhistogram.Histogram }

func newDurations() durations { return durations{hdrhistogram.New(1, 600_000_000, 3)} }

func (d durations) add(ns int64) {
	d.h.RecordValue(min(max(ns/1000, 0), 600_000_000)) // in range, so there is no error
}

func (d durations) ms(percentile float64) float64 {
	return float64(d.h.ValueAtPercentile(percentile)) / 1000
}

// buckets returns the histogram of a report.
func (d durations) buckets() []Bucket {
	bounds := []int64{100, 200, 300, 500, 800, 1200, 2500, 5000, 10_000, 50_000, 100_000, 1_000_000, 600_000_000}
	counts := make([]Bucket, len(bounds))
	for i, b := range bounds {
		counts[i].AtMostMS = float64(b) / 1000
	}
	for _, bar := range d.h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		for i, b := range bounds {
			if bar.To <= b || i == len(bounds)-1 {
				counts[i].Count += bar.Count
				break
			}
		}
	}
	for len(counts) > 0 && counts[len(counts)-1].Count == 0 {
		counts = counts[:len(counts)-1]
	}
	return counts
}

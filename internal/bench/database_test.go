package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
)

// PostgreSQL runs the scenarios about databases and those of every store that query the database.
// MySQL runs only what differs there: filling, and the bytes on disk. Redis runs what measures its
// memory.
func TestRunOnDatabases(t *testing.T) {
	t.Parallel()
	var all []string
	for _, scenario := range Scenarios() {
		if scenario.NeedsDatabase() {
			all = append(all, scenario.Name)
		}
	}
	for _, s := range []struct {
		kind      string
		scenarios []string
	}{
		{"postgres", append(all, "drain", "memory", "bytes", "soak")},
		{"mysql", []string{"memory", "bytes", "idle-transaction", "waiting-5m", "ended-30m", "soak"}},
		{"redis", []string{"soak"}},
	} {
		t.Run(s.kind, func(t *testing.T) {
			t.Parallel()
			address, _ := scratchtest.Server(t, s.kind)
			report := runTiny(t, Options{Store: address, Scenarios: s.scenarios})
			for _, name := range []string{"PostgreSQL", "MariaDB", "MySQL", "Redis"} {
				if strings.HasPrefix(report.Machine.Store, name) {
					return
				}
			}
			t.Errorf("the store is %q; want the server's name", report.Machine.Store)
		})
	}
}

func TestGoalsAreOfOneStore(t *testing.T) {
	r := &run{} // a run on the embedded store
	f := r.figure("a", 1, "ms")
	if r.require(f, inPostgres(atMost(2))); f.Required != "" || f.Met != nil {
		t.Errorf("the embedded store is measured against a goal of PostgreSQL: %q, %v; want none", f.Required, f.Met)
	}
	if r.require(f.against("before", 3), atMost(2)); f.Required != "≤ 2 ms" {
		t.Errorf("a limit of a figure with a base: required %q; want ≤ 2 ms", f.Required)
	}
	f.against("", 0)
	if r.require(f, inPostgres(atMost(2)), atMost(0.5)); f.Required != "≤ 0.5 ms" || f.Met == nil || *f.Met {
		t.Errorf("required %q, met %v; want ≤ 0.5 ms and not met", f.Required, f.Met)
	}
}

func TestStoreIsADatabase(t *testing.T) {
	if _, err := Run(t.Context(), Options{Store: "pebble:x", Quick: true}, &strings.Builder{}); err == nil {
		t.Error("Run with a directory as its database: no error")
	}
}

func TestCPUOfTree(t *testing.T) {
	if !canMeasure {
		t.Skip("not on this system")
	}
	own, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	all, err := cpuOfTree(os.Getppid())
	if err != nil || all < own {
		t.Errorf("the CPU time of the parent and its children is %v, %v; want at least this one's %v", all, err, own)
	}
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// While intake is closed, bellman queues and bellman sources say so.
func TestIntakeClosed(t *testing.T) {
	t.Parallel()
	var intake atomic.Value // text
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"queues":[],"sources":[],"intake":%s}`, intake.Load())
	}))
	defer s.Close()
	tests := []struct{ intake, want string }{
		{`{"open":true,"waiting":3,"high":1000,"low":500}`, ""},
		{`{"waiting":1001,"high":1000,"low":500}`, "bellman: this node takes nothing in, and answers creates with 429: at least 1001 tasks wait, and flow.high is 1000; it goes on below 500\n"},
		{`{"waiting":3,"high":1000,"low":500,"heap_bytes":62914560,"heap_high_bytes":67108864}`, "bellman: this node takes nothing in, and answers creates with 429: 60 MiB in the heap, and flow.heap is 64; it goes on below 56\n"},
	}
	for _, tt := range tests {
		intake.Store(tt.intake)
		for _, command := range []string{"queues", "sources"} {
			r := run(t, command, "--server", s.URL)
			if r.errors != tt.want || r.status != 0 || !strings.Contains(r.out, "\n") {
				t.Errorf("%s with intake %s: status %d, %q; want %q and the table", command, tt.intake, r.status, r.errors, tt.want)
			}
		}
	}
}

// bellman endpoints marks an endpoint that is throttled or accepts nothing, so that it does not
// look healthy.
func TestEndpointsCommand(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"endpoints":[
			{"endpoint":"https://quick.example:443","breaker":"closed","limit":64,"success_rate":1},
			{"endpoint":"https://slow.example:443","breaker":"closed","limit":64,"rate":1.25,"waiting":1089,"success_rate":0.687},
			{"endpoint":"https://deaf.example:443","breaker":"closed","limit":64,"success_rate":0},
			{"endpoint":"https://gone.example:443","breaker":"open","limit":1,"rate":0.5,"waiting":3,"success_rate":0}]}`)
	}))
	defer s.Close()
	r := run(t, "endpoints", "--server", s.URL)
	var got []string
	for line := range strings.Lines(r.out) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"ENDPOINT IN FLIGHT LIMIT RATE WAITING OLDEST SUCCESS LAST HOUR STATE PAUSED",
		"https://quick.example:443 0 64 - 0 - 100.0% - normal -",
		"https://slow.example:443 0 64 1.25/s 1089 - 68.7% - throttled -",
		"https://deaf.example:443 0 64 - 0 - 0.0% - failing -",
		"https://gone.example:443 0 1 0.5/s 3 - 0.0% - breaker open -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// A foreign database that is away is not reported as a bellman server that is away.
func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	const gone = "http://127.0.0.1:1" // nothing listens on this port
	r := run(t, "import", "roncoo", "--from", strings.Replace(gone, "http://", "mysql://u:secret@", 1)+"/pay")
	if r.status != 1 || !strings.Contains(r.errors, "start that database, or name another with --from") || strings.Contains(r.errors, "bellman serve") || strings.Contains(r.errors, "secret") {
		t.Errorf("status %d, %q; want 1, and what to do about the database", r.status, r.errors)
	}
}

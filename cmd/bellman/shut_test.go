package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Where nothing is taken in, those who look at the queues or sources read so.
func TestShut(t *testing.T) {
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
				t.Errorf("%s with %s: status %d, %q; want %q beside the table", command, tt.intake, r.status, r.errors, tt.want)
			}
		}
	}
}

// A database of another system that is away is no server of ours.
func TestForeignDatabase(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	r := run(t, "import", "roncoo", "--from", strings.Replace(gone.URL, "http://", "mysql://u:secret@", 1)+"/pay")
	if r.status != 1 || !strings.Contains(r.errors, "start that database, or name another with --from") || strings.Contains(r.errors, "bellman serve") || strings.Contains(r.errors, "secret") {
		t.Errorf("status %d, %q; want 1, and what to do about the database", r.status, r.errors)
	}
}

package bench

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
)

func TestBody(t *testing.T) {
	for _, tt := range []struct{ load, task int }{{0, 0}, {1, 2}, {9999, 99_999_999}} {
		b := appendBody(nil, tt.load, tt.task)
		if len(b) != bodyBytes || !json.Valid(b) {
			t.Errorf("body of %v is %d bytes %s; want %d of JSON", tt, len(b), b, bodyBytes)
		}
		if load, task, ok := readBody(b); !ok || load != tt.load || task != tt.task {
			t.Errorf("readBody(%v) = %d, %d, %t", tt, load, task, ok)
		}
	}
	for _, b := range []string{"", "{}", strings.Repeat("x", bodyBytes)} {
		if _, _, ok := readBody([]byte(b)); ok {
			t.Errorf("readBody(%q) was accepted; want it rejected", b)
		}
	}
}

func TestCreateIsWhatTheClientSends(t *testing.T) {
	l := newLoad(7, 3)
	l.due = []int64{0, 0, time.Date(2026, 11, 20, 15, 4, 5, 123e6, time.UTC).UnixMilli()}
	p := to(l, "http://127.0.0.1:1/notify")
	var got client.CreateTask
	if err := json.Unmarshal(p.appendCreate(nil, 2), &got); err != nil {
		t.Fatal(err)
	}
	if got.Queue != "default" || got.Key != "M0838/000700000002/paid" || got.MerchantNo != "M0838" || got.OrderNo != "000700000002" ||
		got.URL != "http://127.0.0.1:1/notify" || got.Due.UnixMilli() != l.due[2] || string(got.JSON) != string(appendBody(nil, 7, 2)) {
		t.Errorf("create = %+v; want that of the client", got)
	}
}

// receive gives a body to the receiver, as a server would.
func receive(r *receiver, body []byte) {
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/notify", strings.NewReader(string(body))))
}

func TestBrokenPromisesAreNoticed(t *testing.T) {
	r := &run{receiver: newReceiver(), scenario: "test"}
	l := r.newLoad(4)
	soon := time.Now().Add(time.Hour).UnixMilli()
	l.due = []int64{0, 0, soon, 0}
	receive(r.receiver, appendBody(nil, l.id, 0))
	receive(r.receiver, appendBody(nil, l.id, 1))
	receive(r.receiver, appendBody(nil, l.id, 1)) // delivered twice
	receive(r.receiver, appendBody(nil, l.id, 2)) // an hour early
	receive(r.receiver, appendBody(nil, l.id, 4)) // no such task
	receive(r.receiver, appendBody(nil, l.id+1, 0))
	receive(r.receiver, []byte("something else"))
	r.check(l)
	want := []string{
		"test: 1 of 4 tasks lost",
		"test: 1 deliveries more than one of a task",
		"test: 1 deliveries before their task was due",
	}
	if got := r.report.Failures; !slices.Equal(got, want) {
		t.Errorf("failures = %q; want %q", got, want)
	}
	if n := r.receiver.strays.Load(); n != 3 {
		t.Errorf("%d unknown deliveries; want 3", n)
	}
	select {
	case <-l.all:
		t.Error("a load that lost a task counts as complete")
	default:
	}
}

func TestGoals(t *testing.T) {
	tests := []struct {
		name  string
		value float64
		base  float64 // −1: nothing to compare with
		goal  goal
		met   bool
		text  string
	}{
		{"at least", 65, 100, atLeast(0.65), true, "≥ 0.65 × raw"},
		{"less", 64, 100, atLeast(0.65), false, "≥ 0.65 × raw"},
		{"times at most", 120, 100, timesAtMost(1.2), true, "≤ 1.2 × raw"},
		{"more times", 121, 100, timesAtMost(1.2), false, "≤ 1.2 × raw"},
		{"at most", 80, -1, atMost(80), true, "≤ 80 MiB"},
		{"more", 81, -1, atMost(80), false, "≤ 80 MiB"},
	}
	for _, tt := range tests {
		r := &run{}
		f := r.figure(tt.name, tt.value, "MiB")
		if tt.base >= 0 {
			f.against("raw", tt.base)
		}
		r.require(f, tt.goal)
		if f.Met == nil || *f.Met != tt.met || f.Required != tt.text {
			t.Errorf("%s: met %v, required %q; want %t, %q", tt.name, f.Met, f.Required, tt.met, tt.text)
		}
	}
	r := &run{report: Report{Quick: true}}
	f := r.figure("quick", 1000, "MiB")
	if r.require(f, atMost(80)); f.Met != nil {
		t.Error("small sizes are measured against a goal; want none")
	}
}

func TestChoose(t *testing.T) {
	all, err := choose(nil, config.Pebble)
	if err != nil || slices.ContainsFunc(all, func(s Scenario) bool { return s.optional || s.database }) {
		t.Errorf("choose(nil) chose an optional scenario or one that needs a database, or failed: %v", err)
	}
	some, err := choose([]string{"memory-10m", "drain"}, config.Pebble)
	if err != nil || len(some) != 2 || some[0].Name != "drain" {
		t.Errorf("choose = %v, %v; want drain, then memory-10m", some, err)
	}
	if _, err := choose([]string{"nodes"}, config.Pebble); err == nil {
		t.Error("choose(nodes) without a database: no error")
	}
	if with, err := choose(nil, config.Postgres); err != nil || !slices.ContainsFunc(with, func(s Scenario) bool { return s.Name == "nodes" }) {
		t.Errorf("choose(nil) with a database = %v, %v; want nodes too", with, err)
	}
	if with, err := choose(nil, config.Redis); err != nil || slices.ContainsFunc(with, func(s Scenario) bool { return s.sql }) || !slices.ContainsFunc(with, func(s Scenario) bool { return s.Name == "nodes" }) {
		t.Errorf("choose(nil) with Redis = %v, %v; want nodes, and no scenario that needs SQL", with, err)
	}
	if _, err := choose([]string{"nothing"}, config.MySQL); err == nil || !strings.Contains(err.Error(), "drain") {
		t.Errorf("choose of an unknown name: %v; want an error that lists the names", err)
	}
}

func TestBuckets(t *testing.T) {
	d := newDurations()
	for _, ms := range []float64{0.05, 0.4, 0.4, 3} {
		d.add(int64(ms * 1e6))
	}
	var got []int64
	for _, b := range d.buckets() {
		got = append(got, b.Count)
	}
	if want := []int64{1, 0, 0, 2, 0, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("buckets = %v; want %v", got, want)
	}
}

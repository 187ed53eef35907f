package metrics

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

func TestScrape(t *testing.T) {
	m := New("v1.2.3")
	m.Attempted("pay", bellman.Accepted, 700*time.Microsecond, 20*time.Millisecond)
	m.Attempted("pay", bellman.Accepted, 4*time.Hour, 20*time.Millisecond)
	m.Attempted("pay", bellman.TimedOut, 0, 5*time.Second)
	m.Attempted("pay", bellman.Result(200), 0, 0)
	m.Added("pay", 12)
	m.Ended("pay", bellman.Succeeded)
	m.Ended("pay", bellman.Pending) // not an end, so it is not counted
	m.Ended("pay", bellman.State(9))
	m.Alerted("orders", "UNKNOWN")
	m.Committed(64, 3*time.Millisecond)

	now := time.Now()
	m.Watch(Sources{
		Gauges: func() figures.Gauges {
			return figures.Gauges{InFlight: 7, PoolLimit: 64, PoolFloor: 32, PoolCeiling: 1024, Waiting: 5, Loaded: 1000, Uncommitted: 3, Endpoints: 9, BreakersOpen: 1, Stray: 4, RefusedFollows: 2,
				Fired:         time.Unix(1763700000, 250e6),
				OldestOverdue: now.Add(-time.Hour), OldestWaiting: now.Add(time.Hour)}
		},
		Queues: func() []figures.Queue {
			return []figures.Queue{{
				Name: "pay", Waiting: 2, InFlight: 1, Pause: &figures.Pause{},
				Depth: store.Depth{Pending: 10, Succeeded: 20, Failed: 30, Cancelled: 40},
			}}
		},
		Endpoints: func() []figures.Endpoint {
			return []figures.Endpoint{
				{Endpoint: "https://a.example:443", InFlight: 4, Limit: 32, Rate: 1.5, Waiting: 6, SuccessRate: 0.75, Breaker: "half_open"},
				{Endpoint: "https://b.example:443", SuccessRate: -1, Breaker: "closed"},
			}
		},
		Merchants: func() ([]figures.MerchantPause, int) {
			paused := []figures.MerchantPause{{MerchantNo: "M1005"}}
			for i := range 30 {
				paused = append(paused, figures.MerchantPause{MerchantNo: fmt.Sprint("later", i)})
			}
			return paused, 989
		},
		Failing: func() (failing []figures.FailingMerchant) {
			for i := range 30 {
				failing = append(failing, figures.FailingMerchant{MerchantNo: fmt.Sprint("F", i)})
			}
			return failing
		},
		Certificates: func() []Certificate {
			return []Certificate{{Queue: "orders", Name: "app_certificate", NotAfter: time.Unix(1795000000, 0)}}
		},
		Alarms: func() []Alarm { return []Alarm{{Name: "late", Raised: 1}, {Name: "down", Raised: 0}} },
		Store: func() []store.Figure {
			return []store.Figure{
				{Name: "disk_bytes", Help: "Bytes on disk.", Value: 4096},
				{Name: "compactions_total", Help: "Compactions.", Counter: true, Value: 2},
			}
		},
	})

	got := scrape(t, m)
	for _, want := range []string{
		`bellman_build_info{go="go1.`,
		`version="v1.2.3"} 1`,
		`bellman_lateness_seconds_bucket{queue="pay",le="0.0005"} 2`,
		`bellman_lateness_seconds_bucket{queue="pay",le="0.001"} 3`,
		`bellman_lateness_seconds_bucket{queue="pay",le="21600"} 4`,
		`bellman_attempt_seconds_count{queue="pay"} 4`,
		`bellman_attempts_total{queue="pay",result="accepted"} 2`,
		`bellman_attempts_total{queue="pay",result="timeout"} 1`,
		`bellman_attempts_total{queue="pay",result="unknown"} 1`,
		`bellman_attempts_total{queue="pay",result="blocked"} 0`,
		`bellman_tasks_added_total{queue="pay"} 12`,
		`bellman_order_alerts_total{order_state="UNKNOWN",queue="orders"} 1`,
		`bellman_tasks_ended_total{queue="pay",state="succeeded"} 1`,
		`bellman_tasks_ended_total{queue="pay",state="failed"} 0`,
		`bellman_commit_operations_bucket{le="64"} 1`,
		`bellman_commit_seconds_count 1`,
		`bellman_attempts_in_flight 7`,
		`bellman_pool_limit 64`,
		`bellman_pool_floor 32`,
		`bellman_pool_ceiling 1024`,
		`bellman_merchants_paused 31`,
		`bellman_merchants_paused_tasks 989`,
		`bellman_merchant_paused{merchant="M1005"} 1`,
		`bellman_merchants_failing 30`,
		`bellman_merchant_failing{merchant="F19"} 1`,
		`bellman_endpoint_rate{endpoint="https://a.example:443"} 1.5`,
		`bellman_certificate_expiry_timestamp_seconds{certificate="app_certificate",queue="orders"} 1.795e+09`,
		`bellman_alarm_raised{name="late"} 1`,
		`bellman_alarm_raised{name="down"} 0`,
		`bellman_tasks_waiting 5`,
		`bellman_oldest_waiting_seconds 0`,
		`bellman_tasks_loaded 1000`,
		`bellman_operations_uncommitted 3`,
		`bellman_oldest_overdue_seconds 3600.`,
		`bellman_endpoints 9`,
		`bellman_breakers_open 1`,
		`bellman_tasks_stray 4`,
		`bellman_follows_refused_total 2`,
		`bellman_heartbeat_timestamp_seconds 1.76370000025e+09`,
		`bellman_queue_tasks{queue="pay",state="pending"} 10`,
		`bellman_queue_tasks{queue="pay",state="cancelled"} 40`,
		`bellman_queue_paused{queue="pay"} 1`,
		`bellman_queue_oldest_overdue_seconds{queue="pay"} 0`,
		`bellman_endpoint_waiting{endpoint="https://a.example:443"} 6`,
		`bellman_endpoint_success_ratio{endpoint="https://a.example:443"} 0.75`,
		`bellman_endpoint_breaker_state{endpoint="https://a.example:443"} 1`,
		`bellman_endpoint_breaker_state{endpoint="https://b.example:443"} 0`,
		"# TYPE bellman_store_disk_bytes gauge\nbellman_store_disk_bytes 4096",
		"# TYPE bellman_store_compactions_total counter\nbellman_store_compactions_total 2",
		`go_goroutines `,
		`process_resident_memory_bytes `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the scrape lacks %q", want)
		}
	}
	for _, unwanted := range []string{
		`state="pending"} 1` + "\n",
		`bellman_endpoint_success_ratio{endpoint="https://b.example:443"}`, // no attempt yet
		`bellman_merchant_paused{merchant="later29"}`,                      // at most twenty merchants have a series
		`bellman_merchant_failing{merchant="F20"}`,
	} {
		if strings.Contains(got, unwanted) {
			t.Errorf("the scrape has %q", unwanted)
		}
	}
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("Prometheus lint of %s: %s", p.Metric, p.Text)
	}
}

// A figure that Prometheus rejects does not remove the others from the scrape.
func TestBadFigure(t *testing.T) {
	m := New("")
	m.Watch(Sources{Store: func() []store.Figure {
		return []store.Figure{{Name: "disk_bytes", Help: "Twice.", Value: 1}, {Name: "disk_bytes", Help: "Twice.", Value: 2}}
	}})
	m.Added("pay", 1)
	if got := scrape(t, m); !strings.Contains(got, `bellman_tasks_added_total{queue="pay"} 1`) {
		t.Error("a duplicate figure hid the counters")
	}
	if _, err := m.registry.Gather(); err == nil {
		t.Error("Gather() accepted a duplicate figure; want an error that the scrape survives")
	}
}

// Names come from tasks and may contain anything.
func TestForeignNames(t *testing.T) {
	m := New("v\xff")
	m.Added("pay\xff", 1)
	m.Watch(Sources{Endpoints: func() []figures.Endpoint {
		return []figures.Endpoint{{Endpoint: "https://\xfe\n\"", SuccessRate: 1}}
	}})
	got := scrape(t, m)
	for _, want := range []string{`bellman_tasks_added_total{queue="pay�"} 1`, `bellman_endpoint_limit{endpoint="https://�\n\""} 0`} {
		if !strings.Contains(got, want) {
			t.Errorf("the scrape lacks %q", want)
		}
	}
}

func TestWorst(t *testing.T) {
	t0 := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	all := []figures.Endpoint{
		{Endpoint: "idle-b", Breaker: "closed"},
		{Endpoint: "idle-a", Breaker: "closed"},
		{Endpoint: "busy", Breaker: "closed", InFlight: 3},
		{Endpoint: "line", Breaker: "closed", Oldest: t0.Add(time.Minute), Waiting: 9},
		{Endpoint: "old", Breaker: "closed", Oldest: t0, Waiting: 1},
		{Endpoint: "paused", Breaker: "closed", Pause: &figures.Pause{}}, // perhaps forgotten: an alert asks for its figure
		{Endpoint: "probe", Breaker: "half_open"},
		{Endpoint: "down", Breaker: "open"},
	}
	want := []string{"down", "probe", "paused", "old", "line", "busy", "idle-a"}
	for i, e := range worst(all, len(want)) {
		if e.Endpoint != want[i] {
			t.Errorf("worst()[%d] = %s, want %s", i, e.Endpoint, want[i])
		}
	}
	if all[0].Endpoint != "idle-b" {
		t.Error("worst() changed its argument")
	}

	for i := range 1000 {
		all = append(all, figures.Endpoint{Endpoint: fmt.Sprint(i)})
	}
	m := New("")
	for _, tt := range []struct{ limit, want int }{{0, 100}, {3, 3}, {-1, 0}, {5000, len(all)}} {
		m.Watch(Sources{Endpoints: func() []figures.Endpoint { return all }, MaxEndpoints: tt.limit})
		if got := strings.Count(scrape(t, m), "bellman_endpoint_limit{"); got != tt.want {
			t.Errorf("MaxEndpoints %d exposes %d, want %d", tt.limit, got, tt.want)
		}
	}
}

// Queues appear while others are counting, and no count is lost.
func TestQueuesAppear(t *testing.T) {
	m := New("")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				m.Added(fmt.Sprint("queue-", i%10), 1)
			}
		})
	}
	wg.Wait()
	for i := range 10 {
		if got := testutil.ToFloat64(m.added.WithLabelValues(fmt.Sprint("queue-", i))); got != 80 {
			t.Errorf("queue-%d counted %v, want 80", i, got)
		}
	}
}

// The number of concurrent scrapes is limited, so that a broken scraper costs limited work.
func TestHandlerBounded(t *testing.T) {
	m := New("")
	release, entered := make(chan struct{}), make(chan struct{}, 16)
	m.Watch(Sources{Gauges: func() figures.Gauges {
		entered <- struct{}{}
		<-release
		return figures.Gauges{}
	}})
	h := m.Handler()
	get := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Code
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if code := get(); code != http.StatusOK {
				t.Errorf("a scrape answered %d, want 200", code)
			}
		})
		<-entered
	}
	if code := get(); code != http.StatusServiceUnavailable {
		t.Errorf("the fifth scrape answered %d, want 503", code)
	}
	close(release)
	wg.Wait()
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatal(errors.New(w.Body.String()))
	}
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func BenchmarkAttempted(b *testing.B) {
	m := New("")
	b.ReportAllocs()
	for b.Loop() {
		m.Attempted("merchant-notify", bellman.Accepted, 700*time.Microsecond, 20*time.Millisecond)
	}
}

func BenchmarkAttemptedParallel(b *testing.B) {
	m := New("")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Attempted("merchant-notify", bellman.Accepted, 700*time.Microsecond, 20*time.Millisecond)
		}
	})
}

func BenchmarkAdded(b *testing.B) {
	m := New("")
	b.ReportAllocs()
	for b.Loop() {
		m.Added("merchant-notify", 64)
	}
}

func BenchmarkCommitted(b *testing.B) {
	m := New("")
	b.ReportAllocs()
	for b.Loop() {
		m.Committed(512, 3*time.Millisecond)
	}
}

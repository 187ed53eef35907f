package api

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/access"
)

const benchTask = `{"queue":"merchant-notify","key":"","merchant_no":"M1001","order_no":"20261120000001","event":"payment.succeeded",` +
	`"url":"https://merchant.example/notify","headers":{"X-Channel":"wechat"},` +
	`"json":{"order_no":"20261120000001","state":"SUCCESS","amount":1299,"currency":"CNY","paid_at":"2026-11-20T15:04:05+08:00"}}`

// A sink is a ResponseWriter without a network.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

func benchCreate(b *testing.B, path, body string, o Options) {
	m := make1(b, o)
	m.fake.discard = true
	u, err := url.Parse(path)
	if err != nil {
		b.Fatal(err)
	}
	read := strings.NewReader(body)
	r := &http.Request{Method: "POST", URL: u, Host: "127.0.0.1:2355", ContentLength: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer secret"}}}
	b.ReportAllocs()
	for b.Loop() {
		read.Reset(body)
		r.Body = io.NopCloser(read)
		w := &sink{header: http.Header{}}
		m.ServeHTTP(w, r)
		if w.status != 201 && w.status != 200 {
			b.Fatal(w.status)
		}
	}
}

// A create through the whole handler, with an engine that only fills it in.
func BenchmarkCreate(b *testing.B) {
	b.Run("open", func(b *testing.B) { benchCreate(b, "/v1/tasks", benchTask, Options{}) })
	b.Run("key", func(b *testing.B) {
		benchCreate(b, "/v1/tasks", benchTask, Options{Keys: []access.Key{{Name: "a", Role: access.Submit, SHA256: hash("secret")}, {Name: "b", Role: access.Read, SHA256: hash("other")}}})
	})
}

// How long it takes to find whose key a request has: each key is compared, for a known and for an
// unknown one.
func BenchmarkKeys(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		keys := make([]access.Key, n)
		for i := range keys {
			keys[i] = access.Key{Name: fmt.Sprint("key-", i), Role: access.Submit, SHA256: hash(fmt.Sprint("secret-", i))}
		}
		m := make1(b, Options{Keys: keys, Log: slog.New(slog.DiscardHandler)})
		m.guesses.Most = math.MaxInt
		for name, secret := range map[string]string{"known": fmt.Sprint("secret-", n-1), "unknown": "a guess"} {
			r := httptest.NewRequest("POST", "/v1/tasks", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			b.Run(fmt.Sprintf("%s=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, refused := m.admit(r, access.MayCreate); (refused == nil) != (name == "known") {
						b.Fatalf("%s: %v", name, refused)
					}
				}
			})
		}
	}
}

func BenchmarkCreateBatch1000(b *testing.B) {
	benchCreate(b, "/v1/tasks/batch", `{"tasks":[`+strings.Repeat(benchTask+",", 999)+benchTask+`]}`, Options{})
}

// What the engine's part of the above costs.
func BenchmarkEngine(b *testing.B) {
	m := make1(b, Options{})
	m.fake.discard = true
	var o wanted
	if err := decodeTask([]byte(benchTask), &o); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		t := ask(&o.in, &o.faults)
		t.Header = nil
		m.fake.Add(b.Context(), t)
	}
}

// The same over loopback with 32 clients, beside a handler that only reads.
func BenchmarkCreateOverLoopback(b *testing.B) {
	raw := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	})
	ours := make1(b, Options{})
	ours.fake.discard = true
	for _, way := range []struct {
		name    string
		handler http.Handler
	}{{"raw", raw}, {"ours", ours}} {
		b.Run(way.name, func(b *testing.B) {
			server := httptest.NewServer(way.handler)
			defer server.Close()
			c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer c.CloseIdleConnections()
			b.SetParallelism(32 / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					resp, err := c.Post(server.URL+"/v1/tasks", "application/json", strings.NewReader(benchTask))
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					if resp.StatusCode != http.StatusCreated {
						b.Error(resp.Status)
						return
					}
				}
			})
		})
	}
}

package api

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
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

func benchCreate(b *testing.B, path, body string, slow bool, o Options) {
	m := makeWay(b, o, slow)
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
	b.Run("ours", func(b *testing.B) { benchCreate(b, "/v1/tasks", benchTask, false, Options{}) })
	b.Run("huma", func(b *testing.B) { benchCreate(b, "/v1/tasks", benchTask, true, Options{}) })
	b.Run("key", func(b *testing.B) {
		benchCreate(b, "/v1/tasks", benchTask, false, Options{Keys: []Key{{"a", Submit, hash("secret")}, {"b", Read, hash("other")}}})
	})
}

func BenchmarkCreateBatch1000(b *testing.B) {
	benchCreate(b, "/v1/tasks/batch", `{"tasks":[`+strings.Repeat(benchTask+",", 999)+benchTask+`]}`, false, Options{})
}

// What the engine's part of the above costs.
func BenchmarkEngine(b *testing.B) {
	m := make1(b, Options{})
	m.fake.discard = true
	var o order
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

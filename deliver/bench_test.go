package deliver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// An echo answers every request at once, without a network.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("success"))}, nil
}

func benchTask(url string) *bellman.Task {
	return &bellman.Task{
		ID: bellman.NewID(), Queue: "q", URL: url, Method: "POST", Success: "success_text",
		Header: map[string]string{"Content-Type": "application/json"},
		Body:   []byte(`{"order_no":"20261120000001","state":"SUCCESS","pad":"` + strings.Repeat("x", 245) + `"}`),
	}
}

// BenchmarkOverhead measures what an attempt costs beyond its transport.
func BenchmarkOverhead(b *testing.B) {
	for _, bb := range []struct {
		name string
		sign sign.Config
	}{
		{"unsigned", sign.Config{}},
		{"standard", sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}}},
		{"md5", sign.Config{Scheme: sign.MD5Params, Secrets: []sign.Secret{sign.NewSecret("192006250b4c09247ec02edce69f6a2d")}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c, err := NewClient(Options{Transport: echo{}})
			if err != nil {
				b.Fatal(err)
			}
			h, err := c.Handler(Rules{Sign: bb.sign})
			if err != nil {
				b.Fatal(err)
			}
			task := benchTask("https://merchant.example/notify?order=20261120000001")
			b.ReportAllocs()
			for b.Loop() {
				if v := h.Attempt(b.Context(), task, 1); v.Result != bellman.Accepted {
					b.Fatal(v)
				}
			}
		})
	}
}

// cpu reports the processor time of sender and receiver. Other work on the machine disturbs it less
// than the elapsed time.
func cpu(b *testing.B) func() {
	used := func() (ns int64) {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkLoopback compares an attempt with a plain request to the same receiver, both with a
// deadline.
func BenchmarkLoopback(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "success")
	}))
	defer server.Close()
	c, err := NewClient(Options{AllowPrivate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	h, err := c.Handler(Rules{})
	if err != nil {
		b.Fatal(err)
	}
	task := benchTask(server.URL + "/notify")
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		defer cpu(b)()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				req, _ := http.NewRequestWithContext(ctx, "POST", task.URL, bytes.NewReader(task.Body))
				req.Header.Set("Content-Type", "application/json")
				resp, err := c.guarded.RoundTrip(req)
				if err != nil {
					cancel()
					b.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				cancel()
			}
		})
	})
	b.Run("attempt", func(b *testing.B) {
		b.ReportAllocs()
		defer cpu(b)()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				v := h.Attempt(ctx, task, 1)
				cancel()
				if v.Result != bellman.Accepted {
					b.Error(v)
					return
				}
			}
		})
	})
}

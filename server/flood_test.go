package server_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/server"
)

var flood = flag.Int("flood", 0, "messages of TestFlood; 0: 40,000, or a fifth with the race detector; the test was written for 500,000")

// TestFlood: messages that are published faster than they can be delivered stay with the broker,
// and not in memory. Meanwhile creates over HTTP are refused. In the end all are delivered.
//
//	go test ./server -run Flood -flood 500000 -timeout 60m -v
func TestFlood(t *testing.T) {
	n := *flood
	if n == 0 {
		n = 40_000 / server.Fewer
	}
	var mu sync.Mutex
	got := make(map[string]bool, n)
	var open atomic.Bool
	gate := make(chan struct{})
	receive := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if !open.Load() { // slow, as many merchants at once are
			select {
			case <-gate:
			case <-r.Context().Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
		if len(body) > 0 { // of what was published
			mu.Lock()
			got[string(body)] = true
			mu.Unlock()
		}
		io.WriteString(w, "success")
	})
	// Many, for what waits for one alone is set aside on disk, and holds up nobody.
	var merchants []string
	for range 20 {
		merchant := httptest.NewServer(receive)
		defer merchant.Close()
		merchants = append(merchants, merchant.URL)
	}
	delivered := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(got)
	}
	text := fill(t, "rabbitmq", n, "0s", merchants...)
	name := text[strings.Index(text, "queue: ")+len("queue: "):]
	name, _, _ = strings.Cut(name, ",")
	url := text[strings.Index(text, "amqp://"):]
	url, _, _ = strings.Cut(url, `"`)
	s, stop := serveRates(t, text+fmt.Sprintf("\nflow: {high: %d, low: %d}", n/20, n/40))
	defer stop()
	to, err := client.New(client.Options{Server: "http://" + s.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	state := func() client.Source {
		sources, err := to.Sources(t.Context())
		if err != nil || len(sources.Sources) != 1 {
			return client.Source{}
		}
		return sources.Sources[0]
	}
	passes(t, "the source pauses", func() bool { return state().State == "paused" && strings.HasPrefix(state().Why, "overloaded: ") })
	passes(t, "a create above the mark is refused", func() bool { // it goes below it now and then
		_, _, err := to.Create(t.Context(), client.CreateTask{Queue: "default", URL: merchants[0]})
		if err != nil && client.StatusOf(err) != http.StatusTooManyRequests {
			t.Fatalf("a create above the mark: %v; want 429", err)
		}
		return err != nil
	})
	held, stored := 0, 0
	passes(t, "what was taken is stored, and the broker has the rest", func() bool {
		held, stored = inspect(t, url, name).Messages, int(state().Stored)
		return held+stored == n && state().InHand == 0
	})
	// Some more are taken until the meter is read, which is at once where that many were.
	if wait, most := stored-delivered(), n/20+min(20_000, n*3/4); wait > most {
		t.Errorf("of %d messages the broker holds %d, and %d were taken and wait; want at most %d", n, held, wait, most)
	}
	most := heap()
	t.Logf("of %d messages the broker holds %d, at %d MiB of heap", n, held, most>>20)
	open.Store(true)
	close(gate)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(5*time.Minute + time.Duration(n)*2*time.Millisecond); delivered() < n && time.Now().Before(deadline); <-look.C {
		most = max(most, heap())
	}
	if d := delivered(); d != n {
		t.Errorf("%d of %d messages were delivered; the source is %+v", d, n, state())
	}
	// The receiver remembers each message, in the same heap. Tasks in memory and the memory of the
	// store are somewhat more than 100 MiB.
	if limit := 128<<20 + n*256; most > limit {
		t.Errorf("the heap was %d MiB; want at most %d", most>>20, limit>>20)
	}
	t.Logf("all delivered with %d MiB of heap at most", most>>20)
}

// heap returns the live bytes of this process after the last garbage collection, including the
// receiver.
func heap() int {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

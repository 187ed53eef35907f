package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/store/memory"
)

// BenchmarkMerchant is what an attempt costs whose address, rule and limits come from a
// merchant in memory, against one that has all of its own: in turns, in one run, both
// as the engine makes them, to the same receiver.
func BenchmarkMerchant(b *testing.B) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "success")
	}))
	defer receiver.Close()
	registry := merchant.New(merchant.Options{Options: registry.Options{Store: memory.New()}})
	if _, _, err := registry.Put(b.Context(), merchant.Wanted{PutMerchant: client.PutMerchant{MerchantNo: "M1", NotifyURL: receiver.URL, Success: "success_text", Schedule: "0s, 15s", PerEndpoint: &client.MerchantLimits{Concurrency: 64}}}, bellman.By{}); err != nil {
		b.Fatal(err)
	}
	c, err := deliver.NewClient(deliver.Options{AllowPrivate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	with, err := c.Handler(deliver.Rules{Merchants: registry})
	if err != nil {
		b.Fatal(err)
	}
	without, err := c.Handler(deliver.Rules{})
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"order_no":"20261120000001","state":"SUCCESS"}`)
	own := &bellman.Task{ID: bellman.NewID(), URL: receiver.URL, Method: "POST", Success: "success_text", Body: body}
	lent := &bellman.Task{ID: bellman.NewID(), MerchantNo: "M1", Endpoint: bellman.MerchantEndpoint("M1"), Method: "POST", Body: body,
		Inherited: bellman.InheritedSuccess | bellman.InheritedSchedule}
	used := func() int64 {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	attempt := func(h *deliver.Handler, t *bellman.Task, guided bool) {
		for range 100 {
			if guided { // once for its line and limits, before it is attempted
				if g, err := h.Route(b.Context(), t); err != nil || g.Endpoint == "" {
					b.Fatal(g, err)
				}
			}
			if v := h.Attempt(b.Context(), t, 1); v.Result != bellman.Accepted {
				b.Fatal(v)
			}
		}
	}
	var plain, looked int64
	n := 0
	for b.Loop() {
		n++
		start := used()
		attempt(without, own, false)
		middle := used()
		attempt(with, lent, true)
		end := used()
		plain, looked = plain+middle-start, looked+end-middle
	}
	b.ReportMetric(float64(plain)/float64(100*n), "own-cpu-ns")
	b.ReportMetric(float64(looked)/float64(100*n), "merchant-cpu-ns")
	b.ReportMetric(100*(float64(looked)/float64(plain)-1), "%more")
}

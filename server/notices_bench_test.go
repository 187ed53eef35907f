package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
)

// BenchmarkNotice is what a notice costs between the listener and the notification of the merchant:
// it is verified by HMAC, decides its order, and is recorded in the embedded store with the
// notification. 64 come at once.
func BenchmarkNotice(b *testing.B) {
	const key = "gateway-secret-of-32-characters!"
	c, err := config.Parse([]byte(`
listen: 127.0.0.1:0
queues:
  tell: {url: "http://127.0.0.1:9/notify", delay: 24h}
  orders:
    kind: order
    query: {method: GET, url: "http://127.0.0.1:9/{order_no}"}
    close: {method: POST, url: "http://127.0.0.1:9/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    then: tell
    on_exhausted: alert
    schedule: 12h*
    expires: 24h
    notice: {verify: {scheme: hmac_sha256, header: X-Signature, secrets: [` + key + `]}, order: json.out_trade_no, states: wechat_v3}
store: "pebble:` + b.TempDir() + `"
egress: {allow: [127.0.0.1/32]}
`))
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		s.Close()
	}()
	var orders []*bellman.Task
	for i := range b.N {
		orders = append(orders, &bellman.Task{Queue: "orders", MerchantNo: "M1", OrderNo: fmt.Sprintf("A%09d", i), Body: []byte(`{"amount":1299,"currency":"CNY"}`)})
		if len(orders) == 500 || i == b.N-1 {
			for _, added := range s.engine.Add(ctx, orders...) {
				if added.Err != nil {
					b.Fatal(added.Err)
				}
			}
			orders = nil
		}
	}
	next := make(chan int, b.N)
	for i := range b.N {
		next <- i
	}
	close(next)
	used := func() int64 {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := used()
	var senders sync.WaitGroup
	for range 64 {
		senders.Go(func() {
			for i := range next {
				body := fmt.Sprintf(`{"out_trade_no":"A%09d","trade_state":"SUCCESS","trade_state_desc":"支付成功","transaction_id":"4200002026%[1]d","mchid":"1900000109","appid":"wxd678efh567hg6787",`+
					`"amount":{"payer_total":1299,"total":1299,"currency":"CNY","payer_currency":"CNY"},"success_time":"2026-11-20T23:04:05+08:00","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"}}`, i)
				mac := hmac.New(sha256.New, []byte(key))
				io.WriteString(mac, body)
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/notices/orders", strings.NewReader(body))
				r.SetPathValue("queue", "orders")
				r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
				w := httptest.NewRecorder()
				if s.notices.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	senders.Wait()
	b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op")
}

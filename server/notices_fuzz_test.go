package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/metrics"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/store/memory"
)

// Whatever a gateway signs is accepted: sent again it would be no better. Whatever it does not sign
// is refused. Neither decides an order that it does not name.
func FuzzReceive(f *testing.F) {
	f.Add(`{"out_trade_no":"A1","trade_state":"SUCCESS","amount":{"total":1299,"currency":"CNY"}}`, "application/json")
	f.Add(`{"out_trade_no":["A1","A2"],"trade_state":"CLOSED"}`, "")
	f.Add(`{"out_trade_no":"`+strings.Repeat("单", 60)+`","trade_state":"SUCCESS"}`, "")
	f.Add(`{"out_trade_no":"a\u0000b","trade_state":"SUCCESS","amount":{"total":-1}}`, "")
	f.Add("{\"out_trade_no\":\"\xff\",\"trade_state\":\"REFUND\"}", "application/json")
	f.Add(`out_trade_no=A1&trade_state=%00`, "application/x-www-form-urlencoded")
	s := &Server{log: slog.New(slog.DiscardHandler), store: memory.New(), metrics: metrics.New("test")}
	s.notices = &notices{server: s}
	a := &channelAccount{index: gate, name: "queue:gate", queue: "gate", key: "a-secret-of-the-gateway-32-chars", lives: map[string]*life{}}
	queues, c := queuesOf(&world{t: f, server: s, accounts: []*channelAccount{a}})
	f.Cleanup(startEngine(f, s, queues, c))
	f.Fuzz(func(t *testing.T, body, kind string) {
		if len(body) > maxNotice {
			return // the listener refuses it
		}
		mac := hmac.New(sha256.New, []byte(a.key))
		mac.Write([]byte(body))
		raw := &order.RawNotice{Header: http.Header{"X-Signature": {hex.EncodeToString(mac.Sum(nil))}, "Content-Type": {kind}}, Body: []byte(body), At: time.Now()}
		for range 2 {
			refused := new(order.RefusedNotice) // it names no order
			if _, err := s.notices.Receive(t.Context(), a.queue, "", nil, raw); err != nil && !errors.As(err, &refused) {
				t.Fatalf("%q is signed, and answered as not accepted: %v", body, err)
			}
		}
		raw.Header.Set("X-Signature", fmt.Sprintf("%064d", 0))
		if told, err := s.notices.Receive(t.Context(), a.queue, "", nil, raw); err == nil {
			t.Fatalf("%q is not signed, and accepted: %+v", body, told)
		}
	})
}

package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// most is the most memory in bytes that a waiting task with a body of 300 bytes may take.
const most = 1024

// waiting returns a typical task of a payment platform, due in a day.
func waiting(n int, now time.Time) *bellman.Task {
	random := make([]byte, 130)
	rand.Read(random)
	due := now.Add(24*time.Hour + time.Duration(n)*time.Millisecond)
	return &bellman.Task{
		ID: bellman.NewID(), Queue: "merchant-notify", Key: fmt.Sprintf("M%04d/20261121%08d/paid", n*7919%1000, n),
		MerchantNo: fmt.Sprintf("M%04d", n*7919%1000), OrderNo: fmt.Sprintf("20261121%08d", n), Event: "payment.succeeded",
		URL: "https://merchant.example/pay/notify", Endpoint: "https://merchant.example:443",
		Header:   map[string]string{"Content-Type": "application/json"},
		Body:     fmt.Appendf(nil, `{"order_no":"20261121%08d","x":"%s"}`, n, hex.EncodeToString(random))[:300],
		Schedule: "wechat_notify", Success: "success_text", Timeout: 5 * time.Second,
		Status: bellman.Status{Version: 1, Shard: uint16(n % 64), Began: due, Due: due, VisibleAt: due, Updated: now},
	}
}

// TestMemory measures the memory of waiting tasks on its own server, and lists which keys take it.
func TestMemory(t *testing.T) {
	s := start(t, "--appendonly", "no")
	db := openTest(t, "redis://"+s.address+"?durability=none", Options{})
	const tasks = 20_000
	add := func(begin int) {
		now := time.Now()
		for n := begin; n < begin+tasks; {
			b := &store.Batch{}
			for ; n < begin+tasks && len(b.Adds) < 512; n++ {
				task := waiting(n, now)
				b.Adds = append(b.Adds, store.Add{Task: task, Digest: task.Digest()})
			}
			if err := db.Commit(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(0)
	before := total(t, s)
	add(tasks)
	each := (total(t, s) - before) / tasks
	t.Logf("%d bytes for each waiting task", each)
	if each > most {
		t.Errorf("a waiting task takes %d bytes, want at most %d", each, most)
	}
}

// total returns the memory that the server has allocated for its data.
func total(t *testing.T, s *server) int64 {
	t.Helper()
	text, err := s.ask(t).Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if n, is := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); is {
			bytes, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return bytes
		}
	}
	t.Fatal("INFO memory has no used_memory")
	return 0
}

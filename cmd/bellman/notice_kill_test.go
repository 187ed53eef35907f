package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// A counter is a merchant, and a channel where queries say nothing: an order is decided by a notice
// or not at all.
type counter struct {
	settings string // the server's file of settings

	mu    sync.Mutex
	told  map[string]map[string]int // by order and task: how often the merchant was told
	open  map[string]int            // by order: at how many deaths its notification had not ended
	wrong []string

	servers []*process // nodes of a cluster
}

// noticeKey signs the notices.
const noticeKey = "gateway-secret-of-32-characters!"

// openCounter opens merchant and channel.
func openCounter(t *testing.T) *counter {
	c := &counter{told: map[string]map[string]int{}, open: map[string]int{}}
	merchant := receive(t, func(w http.ResponseWriter, r *http.Request) {
		var says struct {
			OrderNo    string `json:"order_no"`
			OrderState string `json:"order_state"`
			Amount     int    `json:"amount"`
		}
		if err := json.NewDecoder(r.Body).Decode(&says); err != nil {
			return // the server died while it sent
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if says.OrderState != "PAID" || says.Amount != 1299 {
			c.wrong = append(c.wrong, fmt.Sprintf("the merchant was told %+v", says))
		}
		if c.told[says.OrderNo] == nil {
			c.told[says.OrderNo] = map[string]int{}
		}
		c.told[says.OrderNo][r.Header.Get("Bellman-Task")]++
		io.WriteString(w, "success")
	})
	channel := receive(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusInternalServerError)
	})
	c.settings = t.TempDir() + "/bellman.yaml"
	write(t, c.settings, fmt.Sprintf(`
notices: {listen: "127.0.0.1:0"}
queues:
  tell: {url: "%s/notify", schedule: "0s, 50ms*20, 1s*", timeout: 30s}
  orders:
    kind: order
    query: {method: GET, url: "%s/{order_no}"}
    close: {method: POST, url: "%[2]s/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: alert
    expires: 20h
    schedule: 10h*
    then: tell
    notice: {verify: {scheme: hmac_sha256, header: X-Signature, secrets: [%s]}, order: json.out_trade_no, states: wechat_v3}
`, merchant, channel, noticeKey))
	return c
}

// place adds orders that cost 12.99 CNY.
func (c *counter) place(t *testing.T, to *client.Client, numbers ...string) {
	t.Helper()
	in := make([]client.CreateTask, len(numbers))
	for i, no := range numbers {
		in[i] = client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Amount: 1299, Currency: "CNY"}
	}
	results, err := to.CreateBatch(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Task == nil {
			t.Fatalf("order %s: %v", numbers[i], r.Error)
		}
	}
}

// noticesURL is where a server takes the notices of orders.
func (p *process) noticesURL() string {
	line := p.await(&p.log, "takes notices")
	_, rest, _ := strings.Cut(line, "127.0.0.1:")
	port := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	return "http://127.0.0.1:" + port + "/notices/orders"
}

// notify sends the notice that an order was paid, and reports whether it was accepted. A server
// that dies does not accept it.
func notify(t *testing.T, url, no string) (accepted bool) {
	body := fmt.Appendf(nil, `{"out_trade_no":%q,"trade_state":"SUCCESS","transaction_id":"T%s","amount":{"total":1299,"currency":"CNY"}}`, no, no)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return false
	}
	mac := hmac.New(sha256.New, []byte(noticeKey))
	mac.Write(body)
	req.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	alone := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	resp, err := alone.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == 200 && string(said) == "success"
}

// again sends the notice until it is accepted, as channels do.
func again(t *testing.T, url, no string) {
	t.Helper()
	eventually.True(t, "accepted: the notice of order "+no, func() bool { return notify(t, url, no) })
}

// died notes which notifications had not ended when a server died: these may be sent again.
func (c *counter) died(tasks []client.TaskDetail) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, task := range tasks {
		if task.Queue == "tell" && task.State == "pending" {
			c.open[task.OrderNo]++
		}
	}
}

// check holds the end against what was accepted: each order is PAID by one notice, and its merchant
// was told by one task, and again only what was in flight when a server died.
func (c *counter) check(t *testing.T, to *client.Client, numbers ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wrong := range c.wrong {
		t.Error(wrong)
	}
	lapses := 0 // a node that cannot renew its leases in time loses them, and others repeat what it has in flight
	for _, s := range c.servers {
		lapses += strings.Count(s.log.String(), "the registration of this node expired")
	}
	twice := 0
	for _, no := range numbers {
		o, err := to.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: no}, 0)
		if err != nil {
			t.Fatal(err)
		}
		applied := 0
		for _, k := range o.Tasks {
			if k.Event == "order.notice" && k.Reason == "applied" {
				applied++
			}
		}
		tasks := slices.Collect(maps.Values(c.told[no]))
		if o.OrderState != "PAID" || len(tasks) != 1 || applied != 1 {
			t.Errorf("order %s is %s, decided by %d notices, told %v; want PAID, by one notice, told by one task", no, o.OrderState, applied, c.told[no])
			continue
		}
		if tasks[0] > 1+c.open[no]+lapses {
			t.Errorf("order %s was told %d times, and its notification was open at %d deaths, with %d lapses of leases", no, tasks[0], c.open[no], lapses)
		}
		twice += tasks[0] - 1
	}
	t.Logf("%d orders, %d notifications sent again", len(numbers), twice)
}

// isTold reports whether the merchant was told of an order.
func (c *counter) isTold(no string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.told[no]) > 0
}

// kill -9 at any moment of a notice, on the embedded store: after its bytes were sent and before
// its answer, and while its merchant is told. What was accepted is decided after the restart, and
// the merchant is told.
func TestNoticeKilled(t *testing.T) {
	t.Parallel()
	const rounds, each = 25, 10
	c := openCounter(t)
	dir := t.TempDir() + "/data"
	var all []string
	accepted, cut := 0, 0
	window := 20 * time.Millisecond // the kill comes within it
	p := serveStore(t, dir, "--config", c.settings)
	for round := range rounds {
		var numbers []string
		for i := range each {
			numbers = append(numbers, fmt.Sprintf("%d-%d", round, i))
		}
		all = append(all, numbers...)
		c.place(t, p.client(), numbers...)
		url := p.noticesURL()
		var mu sync.Mutex
		taken := map[string]bool{}
		var sent sync.WaitGroup
		for _, no := range numbers {
			sent.Go(func() {
				time.Sleep(rand.N(5 * time.Millisecond)) // the moment of the kill is what the test is about
				ok := notify(t, url, no)
				mu.Lock()
				defer mu.Unlock()
				taken[no] = ok
			})
		}
		time.Sleep(rand.N(window))
		p.kill()
		sent.Wait()
		c.died(exported(t, must(t, "export", "--store", "pebble:"+dir)))
		p = serveStore(t, dir, "--config", c.settings)
		for _, no := range numbers {
			if !taken[no] {
				cut++
				continue
			}
			accepted++
			if o, err := p.client().Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: no}, 0); err != nil || o.OrderState != "PAID" {
				t.Errorf("the notice of order %s was answered as accepted, and after the kill it is %+v, %v", no, o, err)
			}
		}
		url = p.noticesURL()
		for _, no := range numbers { // also those that were accepted: the answer may be lost
			again(t, url, no)
		}
		switch { // how long an answer takes depends on the machine
		case accepted == 0:
			window = min(2*window, 5*time.Second)
		case cut == 0:
			window = max(window/2, time.Millisecond)
		}
	}
	c.rest(t, p, all...)
	c.check(t, p.client(), all...)
	p.stop()
	if accepted == 0 || cut == 0 {
		t.Errorf("%d notices were accepted before a kill, and %d cut off: want some of both", accepted, cut)
	}
	t.Logf("%d notices accepted before a kill, %d cut off; %s", accepted, cut, must(t, "check", "--store", "pebble:"+dir))
}

// rest waits until the merchant was told of orders, and every notification is recorded. Those that
// were in flight at three deaths in a row are resent.
func (c *counter) rest(t *testing.T, p *process, numbers ...string) {
	t.Helper()
	looks := 0
	eventually.True(t, "told, and recorded", func() bool {
		if looks++; looks%100 == 0 {
			bringForward(t, p)
		}
		if slices.ContainsFunc(numbers, func(no string) bool { return !c.isTold(no) }) {
			return false
		}
		queues, err := p.client().Queues(t.Context())
		if err != nil {
			return false
		}
		for _, q := range queues.Queues {
			if q.Name == "tell" && q.Depth.Pending > 0 {
				return false
			}
		}
		return true
	})
}

//go:build !race

// The tests of package console_test need a whole server, and most of them a browser. Those with
// goroutines of their own are in package console, which make test also tests with the race
// detector. Without these files it does not compile the browser's packages once more.

package console_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/server"
)

// A world is a real server on loopback, with a merchant and a channel to talk to.
type world struct {
	URL      string
	api      *client.Client
	merchant *httptest.Server
	channel  *httptest.Server

	mu   sync.Mutex
	told map[string]int // requests to the merchant, by path
}

// hostile is what a merchant answers who means no good.
const hostile = `<script>window.hacked=1</script><img src=x onerror="window.hacked=1">`

// open runs a world until the test ends. With keys, a visitor has to sign in: the key of a name is
// the name and "-key".
func open(t testing.TB, keys ...string) *world {
	t.Helper()
	return openOn(t, "pebble:"+t.TempDir(), keys...)
}

// openOn is open on a store, named as in a configuration.
func openOn(t testing.TB, store string, keys ...string) *world {
	t.Helper()
	w := &world{told: map[string]int{}}
	w.merchant = httptest.NewServer(http.HandlerFunc(w.tell))
	w.channel = httptest.NewServer(http.HandlerFunc(w.ask))
	text := strings.NewReplacer("CHANNEL", w.channel.URL, "MASTER", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))).Replace(`
listen: 127.0.0.1:0
master_key: MASTER
queues:
  merchant-notify: {schedule: wechat_notify}
  quick: {schedule: "0s, 50ms, 100ms", timeout: 1m}
  orders:
    kind: order
    query: {method: GET,  url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    schedule: 100ms*
    expires: 1s
    on_exhausted: close
    confirm: 100ms
    late_watch: 200ms
    then: quick
`)
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Store = store
	c.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for _, name := range keys {
		role := map[string]string{"reader": "read", "ops": "operate"}[name]
		c.Keys = append(c.Keys, access.Key{Name: name, Role: access.Role(role), SHA256: sha256.Sum256([]byte(name + "-key"))})
	}
	if len(keys) > 0 { // creates the tasks
		c.Keys = append(c.Keys, access.Key{Name: "root", Role: "admin", SHA256: sha256.Sum256([]byte("root-key"))})
	}
	s, err := server.Open(server.Options{Config: c, Version: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Errorf("stop: %v", err)
		}
		w.merchant.Close()
		w.channel.Close()
	})
	w.URL = "http://" + s.Addr()
	key := ""
	if len(keys) > 0 {
		key = "root-key"
	}
	if w.api, err = client.New(client.Options{Server: w.URL, Key: key}); err != nil {
		t.Fatal(err)
	}
	return w
}

// tell is the merchant: what it answers is in the path.
func (w *world) tell(rw http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.mu.Lock()
	w.told[r.URL.Path]++
	n := w.told[r.URL.Path]
	w.mu.Unlock()
	switch first, _, _ := strings.Cut(r.URL.Path[1:], "/"); {
	case first == "busy", first == "twice" && n <= 2:
		io.WriteString(rw, "busy")
	case first == "hostile":
		io.WriteString(rw, hostile)
	case first == "broken":
		rw.WriteHeader(http.StatusInternalServerError)
		io.WriteString(rw, `{"code":"FAIL","message":"系统繁忙，请稍后再试","access_token":"abcdef"}`)
	default:
		io.WriteString(rw, "success")
	}
}

// ask is the channel: orders whose numbers begin with paid are paid at their third query.
func (w *world) ask(rw http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/close") {
		rw.WriteHeader(http.StatusNoContent)
		return
	}
	w.mu.Lock()
	w.told[r.URL.Path]++
	n := w.told[r.URL.Path]
	w.mu.Unlock()
	state, total := "NOTPAY", 990
	if strings.HasPrefix(r.URL.Path, "/less") {
		state, total = "SUCCESS", 880
	}
	if strings.HasPrefix(r.URL.Path, "/paid") && n > 2 {
		state = "SUCCESS"
	}
	json.NewEncoder(rw).Encode(map[string]any{"trade_state": state, "amount": map[string]any{"total": total, "currency": "CNY"}, "transaction_id": "4200001"})
}

// create creates a task and returns its id.
func (w *world) create(t testing.TB, in client.CreateTask) string {
	t.Helper()
	task, _, err := w.api.Create(t.Context(), in)
	if err != nil {
		t.Fatalf("create %+v: %v", in, err)
	}
	return task.ID
}

// until waits for a task to be as wanted.
func (w *world) until(t testing.TB, id string, wanted func(*client.TaskDetail) bool) (task *client.TaskDetail) {
	t.Helper()
	eventually.True(t, "as wanted: task "+id, func() bool {
		var err error
		if task, err = w.api.Task(t.Context(), client.ByID(id)); err != nil {
			t.Fatal(err)
		}
		return wanted(task)
	})
	return task
}

func ended(task *client.TaskDetail) bool { return task.State != "pending" }

func attempted(n int) func(*client.TaskDetail) bool {
	return func(task *client.TaskDetail) bool { return task.Attempts >= n }
}

// sameDay waits for midnight in Shanghai, where the browser is, if it is near. A test that speaks
// of today does not see two days then.
func sameDay() {
	now := time.Now().In(time.FixedZone("", 8*3600))
	midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, now.Location())
	if left := midnight.Sub(now); left < 4*time.Minute {
		time.Sleep(left)
	}
}

// emoji is the longest merchant number there is.
var emoji = strings.Repeat("😀", 64)

// A cast is tasks of all kinds.
type cast struct {
	accepted, waiting, failed, hostile, long, secret string // ids
}

// staffed is a world with a cast, and a window on it.
func staffed(t testing.TB) (*world, *tab, *cast) {
	t.Helper()
	w := open(t)
	b := w.tab(t)
	return w, b, w.people(t)
}

// people makes a cast, and waits for its story to be told.
func (w *world) people(t testing.TB) *cast {
	t.Helper()
	c := w.decent(t)
	w.villains(t, c)
	return c
}

// villains are those of a cast whom one does not want in a picture.
func (w *world) villains(t testing.TB, c *cast) {
	t.Helper()
	to := func(path string) string { return w.merchant.URL + path }
	c.hostile = w.create(t, client.CreateTask{Queue: "quick", MerchantNo: emoji, OrderNo: hostile[:32], Key: "evil\u202egnp.exe",
		URL: to("/hostile"), Body: hostile, Headers: map[string]string{"X-Note": hostile}})
	c.long = w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1003", OrderNo: "long", URL: to("/ok"), Body: strings.Repeat("长", 64<<10/3)})
	c.secret = w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1003", OrderNo: "secret", URL: to("/ok?token=s3cr3t-query&shop=1"),
		Headers: map[string]string{"Authorization": "Bearer s3cr3t-header", "Content-Type": "application/json"},
		JSON:    json.RawMessage(`{"password":"s3cr3t-body","api_key":["s3cr3t-deep"]}`)})
	for _, id := range []string{c.hostile, c.long, c.secret} {
		w.until(t, id, ended)
	}
}

// decent are the others.
func (w *world) decent(t testing.TB) *cast {
	t.Helper()
	to := func(path string) string { return w.merchant.URL + path }
	var c cast
	c.accepted = w.create(t, client.CreateTask{Queue: "quick", Key: "M1001/20261120000001/paid", MerchantNo: "M1001", OrderNo: "20261120000001",
		Event: "payment.succeeded", URL: to("/twice/1"), JSON: json.RawMessage(`{"order_no":"20261120000001","amount":990.10,"state":"SUCCESS","note":"付款成功"}`)})
	c.waiting = w.create(t, client.CreateTask{Queue: "merchant-notify", Key: "M1001/20261120000002/paid", MerchantNo: "M1001", OrderNo: "20261120000002",
		Event: "payment.succeeded", URL: to("/busy"), JSON: json.RawMessage(`{"order_no":"20261120000002","amount":1.00}`)})
	c.failed = w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1002", OrderNo: "20261120000003", Event: "refund.succeeded",
		URL: to("/broken"), JSON: json.RawMessage(`{"refund_no":"R-1"}`)})
	for _, o := range []struct{ no, expires string }{{"paid-1", "30m"}, {"never-1", ""}} { // a slow machine makes no three queries in a second
		w.create(t, client.CreateTask{Queue: "orders", MerchantNo: "M1001", OrderNo: o.no, Expires: o.expires, Vars: map[string]string{"appid": "wx1"},
			Notify: &client.Notify{URL: to("/ok"), JSON: json.RawMessage(`{"shop":"tea"}`)}})
	}
	for range 12 {
		w.create(t, client.CreateTask{Queue: "quick", MerchantNo: "M1004", URL: to("/ok"), Event: "payment.succeeded"})
	}
	for _, id := range []string{c.accepted, c.failed} {
		w.until(t, id, ended)
	}
	w.until(t, c.waiting, attempted(1))
	for _, no := range []string{"paid-1", "never-1"} {
		eventually.True(t, "decided, and told: order "+no, func() bool {
			o, err := w.api.Order(t.Context(), client.OrderRef{MerchantNo: "M1001", OrderNo: no}, 0)
			return err == nil && o.OrderState != "PENDING" && len(o.Tasks) > 1 &&
				!slices.ContainsFunc(o.Tasks, func(task client.Task) bool { return task.Queue == "quick" && task.State == "pending" })
		})
	}
	return &c
}

// registered adds merchants to the registry: one that is notified, one that is paused, and one
// whose attempts fail.
func (w *world) registered(t testing.TB) {
	t.Helper()
	for no, in := range map[string]client.PutMerchant{
		"M1001": {Name: "茶馆 Tea House", NotifyURL: w.merchant.URL + "/ok", Schedule: "0s, 15s*2, 30s", Success: "success_text", Timeout: "5s",
			PerEndpoint: &client.MerchantLimits{Concurrency: 16, Rate: "50/s"},
			Sign:        &client.MerchantSign{Scheme: "hmac_sha256_params", Secrets: []string{"the first secret, which ends with 4711"}}},
		"M1002": {Name: "Books", NotifyURL: w.merchant.URL + "/broken"},
		emoji:   {Name: hostile[:40]},
	} {
		if _, _, err := w.api.PutMerchant(t.Context(), no, in); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.api.PauseMerchant(t.Context(), "M1002", client.Because{Reason: "its shop is shut"}); err != nil {
		t.Fatal(err)
	}
}

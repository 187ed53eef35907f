package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/server"
)

// A desk is a payment channel whose answers the test decides, and the merchant that is notified how
// its orders ended.
type desk struct {
	channel, merchant string // where they listen
	log               record // the server's

	// answer answers the nth query, close or reverse of an order. Nil: the channel closes every
	// order on request, and nobody pays.
	answer func(no, what string, n int, r *http.Request) (status int, body string)

	refuse func(says map[string]any) bool // whether the merchant refuses what it is told; nil: nothing

	mu      sync.Mutex
	asked   map[string][]string // by order: query, close or reverse
	heard   []notice            // and accepted
	refused int
}

// A notice is what the merchant was told, by which task.
type notice struct {
	Task  string
	Event string // of that task, from its page
	Says  map[string]any
}

// newDesk opens channel and merchant.
func newDesk(t *testing.T) *desk {
	d := &desk{asked: map[string][]string{}}
	listen := func(h http.HandlerFunc) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	d.channel, d.merchant = listen(d.serveChannel), listen(d.serveMerchant)
	return d
}

// closes makes the channel refuse to close orders until the returned value is true, so that a test
// has time before an expired order is decided.
func (d *desk) closes() *atomic.Bool {
	var open atomic.Bool
	var closed sync.Map
	d.answer = func(no, what string, _ int, _ *http.Request) (int, string) {
		switch {
		case what == "close" && !open.Load():
			return http.StatusInternalServerError, `{"code":"SYSTEM_ERROR"}`
		case what == "close":
			closed.Store(no, true)
			return http.StatusNoContent, ""
		}
		if _, is := closed.Load(no); is {
			return says("CLOSED")
		}
		return says("NOTPAY")
	}
	return &open
}

func (d *desk) serveChannel(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body) // so that it is noticed when the caller goes away
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	no, what := parts[0], "query"
	if len(parts) > 1 {
		what = parts[1]
	}
	d.mu.Lock()
	n := 1
	for _, before := range d.asked[no] {
		if before == what {
			n++
		}
	}
	d.asked[no] = append(d.asked[no], what)
	closed := slices.Contains(d.asked[no], "close")
	d.mu.Unlock()
	status, body := 0, ""
	switch {
	case d.answer != nil:
		status, body = d.answer(no, what, n, r)
	case what != "query":
		status = http.StatusNoContent
	case closed:
		status, body = says("CLOSED")
	default:
		status, body = says("NOTPAY")
	}
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// says is an answer to a query, as WeChat Pay's API v3 has it.
func says(state string) (status int, body string) {
	return http.StatusOK, fmt.Sprintf(`{"trade_state":%q,"transaction_id":"4200001","amount":{"total":1299,"currency":"CNY"}}`, state)
}

func (d *desk) serveMerchant(w http.ResponseWriter, r *http.Request) {
	told := notice{Task: r.Header.Get("Bellman-Task")}
	if err := json.NewDecoder(r.Body).Decode(&told.Says); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil && d.refuse(told.Says) {
		d.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	d.heard = append(d.heard, told)
	io.WriteString(w, "success")
}

// notices is how many things the merchant heard.
func (d *desk) notices() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.heard)
}

// was is what was asked about an order, in order.
func (d *desk) was(no string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.asked[no], " ")
}

// requests counts what was asked about all orders.
func (d *desk) requests() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, asked := range d.asked {
		n += len(asked)
	}
	return n
}

// settings are the queues tell and orders, with what orders has beside the usual.
func (d *desk) settings(t *testing.T, rules ...string) []config.Queue {
	t.Helper()
	return d.parse(t, `
queues:
  tell: {url: "MERCHANT/notify"}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    reverse: {method: POST, url: "CHANNEL/{order_no}/reverse"}
    states: wechat_v3
    close_states: wechat_v3
    min_reverse_age: 0s
    `+strings.Join(rules, "\n    "))
}

func (d *desk) parse(t *testing.T, text string) []config.Queue {
	t.Helper()
	c, err := config.Parse([]byte(strings.NewReplacer("CHANNEL", d.channel, "MERCHANT", d.merchant).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return c.Queues
}

// serve runs a server with these queues until the test is over.
func (d *desk) serve(t *testing.T, queues []config.Queue) (*client.Client, *server.Server) {
	t.Helper()
	api, s, _ := serveLogged(t, t.TempDir(), slog.New(slog.NewTextHandler(&d.log, nil)), func(c *config.Config) { c.Queues = queues })
	return api, s
}

// ends waits until all tasks of an order have ended, except a watch that goes on for long. It
// returns the order and the notifications that the merchant got.
func (d *desk) ends(t *testing.T, api *client.Client, ref client.OrderRef) (*client.Order, []notice) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patient); ; <-look.C {
		o, err := api.Order(t.Context(), ref, 0)
		if err != nil {
			t.Fatal(err)
		}
		ended := true
		events := map[string]string{}
		for _, k := range o.Tasks {
			ended = ended && (k.State != "pending" || k.Event == "order.late_watch")
			events[k.ID] = k.Event
		}
		if ended {
			d.mu.Lock()
			defer d.mu.Unlock()
			var told []notice
			for _, n := range d.heard {
				if event, ok := events[n.Task]; ok {
					n.Event = event
					told = append(told, n)
				}
			}
			slices.SortStableFunc(told, func(a, b notice) int { return strings.Compare(a.Task, b.Task) }) // as they were created: two that go out at once may arrive either way
			return o, told
		}
		if time.Now().After(deadline) {
			t.Fatalf("order %s has not ended; it was asked %s: %+v", ref.OrderNo, d.was(ref.OrderNo), o)
		}
	}
}

// events are those of notices.
func events(told []notice) string {
	var all []string
	for _, n := range told {
		all = append(all, n.Event)
	}
	return strings.Join(all, " ")
}

// many places orders, numbered from 0.
func many(t *testing.T, api *client.Client, n int, expires string) (refs []client.OrderRef) {
	t.Helper()
	tasks := make([]client.CreateTask, n)
	for i := range tasks {
		refs = append(refs, client.OrderRef{MerchantNo: "M1", OrderNo: fmt.Sprint(i)})
		tasks[i] = client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: refs[i].OrderNo, Expires: expires}
	}
	results, err := api.CreateBatch(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Task == nil {
			t.Fatalf("order %d: %v", i, r.Error)
		}
	}
	return refs
}

// passes waits for ok.
func passes(t *testing.T, what string, ok func() bool) {
	t.Helper()
	eventually.True(t, what, ok)
}

// A record keeps what a server logs.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// beforeExpiry returns what was asked of an order, and what a test wants, without a query before
// the order expired if there may be none: on a slow machine the first query is answered after that.
func beforeExpiry(o *client.Order, expires time.Duration, was, want string) (string, string) {
	first := o.Attempts[0]
	if answered := first.Started.Add(time.Duration(first.TookMS+2) * time.Millisecond); answered.Before(o.Tasks[0].Created.Add(expires)) {
		return was, want
	}
	once := func(asked string) string {
		if rest, ok := strings.CutPrefix(asked, "query query "); ok {
			return "query " + rest
		}
		return asked
	}
	return once(was), once(want)
}

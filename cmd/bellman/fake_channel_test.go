package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// A till is a payment channel with the API v3 of WeChat Pay, and a merchant that receives the
// notifications. It records each request before it answers, with the run of the server that sent
// it.
type till struct {
	channel, merchant string // addresses

	mu    sync.Mutex
	run   int
	open  int // open connections
	asked int // number of requests, including those to the merchant
	owed  int // requests whose answer is not written yet
	bills map[string]*bill
	more  chan struct{} // signals that there is something new

	// answer makes the channel's answer to a query or a close of an order. It is called with mu
	// held, and may release it meanwhile. With status 0 the channel hangs until the client gives
	// up.
	answer func(b *bill, r *http.Request, s *visit)
	tell   func(b *bill, r *http.Request, s *visit, told notice) // makes the merchant's answer
}

// A bill is an order at the till.
type bill struct {
	no      string
	queue   string
	state   string // NOTPAY, SUCCESS or CLOSED
	fate    string
	expires time.Time
	closes  int                 // number of closes that the channel accepted
	after   int                 // number of queries answered after the first close
	visits  []*visit            // requests to the channel
	told    map[string][]*visit // requests to the merchant, by task
	events  map[string]string   // events of these tasks
	states  map[string]string   // the order_state in their notifications

	held  string    // the step at which its request is being held
	payAt time.Time // when somebody pays; zero: nobody pays

	noticed bool // whether the channel's notice of the payment reached bellman
}

// A visit is one request, as the till saw it, and its answer.
type visit struct {
	run    int
	what   string // query, close or tell
	number string // number of the attempt, only for tell
	status int    // status of the answer; 0 if there was none
	body   string
}

// A notice is the body of a notification to the merchant.
type notice struct {
	OrderNo     string `json:"order_no"`
	OrderState  string `json:"order_state"`
	LatePayment string `json:"late_payment"`
}

// start starts the channel and the merchant.
func (l *till) start(t *testing.T) {
	l.bills, l.more = map[string]*bill{}, make(chan struct{}, 1)
	l.channel = serveCounted(t, http.HandlerFunc(l.serveChannel), &l.mu, &l.open)
	l.merchant = serveCounted(t, http.HandlerFunc(l.serveMerchant), &l.mu, &l.open)
}

// settings returns the server's settings: queues for orders, with extra added to each.
func (l *till) settings(t *testing.T, queues []string, rules ...string) (file string) {
	t.Helper()
	file = t.TempDir() + "/bellman.yaml"
	var text strings.Builder
	fmt.Fprintf(&text, `
queues:
  default: {}
  tell: {url: "%s/notify", schedule: "0s, 50ms*20, 1s*", timeout: 30s}
`, l.merchant)
	for _, queue := range queues {
		fmt.Fprintf(&text, `
  %s:
    kind: order
    query: {method: GET, url: "%s/orders/{order_no}"}
    close: {method: POST, url: "%[2]s/orders/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: close
    then: tell
    %s
`, queue, l.channel, strings.Join(rules, "\n    "))
	}
	write(t, file, text.String())
	return file
}

// slack is more than the time from the receipt of an order, from which its expiry counts, to the
// creation of its task.
const slack = 100 * time.Millisecond

// place creates an order at the channel, and its task at bellman.
func (l *till) place(t *testing.T, to *client.Client, expires time.Duration, bills ...*bill) {
	t.Helper()
	in := make([]client.CreateTask, len(bills))
	l.mu.Lock()
	for i, b := range bills {
		b.state, b.told, b.events, b.states = "NOTPAY", map[string][]*visit{}, map[string]string{}, map[string]string{}
		b.expires = time.Now().Add(expires)
		l.bills[b.no] = b
		in[i] = client.CreateTask{Queue: b.queue, MerchantNo: "M1", OrderNo: b.no, Expires: fmt.Sprint(expires.Milliseconds(), "ms")}
	}
	l.mu.Unlock()
	results, err := to.CreateBatch(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, r := range results {
		if r.Task == nil {
			t.Fatalf("order %s: %v", bills[i].no, r.Error)
		}
		bills[i].expires = r.Task.Created.Add(expires - slack)
	}
}

func (l *till) serveChannel(w http.ResponseWriter, r *http.Request) {
	no, closing := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/orders/"), "/close")
	io.Copy(io.Discard, r.Body) // so that the till notices when the client gives up
	s := &visit{what: "query"}
	if closing {
		s.what = "close"
	}
	l.mu.Lock()
	b := l.bills[no]
	if b == nil {
		l.mu.Unlock()
		return // a connection of rest
	}
	l.saw(s)
	b.visits = append(b.visits, s)
	l.answer(b, r, s)
	l.mu.Unlock()
	l.write(s, w, r)
}

func (l *till) serveMerchant(w http.ResponseWriter, r *http.Request) {
	var told notice
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		return // the server died while sending, so the request did not arrive
	}
	io.Copy(io.Discard, r.Body)
	s := &visit{what: "tell", number: r.Header.Get("Bellman-Attempt"), status: http.StatusOK, body: "success"}
	l.mu.Lock()
	b, id := l.bills[told.OrderNo], r.Header.Get("Bellman-Task")
	l.saw(s)
	b.told[id] = append(b.told[id], s)
	b.states[id], b.events[id] = told.OrderState, "decided"
	if told.LatePayment != "" {
		b.events[id] = "late_payment"
	}
	l.tell(b, r, s, told)
	l.mu.Unlock()
	l.write(s, w, r)
}

// saw counts a request.
func (l *till) saw(s *visit) {
	s.run = l.run
	l.asked++
	l.owed++
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// write writes the whole answer. If the server has died, nobody reads it.
func (l *till) write(s *visit, w http.ResponseWriter, r *http.Request) {
	if s.status == 0 {
		<-r.Context().Done()
	} else {
		if s.status != http.StatusNoContent {
			w.Header().Set("Content-Length", fmt.Sprint(len(s.body)))
		}
		w.WriteHeader(s.status)
		io.WriteString(w, s.body)
		http.NewResponseController(w).Flush()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed--
}

// recorded reports whether the log has all requests that were seen for an order.
func (l *till) recorded(t *testing.T, p *process, no string) bool {
	page, err := p.client().Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: no}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Attempts) == l.seen(l.bills[no])
}

// seen returns the number of requests for an order, at the channel and at the merchant.
func (l *till) seen(b *bill) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b.visits)
	for _, tells := range b.told {
		n += len(tells)
	}
	return n
}

// says returns the channel's answer about an order; n makes answers distinct.
func (b *bill) says(s *visit, state string) {
	s.status, s.body = http.StatusOK, fmt.Sprintf(`{"out_trade_no":%q,"trade_state":%q,"transaction_id":"T%s","n":%d}`, b.no, state, b.no, len(b.visits))
}

// fails returns an error answer.
func (b *bill) fails(s *visit, status int, code string) {
	s.status, s.body = status, fmt.Sprintf(`{"code":%q,"message":"%s, %d"}`, code, b.no, len(b.visits))
}

// shut closes an order at the channel, if it can be closed.
func (b *bill) shut(s *visit) {
	switch b.state {
	case "SUCCESS":
		b.fails(s, http.StatusBadRequest, "ORDERPAID")
	case "CLOSED":
		b.fails(s, http.StatusBadRequest, "ORDER_CLOSED")
	default:
		b.state, s.status, s.body = "CLOSED", http.StatusNoContent, ""
		b.closes++
	}
}

var because = client.Because{Reason: "test"}

func (l *till) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// await waits until the till has seen total requests.
func (l *till) await(t *testing.T, total int) {
	t.Helper()
	timeout := time.NewTimer(patient)
	defer timeout.Stop()
	for l.count() < total {
		select {
		case <-l.more:
		case <-timeout.C:
			t.Fatalf("%d requests after %s; want %d", l.count(), patient, total)
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
)

// A till is a payment channel that speaks as WeChat Pay's API v3 does, and the
// merchant who is told beside it. It writes down what it is asked before it
// answers, and in which run of the server that was.
type till struct {
	channel, merchant string // where they listen

	mu    sync.Mutex
	run   int
	open  int // connections
	asked int // requests, of the merchant too
	owed  int // answers to them that are not written
	bills map[string]*bill
	more  chan struct{} // has one while there is something new

	// answer makes the channel's answer to a query or a close of an order. It is
	// called with mu held, which it may let go of meanwhile. Status 0: it hangs
	// until the caller goes away.
	answer func(b *bill, r *http.Request, s *visit)
	tell   func(b *bill, r *http.Request, s *visit, told notice) // the merchant's
}

// A bill is an order at the till.
type bill struct {
	no      string
	queue   string
	state   string // NOTPAY, SUCCESS or CLOSED
	fate    string
	expires time.Time
	closes  int                 // that the channel took
	after   int                 // queries answered since the first of them
	visits  []*visit            // the channel's
	told    map[string][]*visit // the merchant's, by task
	events  map[string]string   // of those tasks
	states  map[string]string   // order_state that they told

	held  string    // the step at which it was held
	payAt time.Time // somebody pays then; zero: nobody

	noticed bool // the channel's notice of a payment reached bellman
}

// A visit is one request as it was seen, and its answer.
type visit struct {
	run    int
	what   string // query, close or tell
	number string // the attempt's, of tell
	status int    // of the answer; 0 if there was none
	body   string
}

// A notice is what the merchant is told.
type notice struct {
	OrderNo     string `json:"order_no"`
	OrderState  string `json:"order_state"`
	LatePayment string `json:"late_payment"`
}

// start opens channel and merchant.
func (l *till) start(t *testing.T) {
	l.bills, l.more = map[string]*bill{}, make(chan struct{}, 1)
	listen := func(h http.HandlerFunc) string {
		s := httptest.NewUnstartedServer(h)
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			l.mu.Lock()
			defer l.mu.Unlock()
			switch state {
			case http.StateNew:
				l.open++
			case http.StateClosed, http.StateHijacked:
				l.open--
			}
		}
		s.Start()
		t.Cleanup(s.Close)
		return s.URL
	}
	l.channel, l.merchant = listen(l.serveChannel), listen(l.serveMerchant)
}

// settings are the server's: queues of orders, with what they have beside the
// usual.
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

// place makes an order known at the channel, and has it watched.
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
		bills[i].expires = r.Task.Created.Add(expires)
	}
}

func (l *till) serveChannel(w http.ResponseWriter, r *http.Request) {
	no, closing := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/orders/"), "/close")
	io.Copy(io.Discard, r.Body) // so that it is noticed when the caller goes away
	s := &visit{what: "query"}
	if closing {
		s.what = "close"
	}
	l.mu.Lock()
	b := l.bills[no]
	if b == nil {
		l.mu.Unlock()
		return // of rest
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
		return // the server died while it sent: whatever it was, it did not arrive
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

// saw notes that there was a request.
func (l *till) saw(s *visit) {
	s.run = l.run
	l.asked++
	l.owed++
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// write writes the answer, all of it. If the server died there is nobody to tell.
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

// recorded reports whether the log has all that was seen of an order.
func (l *till) recorded(t *testing.T, p *process, no string) bool {
	page, err := p.client().Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: no}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Attempts) == l.seen(l.bills[no])
}

// seen counts the requests about an order, at the channel and at the merchant.
func (l *till) seen(b *bill) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b.visits)
	for _, tells := range b.told {
		n += len(tells)
	}
	return n
}

// says is what the channel says of an order; n tells answers apart.
func (b *bill) says(s *visit, state string) {
	s.status, s.body = http.StatusOK, fmt.Sprintf(`{"out_trade_no":%q,"trade_state":%q,"transaction_id":"T%s","n":%d}`, b.no, state, b.no, len(b.visits))
}

// fails is an answer that is an error.
func (b *bill) fails(s *visit, status int, code string) {
	s.status, s.body = status, fmt.Sprintf(`{"code":%q,"message":"%s, %d"}`, code, b.no, len(b.visits))
}

// shut closes an order at the channel, as far as that can be done.
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

// killed ends a run of the server: it waits until everything was seen that the
// dead server has sent, which is accepted before a connection of ours, and closed
// when it was read.
func (l *till) killed(t *testing.T) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	for _, url := range []string{l.channel, l.merchant} {
		resp, err := c.Post(url, "", strings.NewReader("no JSON"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	eventually(t, "at rest", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open == 0
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run++
}

// finish waits until nothing is left to do. What was in flight at each of three
// deaths is left alone for ten minutes, for it may be what caused them: on a busy
// machine that happens to some, and they are brought forward as people would.
func (l *till) finish(t *testing.T, p *process) {
	t.Helper()
	defer func() {
		if t.Failed() {
			l.unfinished(t, p)
		}
	}()
	looks := 0
	eventually(t, "over", func() bool {
		if looks++; looks%100 == 0 {
			l.bringForward(t, p)
		}
		return l.pending(t, p) == 0
	})
}

// bringForward has those tasks attempted now whose last three attempts were in flight
// at a death.
func (l *till) bringForward(t *testing.T, p *process) {
	t.Helper()
	to := p.client()
	for task, err := range to.Tasks(t.Context(), client.Filter{State: "pending"}) {
		if err != nil {
			t.Fatal(err)
		}
		if task.Last == nil || task.Last.Result != "unknown" {
			continue
		}
		log, err := to.AttemptsAfter(t.Context(), client.ByID(task.ID), max(task.Attempts-3, 0))
		if err != nil {
			t.Fatal(err)
		}
		if len(log) != 3 || log[0].Result != "unknown" || log[1].Result != "unknown" {
			continue
		}
		if _, err := to.Reschedule(t.Context(), client.ByID(task.ID), client.RescheduleTask{Due: client.Time{Time: time.Now()}, Reason: "test"}); err != nil && client.StatusOf(err) != http.StatusConflict {
			t.Fatalf("bring forward task %s: %v", task.ID, err)
		}
		t.Logf("order %s was in flight at three deaths in a row, and is brought forward", task.OrderNo)
	}
}

// unfinished tells all that can be known of what is not over: tasks and their
// orders, what the server has in hand, and where each of its goroutines stands, for
// which the server is ended.
func (l *till) unfinished(t *testing.T, p *process) {
	t.Helper()
	to := p.client()
	for task, err := range to.Tasks(t.Context(), client.Filter{State: "pending"}) {
		if err != nil {
			t.Logf("tasks that are not over: %v", err)
			break
		}
		t.Logf("not over, at %s: %+v", time.Now().UTC().Format(time.RFC3339Nano), task)
		if page, err := to.Order(t.Context(), client.OrderRef{MerchantNo: task.MerchantNo, OrderNo: task.OrderNo}, 0); err == nil {
			var log []client.Attempt
			for _, a := range page.Attempts {
				log = append(log, a.Attempt)
			}
			t.Logf("its order is %s, late payment %q, with these attempts: %s", page.OrderState, page.LatePayment, logged(log))
		}
		l.mu.Lock()
		if b := l.bills[task.OrderNo]; b != nil {
			t.Logf("at the till it is %s, %s: %s", b.fate, b.state, brief(b.visits))
		}
		l.mu.Unlock()
	}
	for _, path := range []string{"/v1/queues", "/v1/endpoints", "/v1/nodes", "/metrics"} {
		if answer, err := http.Get(p.url + path); err == nil {
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			t.Logf("%s: %v\n%s", path, err, text)
		}
	}
	p.signal(syscall.SIGQUIT)
	p.end(patient)
	t.Logf("the server says\n%s", p.log.String())
}

// pending counts the tasks that are.
func (l *till) pending(t *testing.T, p *process) (n int) {
	t.Helper()
	queues, err := p.client().Queues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queues.Queues {
		n += int(q.Depth.Pending)
	}
	return n
}

// check holds an order's page against what the till saw of it.
func (l *till) check(t *testing.T, to *client.Client, b *bill) *client.Order {
	t.Helper()
	page, err := to.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: b.no}, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range b.visits {
		if s.what != "close" {
			continue
		}
		if i == 0 || b.visits[i-1].run != s.run || !strings.Contains(b.visits[i-1].body, `"NOTPAY"`) {
			t.Errorf("order %s: closed without an answer just before that said it is not paid: %s", b.no, brief(b.visits))
		}
	}

	// One notification of the decision, one of a payment that came late.
	events := map[string]int{}
	for id, event := range b.events {
		if events[event]++; b.states[id] != page.OrderState {
			t.Errorf("order %s: the merchant was told %s of an order that is %s", b.no, b.states[id], page.OrderState)
		}
	}
	late := 0
	if page.LatePayment != "" {
		late = 1
	}
	if events["decided"] != 1 || events["late_payment"] != late {
		t.Errorf("order %s, %s, late payment %q: the merchant was told by these tasks: %v", b.no, page.OrderState, page.LatePayment, b.events)
	}

	// The logs say what was seen.
	logs := map[string][]client.Attempt{}
	var watch []client.Attempt
	for _, a := range page.Attempts {
		if a.Queue == b.queue {
			watch = append(watch, a.Attempt)
		} else {
			logs[a.Task] = append(logs[a.Task], a.Attempt)
		}
	}
	if !agree(b.visits, watch) {
		t.Errorf("order %s: the channel saw %s; the log has %s", b.no, brief(b.visits), logged(watch))
	}
	for _, task := range page.Tasks {
		if task.Queue == "tell" && !agree(b.told[task.ID], logs[task.ID]) {
			t.Errorf("order %s: the merchant saw %s; the log has %s", b.no, brief(b.told[task.ID]), logged(logs[task.ID]))
		}
	}
	return page
}

// agree reports whether a log has all that was seen, in order, but for what was in
// flight when a run ended: the last of its run.
func agree(seen []*visit, log []client.Attempt) bool {
	for len(log) > 0 && log[0].Result == "unknown" { // announced, and then the server died: it may have been sent
		log = log[1:]
	}
	if len(log) > 0 && log[0].Result == "timeout" && log[0].TookMS >= hurried.Milliseconds() && agree(seen, log[1:]) {
		return true // on a busy machine its time may be over before it has arrived
	}
	if len(seen) == 0 {
		return len(log) == 0
	}
	s := seen[0]
	if len(log) > 0 && s.is(&log[0]) && agree(seen[1:], log[1:]) {
		return true
	}
	last := len(seen) == 1 || seen[1].run != s.run
	return last && agree(seen[1:], log)
}

// hurried is how long an attempt of a torture may take, so that some take longer.
const hurried = 250 * time.Millisecond

// is reports whether a visit is what an attempt's log says.
func (s *visit) is(a *client.Attempt) bool {
	action := a.Action
	if action == "" {
		action = "tell"
	}
	if s.what != action || s.number != "" && s.number != fmt.Sprint(a.Number) {
		return false
	}
	// On a busy machine an answer may come when its time is over.
	return s.status == a.Status && s.body == a.Response || a.Result == "timeout" && a.TookMS >= hurried.Milliseconds()
}

var because = client.Because{Reason: "test"}

func brief(seen []*visit) string {
	var b strings.Builder
	for _, s := range seen {
		fmt.Fprintf(&b, "\n  run %d: %s %s %d %s", s.run, s.what, s.number, s.status, s.body)
	}
	return b.String()
}

func logged(log []client.Attempt) string {
	var b strings.Builder
	for _, a := range log {
		fmt.Fprintf(&b, "\n  %d by %s at %s: %s %s %d %s", a.Number, a.Trigger, a.Started, a.Action, a.Result, a.Status, a.Response)
	}
	return b.String()
}

func (l *till) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// await waits until there were so many requests.
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

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// answersIn is how long the channel takes to answer a query.
const answersIn = 5 * time.Millisecond

// A channel is a payment channel with the API of WeChat Pay v3, and the receiver of the
// notifications of its orders. An order is paid after a number of queries, or when all orders are
// paid.
type channel struct {
	load   int // in the numbers of its orders
	placed []placed
	costs  int         // what each order says that it costs, in cents; 0: nothing
	pays   int         // the query that is answered SUCCESS; 0: none
	paid   atomic.Bool // all orders are paid

	more func(http.ResponseWriter, *http.Request) bool // answers other requests, if it can; nil: there are none

	orders, merchants string // URLs
	server            *http.Server
	serving           sync.WaitGroup

	asked   atomic.Int64
	settled atomic.Int64  // orders whose final notification arrived
	all     chan struct{} // closed when all have arrived
	strays  atomic.Int64  // requests for unknown orders, or to close one
}

// placed is an order at the channel.
type placed struct {
	sent time.Time // when the create was sent to bellman
	kept time.Time // when it was answered

	mu     sync.Mutex
	at     []int64 // Unix ns of each query
	asking int     // queries that are not answered yet
	twice  int     // queries that arrived while another was open
	told   int     // notifications of PAID
	first  int64   // Unix ns of the first of them
	wrong  int     // other notifications
}

func newChannel(load, orders int) (*channel, error) {
	c := &channel{load: load, placed: make([]placed, orders), all: make(chan struct{})}
	c.server = &http.Server{Handler: c}
	for _, at := range []struct {
		url  *string
		path string
	}{{&c.orders, "/orders"}, {&c.merchants, "/paid"}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			c.close()
			return nil, fmt.Errorf("channel: %w", err)
		}
		*at.url = "http://" + l.Addr().String() + at.path
		c.serving.Go(func() { c.server.Serve(l) }) // until close
	}
	return c, nil
}

func (c *channel) close() {
	c.server.Close()
	c.serving.Wait()
}

// orderNoOf returns an order's number, which contains the numbers of load and order.
func orderNoOf(load, order int) (no [12]byte) {
	digits(no[:4], load)
	digits(no[4:], order)
	return no
}

// orderOf returns the order of a load of so many orders whose number it is.
func orderOf(no []byte, load, orders int) (order int, ok bool) {
	if len(no) != 12 {
		return 0, false
	}
	its, is := number10(no[:4])
	order, ok = number10(no[4:])
	return order, is && ok && its == load && order < orders
}

// find returns the order with a number; nil if there is none.
func (c *channel) find(no []byte) *placed {
	if order, ok := orderOf(no, c.load, len(c.placed)); ok {
		return &c.placed[order]
	}
	return nil
}

var jsonText = []string{"application/json"}

func (c *channel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	if req.URL.Path == "/paid" {
		c.tell(w, req, at)
		return
	}
	if c.more != nil && c.more(w, req) {
		return
	}
	no := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	p := c.find([]byte(no))
	if p == nil || req.Method != http.MethodGet {
		c.strays.Add(1)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	n := p.begin(at)
	c.asked.Add(1)
	time.Sleep(answersIn)
	state, more := "NOTPAY", ""
	if c.paid.Load() || c.pays > 0 && n >= c.pays {
		state, more = "SUCCESS", `,"transaction_id":"4200002`+no+`","success_time":"2026-11-20T15:04:05+08:00"`
	}
	p.end()
	w.Header()["Content-Type"] = jsonText
	fmt.Fprintf(w, `{"appid":"wxd678efh567hg6787","mchid":"1230000109","out_trade_no":%q,"trade_type":"NATIVE","trade_state":%q%s,`+
		`"trade_state_desc":"-","attach":"","payer":{"openid":"oUpF8uMuAJO_M2pxb1Q9zNjWeS6o"},"amount":{"total":1250,"currency":"CNY"}}`, no, state, more)
}

// begin records a query and returns its number.
func (p *placed) begin(at time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = append(p.at, at.UnixNano())
	if p.asking++; p.asking > 1 {
		p.twice++
	}
	return len(p.at)
}

func (p *placed) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking--
}

var (
	orderNo = []byte(`"order_no":"`)
	isPaid  = []byte(`"order_state":"PAID"`)
)

// tell receives the notification of an order's end.
func (c *channel) tell(w http.ResponseWriter, req *http.Request, at time.Time) {
	body, err := io.ReadAll(req.Body)
	_, no, found := bytes.Cut(body, orderNo)
	if err != nil || !found || c.find(no[:min(len(no), 12)]) == nil {
		c.strays.Add(1)
	} else {
		c.hear(c.find(no[:12]), bytes.Contains(body, isPaid), at)
	}
	w.Header()["Content-Type"] = plainText
	w.Write(success)
}

func (c *channel) hear(p *placed, paid bool, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !paid {
		p.wrong++
		return
	}
	if p.told == 0 {
		p.first = at.UnixNano()
	}
	if p.told++; p.told == 1 && c.settled.Add(1) == int64(len(c.placed)) {
		close(c.all)
	}
}

// questions returns the number of queries of each order so far.
func (c *channel) questions() []int {
	counts := make([]int, len(c.placed))
	for i := range c.placed {
		p := &c.placed[i]
		p.mu.Lock()
		counts[i] = len(p.at)
		p.mu.Unlock()
	}
	return counts
}

// await waits until the final notification of every order has arrived.
func (c *channel) await(ctx context.Context) error {
	return awaitAll(ctx, c.all, &c.settled, len(c.placed), "orders were told to have ended")
}

// checkChannel compares what the channel received with bellman's promises, at the end of a
// scenario.
func (r *run) checkChannel(c *channel) {
	var never int64
	for _, n := range c.questions() {
		if n == 0 {
			never++
		}
	}
	r.failAny(count{never, "%d orders never asked about"})
	r.checkTold(c)
}

// checkTold is checkChannel for orders that need no query.
func (r *run) checkTold(c *channel) {
	var lost, again, wrong, twice int64
	for i := range c.placed {
		p := &c.placed[i]
		p.mu.Lock()
		if p.told == 0 {
			lost++
		}
		again += int64(max(p.told-1, 0))
		wrong += int64(p.wrong)
		twice += int64(p.twice)
		p.mu.Unlock()
	}
	r.failAny(count{lost, "%d orders whose end was never told"},
		count{again, "%d notifications more than one of an order"},
		count{wrong, "%d notifications of something else than PAID"},
		count{twice, "%d questions about an order while one was not answered yet"},
		count{c.strays.Load(), "%d requests about no order, or for a close"})
}

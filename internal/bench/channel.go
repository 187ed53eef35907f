package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// answersIn is how long the channel thinks about each question.
const answersIn = 5 * time.Millisecond

// A channel is a payment channel that speaks as WeChat Pay's API v3 does, and the
// merchants of its orders, who are told how each ended. An order is not paid
// until it has been asked about often enough, or everybody pays.
type channel struct {
	load   int // of its orders' numbers
	placed []placed
	pays   int         // the question that is answered SUCCESS; 0: none
	paid   atomic.Bool // everybody has paid

	orders, merchants string // URLs
	server            *http.Server
	serving           sync.WaitGroup

	asked   atomic.Int64
	settled atomic.Int64  // orders whose end was told
	all     chan struct{} // closed when all were
	strays  atomic.Int64  // requests that are about no order of its own, or ask for a close
}

// placed is an order at the channel.
type placed struct {
	sent time.Time // when bellman was told of it
	kept time.Time // … and answered; both are for whoever told it

	mu     sync.Mutex
	at     []int64 // Unix ns of each question
	asking int     // questions that are not answered yet
	twice  int     // of them at once, when there should be one
	told   int     // notifications of PAID
	wrong  int     // of anything else
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

// orderNoOf is an order's number: it says which order of which load it is.
func orderNoOf(load, order int) (no [12]byte) {
	digits(no[:4], load)
	digits(no[4:], order)
	return no
}

// find returns the order with a number; nil if the channel has no such order.
func (c *channel) find(no []byte) *placed {
	if len(no) != 12 {
		return nil
	}
	load, ok := number10(no[:4])
	order, all := number10(no[4:])
	if !ok || !all || load != c.load || order >= len(c.placed) {
		return nil
	}
	return &c.placed[order]
}

var jsonText = []string{"application/json"}

func (c *channel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	if req.URL.Path == "/paid" {
		c.tell(w, req)
		return
	}
	no, _ := strings.CutPrefix(req.URL.Path, "/orders/")
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

// begin notes a question and returns which one it is.
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

// tell hears how an order ended.
func (c *channel) tell(w http.ResponseWriter, req *http.Request) {
	body, err := readAll(make([]byte, 0, 512), req.Body)
	_, no, found := bytes.Cut(body, orderNo)
	if err != nil || !found || c.find(no[:min(len(no), 12)]) == nil {
		c.strays.Add(1)
	} else {
		c.hear(c.find(no[:12]), bytes.Contains(body, isPaid))
	}
	w.Header()["Content-Type"] = plainText
	w.Write(success)
}

func (c *channel) hear(p *placed, paid bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !paid {
		p.wrong++
		return
	}
	if p.told++; p.told == 1 && c.settled.Add(1) == int64(len(c.placed)) {
		close(c.all)
	}
}

// questions returns how often each order was asked about so far.
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

// await waits until the end of every order was told.
func (c *channel) await(ctx context.Context) error {
	return awaitAll(ctx, c.all, &c.settled, len(c.placed), "orders were told to have ended")
}

// checkChannel compares what the channel saw with the promises, at the end of a scenario.
func (r *run) checkChannel(c *channel) {
	var never, lost, again, wrong, twice int64
	for i := range c.placed {
		p := &c.placed[i]
		p.mu.Lock()
		if len(p.at) == 0 {
			never++
		}
		if p.told == 0 {
			lost++
		}
		again += int64(max(p.told-1, 0))
		wrong += int64(p.wrong)
		twice += int64(p.twice)
		p.mu.Unlock()
	}
	r.failAny(count{never, "%d orders never asked about"},
		count{lost, "%d orders whose end was never told"},
		count{again, "%d notifications more than one of an order"},
		count{wrong, "%d notifications of something else than PAID"},
		count{twice, "%d questions about an order while one was not answered yet"},
		count{c.strays.Load(), "%d requests about no order, or for a close"})
}

package demo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// A channel is a payment channel with the API of WeChat Pay v3. An order is unpaid until its script
// says otherwise or it is closed.
type channel struct {
	*loopback
	timeline *timeline

	mu      sync.Mutex
	orders  map[string]*placed
	refunds map[string]int // queries so far, by number
}

// placed is an order at the channel.
type placed struct {
	state   string
	queries int

	paysAfter   int  // it is paid after this many queries; 0: never
	paysAtClose bool // it is paid a moment before the close
}

// newChannel listens on a free loopback port. Nothing is answered before serve.
func newChannel(l *timeline) (*channel, error) {
	c := &channel{timeline: l, orders: map[string]*placed{}, refunds: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{no}", c.query)
	mux.HandleFunc("POST /orders/{no}/close", c.shut)
	mux.HandleFunc("GET /refunds/{no}", c.refund)
	var err error
	c.loopback, err = listen("channel", "", mux)
	return c, err
}

// place adds an order.
func (c *channel) place(no string, p placed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.state = cmp.Or(p.state, "NOTPAY")
	c.orders[no] = &p
}

// standing returns the state of an order at the channel, and how often it was queried.
func (c *channel) standing(no string) (state string, queries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders[no].state, c.orders[no].queries
}

func (c *channel) query(w http.ResponseWriter, r *http.Request) {
	no := r.PathValue("no")
	c.mu.Lock()
	o := c.orders[no]
	if o == nil {
		c.mu.Unlock()
		c.answer(w, "is asked about order …"+tail(no), http.StatusNotFound, map[string]any{"code": "ORDER_NOT_EXIST", "message": "订单不存在"})
		return
	}
	if o.queries++; o.paysAfter > 0 && o.queries > o.paysAfter && o.state == "NOTPAY" {
		o.state = "SUCCESS"
	}
	state := o.state
	c.mu.Unlock()
	c.answer(w, "is asked about order …"+tail(no), http.StatusOK, about(no, state))
}

// about is what the channel says about an order that it knows.
func about(no, state string) map[string]any {
	says := map[string]any{"out_trade_no": no, "trade_state": state}
	if state == "SUCCESS" {
		says["transaction_id"] = "4200002" + no
		says["amount"] = map[string]any{"total": 9900, "currency": "CNY"}
	}
	return says
}

// pay pays an order, and tells so by a signed notice to a URL. It returns the answer.
func (c *channel) pay(ctx context.Context, no, url string) (status int, answer string, err error) {
	c.mu.Lock()
	c.orders[no].state = "SUCCESS"
	c.mu.Unlock()
	body, err := json.Marshal(about(no, "SUCCESS"))
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	mac := hmac.New(sha256.New, []byte(channelSecret))
	mac.Write(body)
	req.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	sender := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := sender.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return resp.StatusCode, string(said), err
}

// refund answers a query of a refund: twice that it is on its way, then that the money has arrived.
func (c *channel) refund(w http.ResponseWriter, r *http.Request) {
	no := r.PathValue("no")
	c.mu.Lock()
	c.refunds[no]++
	state := "PROCESSING"
	if c.refunds[no] > 2 {
		state = "SUCCESS"
	}
	c.mu.Unlock()
	c.answer(w, "is asked about refund …"+tail(no), http.StatusOK, map[string]any{"out_refund_no": no, "status": state})
}

func (c *channel) shut(w http.ResponseWriter, r *http.Request) {
	no := r.PathValue("no")
	c.mu.Lock()
	o := c.orders[no]
	code, status := "", http.StatusNoContent
	switch {
	case o == nil:
		code, status = "ORDER_NOT_EXIST", http.StatusNotFound
	case o.paysAtClose || o.state == "SUCCESS":
		o.state = "SUCCESS"
		code, status = "ORDERPAID", http.StatusBadRequest
	default:
		o.state = "CLOSED"
	}
	c.mu.Unlock()
	if code == "" {
		c.timeline.say("channel", "is asked to close order …"+tail(no), "answers 204")
		w.WriteHeader(status)
		return
	}
	c.answer(w, "is asked to close order …"+tail(no), status, map[string]any{"code": code, "message": code})
}

// answer writes an answer and prints it.
func (c *channel) answer(w http.ResponseWriter, what string, status int, says map[string]any) {
	word := ""
	for _, field := range []string{"trade_state", "status", "code"} {
		if text, is := says[field].(string); is {
			word = text
		}
	}
	c.timeline.say("channel", what, fmt.Sprintf("answers %d %s", status, word))
	body, err := json.Marshal(says)
	if err != nil {
		panic(err) // cannot happen: texts and numbers only
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // an error means that the caller has left
}

// tail returns the end of an order's number, as the timeline shows it.
func tail(no string) string { return no[max(len(no)-4, 0):] }

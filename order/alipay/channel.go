// Package alipay queries and closes orders at Alipay's open platform: alipay.trade.query,
// alipay.trade.close and alipay.trade.cancel, signed with RSA2. It reads Alipay's notices of
// trades. An answer or notice counts only if Alipay signed it and it is about the order or the
// application. Package order/states decides what it means.
package alipay

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/states"
)

// The methods of Alipay's gateway that are called.
const (
	queryMethod  = "alipay.trade.query"
	closeMethod  = "alipay.trade.close"
	cancelMethod = "alipay.trade.cancel"
)

// A Channel is one application at Alipay. It is an [order.Channel], an [order.Reverser] and an
// [order.NoticeReader]. Printing it shows no key. It is safe for concurrent use.
type Channel struct {
	appID     string
	sellerID  string        // whose notices are read; empty: of every seller
	token     func() string // app_auth_token; a function, so that nothing prints it
	gateway   string
	sign      func(text []byte) (signature string, err error)
	keys      []*sign.RSAVerifier
	query     *states.Query
	close     *states.Close
	transport http.RoundTripper
	downloads http.RoundTripper
	now       func() time.Time

	// Of an application with certificates; empty: it has bare keys.
	appCertSN, rootCertSN string
	byNumber              map[string]*sign.RSAVerifier
	appCertificate        *x509.Certificate
}

// Query calls alipay.trade.query.
// https://docs.open.alipay.com/api_1/alipay.trade.query
func (c *Channel) Query(ctx context.Context, o *order.Order) order.QueryAnswer {
	a, _, err := c.ask(ctx, o, queryMethod)
	age := c.now().Sub(o.Created)
	if err != nil {
		// An unsigned word can slow us down and not decide.
		a.Throttled = c.query.Read(a, age).Throttled
		return order.QueryAnswer{Answer: exchange.Unread(a, err)}
	}
	return c.query.Read(a, age)
}

// Close calls alipay.trade.close, after which nobody can pay the order.
// https://docs.open.alipay.com/api_1/alipay.trade.close
func (c *Channel) Close(ctx context.Context, o *order.Order) order.CloseAnswer {
	answer, _ := c.end(ctx, o, closeMethod)
	return answer
}

// Reverse calls alipay.trade.cancel: it closes an order that nobody paid, and refunds an order that
// somebody paid. An answer without an action means that there is no trade. Alipay allows the call
// only for applications with 当面付. https://docs.open.alipay.com/api_1/alipay.trade.cancel
func (c *Channel) Reverse(ctx context.Context, o *order.Order) order.CloseAnswer {
	answer, t := c.end(ctx, o, cancelMethod)
	if answer.Reading == order.CloseDone && t.Action == "" {
		answer.Reading = order.CloseNotExist
	}
	return answer
}

// end calls a method that ends an order.
func (c *Channel) end(ctx context.Context, o *order.Order, method string) (order.CloseAnswer, trade) {
	a, t, err := c.ask(ctx, o, method)
	if err != nil {
		a.Throttled = c.close.Read(a).Throttled
		return order.CloseAnswer{Answer: exchange.Unread(a, err)}, t
	}
	return c.close.Read(a), t
}

// A trade has the fields of an answer that say which order it is about, and which method it
// answers.
type trade struct {
	Code        string `json:"code"`
	OutTradeNo  string `json:"out_trade_no"`
	TradeStatus string `json:"trade_status"` // of a query
	Action      string `json:"action"`       // of a cancel: close or refund
}

// ask calls one method about an order. An error says why nothing was sent, or why the answer must
// not be used. Without an error the answer is Alipay's: its body is the signed text, in an object
// under the name of the answer. Or there is no answer.
func (c *Channel) ask(ctx context.Context, o *order.Order, method string) (order.Answer, trade, error) {
	if err := c.CheckOrder(o); err != nil {
		return order.Answer{Result: bellman.Blocked}, trade{}, err
	}
	a, text, err := c.call(ctx, method, map[string]any{"out_trade_no": o.OrderNo})
	if err != nil || text == nil {
		return a, trade{}, err
	}
	var t trade
	if err := json.Unmarshal(text, &t); err != nil {
		return a, trade{}, errors.New("the answer does not describe a trade")
	}
	switch {
	case t.OutTradeNo != o.OrderNo && (t.Code == "10000" || t.OutTradeNo != ""):
		return a, trade{}, fmt.Errorf("the answer is about the order %.70q", t.OutTradeNo)
	case method != queryMethod && t.TradeStatus != "":
		return a, trade{}, errors.New("the answer is one to a query")
	}
	return a, t, nil
}

// call calls one method. An error says why nothing was sent, or why the answer must not be used.
// Without an error, text is what Alipay signed, and the answer's body is that text in an object
// under the name of the answer. If text is nil, there is no answer.
func (c *Channel) call(ctx context.Context, method string, fields map[string]any) (a order.Answer, text []byte, err error) {
	req, err := c.request(ctx, method, fields)
	if err != nil {
		return order.Answer{Result: bellman.Blocked}, nil, errors.New("the request cannot be made")
	}
	switch a = exchange.Do(c.transport, req); a.Result {
	case bellman.Accepted, bellman.ErrorStatus:
		text, err = c.read(&a, method)
		return a, text, err
	case bellman.Unreachable, bellman.TimedOut:
		return a, nil, nil // there is no answer, and it says so itself
	}
	return a, nil, errors.New("the answer is not whole")
}

// read verifies the signature of an answer, and checks that it answers the method that was called:
// the signature covers neither the name of the answer nor its time. The signed text becomes the
// body.
func (c *Channel) read(a *order.Answer, method string) ([]byte, error) {
	node := strings.ReplaceAll(method, ".", "_") + "_response"
	e, err := open(a.Body, node)
	if err != nil {
		return nil, err
	}
	if e.node == errorNode {
		return nil, errors.New("the gateway refused the request" + e.refusal())
	}
	keys, err := c.candidates(e)
	if err != nil {
		return nil, err
	}
	text, err := e.verify(keys)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, e.refusal())
	}
	a.Body = []byte(`{"` + node + `":` + string(text) + `}`)
	return text, nil
}

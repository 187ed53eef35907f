// Package gateway is a payment channel made of configuration: the requests that query, close and
// reverse an order are HTTP templates. order/states interprets the answers.
//
// # Templates
//
// {order_no}, {merchant_no} and {vars.NAME} stand for values of the order, and {ref_no} for the
// number of the refund or transfer that a [Poll] is about: in a URL's path and in the values of its
// query, in the values of headers, and in a body that is JSON, a form or XML. A value is escaped
// for its place, so every value stays one value: it cannot change the host or the segments of the
// path, and cannot add a parameter, a header or a field of the body. Values that cannot be escaped
// are refused by CheckOrder when the order is created: a value that would be "." or ".." in a path
// or make a segment empty, a control character in a header or in XML, bytes that are not UTF-8.
//
// In JSON a placeholder stands within a string, or alone where a number is wanted:
//
//	{"order": "{order_no}", "shop": {vars.shop}}
//
// # Notices
//
// [Notices] reads the notices that a gateway sends by itself: it verifies a signature over the raw
// body, and reads the order's number and state with expressions, too.
//
// # Providers
//
// A [Provider] is an account at one of [Providers], whose protocol this package knows: WeChat Pay
// v2, UnionPay, Stripe and Antom. It signs requests and verifies answers and notices as the
// provider does; an answer that cannot be verified, or is for another account or about another
// order, decides nothing.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

// Options of a Channel. Query, Close, States and CloseStates are required.
type Options struct {
	Query   Request
	Close   Request
	Reverse Request // zero: the channel cannot reverse

	States      *states.Query // reads the answer to Query
	CloseStates *states.Close // reads the answers to Close and Reverse

	// About evaluates to the number of the order that an answer to Query is about. An answer about
	// another order, or without a number, is a query error; NOT_FOUND needs no number. Nil: every
	// answer is taken to be about the order asked for.
	About *rule.Value

	Sign      sign.Config       // zero: requests are not signed
	Transport http.RoundTripper // nil: http.DefaultTransport
}

// A Channel sends the requests of its templates. It is safe for concurrent use. Printing it shows
// no secret.
type Channel struct {
	query, close, reverse *request
	states                *states.Query
	closeStates           *states.Close
	about                 *rule.Value // nil: none
	signer                sign.Signer // nil: none
	transport             http.RoundTripper
}

// reversing is a Channel with a request for Reverse.
type reversing struct{ *Channel }

var (
	_ order.Channel      = (*Channel)(nil)
	_ order.OrderChecker = (*Channel)(nil)
	_ order.Reverser     = reversing{}
	_ order.OrderChecker = reversing{}
)

// New compiles the templates and reads the secrets. The channel is an
// [order.Reverser] if and only if Reverse is given. An error wraps a *[bellman.Invalid]
// that names every wrong part of a request, and shows nothing of a header or body.
func New(o Options) (order.Channel, error) {
	c := &Channel{states: o.States, closeStates: o.CloseStates, about: o.About, transport: cmp.Or(o.Transport, http.DefaultTransport)}
	bad := new(bellman.Invalid)
	if o.States == nil || o.CloseStates == nil {
		bad.Add("states", "is needed, as is close_states: without them no answer means anything")
	}
	var err error
	if c.signer, err = sign.New(o.Sign); err != nil {
		bad.Note("sign", err)
	}
	for _, r := range []struct {
		name   string
		from   Request
		method string // default method
		to     **request
	}{
		{"query", o.Query, http.MethodGet, &c.query},
		{"close", o.Close, http.MethodPost, &c.close},
		{"reverse", o.Reverse, http.MethodPost, &c.reverse},
	} {
		if r.to == &c.reverse && r.from.URL == "" && r.from.Method == "" && r.from.Body == "" && r.from.Headers == nil {
			break
		}
		*r.to = c.compile(bad, r.name, r.from, r.method)
		if *r.to != nil && slices.Contains((*r.to).names(), "ref_no") {
			bad.Add(r.name, "{ref_no} is for queues of kind poll")
		}
	}
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if c.reverse == nil {
		return c, nil
	}
	return reversing{c}, nil
}

// compile compiles a request and notes every mistake; nil: there is one.
func (c *Channel) compile(bad *bellman.Invalid, name string, from Request, method string) *request {
	r, wrong := compile(from, method)
	if len(wrong) == 0 {
		if err := c.checkSigned(r); err != nil {
			wrong = []error{err}
		}
	}
	for _, err := range wrong {
		bad.Note(name, err)
	}
	if len(wrong) > 0 {
		return nil
	}
	return r
}

// checkSigned returns an error if requests of this form cannot be signed.
func (c *Channel) checkSigned(r *request) error {
	if c.signer == nil {
		return nil
	}
	for _, h := range r.header {
		if slices.Contains(c.signer.Headers(), h.name) {
			return fmt.Errorf("headers.%s: set by the signature", h.name)
		}
	}
	var bad bellman.Invalid
	f := r.fill(r.sample(), &bad)
	if err := bad.Err(); err != nil {
		return err
	}
	if err := c.signer.Check(&sign.Message{Header: f.header, Query: f.query, Body: f.body}); err != nil {
		return fmt.Errorf("cannot be signed: %w", err)
	}
	return nil
}

// CheckOrder returns an *[bellman.Invalid] that names order_no, merchant_no or vars.NAME if a
// request about the order cannot be made.
func (c *Channel) CheckOrder(o *order.Order) error {
	bad := new(bellman.Invalid)
	for _, r := range []*request{c.query, c.close, c.reverse} {
		if r != nil {
			r.fill(o, bad)
		}
	}
	return bad.Err()
}

// Query sends the query template and reads the answer with States.
func (c *Channel) Query(ctx context.Context, o *order.Order) order.QueryAnswer {
	a := c.ask(ctx, c.query, o)
	if a.Result == bellman.Unknown { // the attempt was interrupted, so its result is unknown
		return order.QueryAnswer{Answer: a}
	}
	return c.checked(o, c.states.Read(a, ageOf(o, time.Now())))
}

// ageOf returns how old an order is, by which its failure can be final. While the order can be paid
// it is 0.
func ageOf(o *order.Order, now time.Time) time.Duration {
	if now.Before(o.Expires) {
		return 0
	}
	return now.Sub(o.Created)
}

// Close sends the close template and reads the answer with CloseStates.
func (c *Channel) Close(ctx context.Context, o *order.Order) order.CloseAnswer {
	return c.end(ctx, c.close, o)
}

// Reverse sends the reverse template and reads the answer with CloseStates.
func (c reversing) Reverse(ctx context.Context, o *order.Order) order.CloseAnswer {
	return c.end(ctx, c.reverse, o)
}

func (c *Channel) end(ctx context.Context, r *request, o *order.Order) order.CloseAnswer {
	a := c.ask(ctx, r, o)
	if a.Result == bellman.Unknown {
		return order.CloseAnswer{Answer: a}
	}
	return c.closeStates.Read(a)
}

// ask sends one request about an order.
func (c *Channel) ask(ctx context.Context, r *request, o *order.Order) order.Answer {
	bad := new(bellman.Invalid)
	f := r.fill(o, bad)
	err := bad.Err()
	if err == nil && c.signer != nil {
		// Each request gets an id of its own: a receiver would take a repeated id for a replay.
		m := sign.Message{ID: rand.Text(), Time: time.Now(), Header: f.header, Query: f.query, Body: f.body}
		if err = c.signer.Sign(&m); err != nil {
			err = fmt.Errorf("sign: %w", err)
		}
		f.query, f.body = m.Query, m.Body
	}
	var req *http.Request
	if err == nil {
		req, err = f.request(ctx, r)
	}
	if err != nil {
		return order.Answer{Result: bellman.Unreachable, Error: "not sent: " + err.Error()}
	}
	return exchange.Do(c.transport, req)
}

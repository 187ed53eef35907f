package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

// PollOptions are the options of a Poll. Query and States are required.
type PollOptions struct {
	Query   Request
	Request Request // zero: the refund is requested elsewhere

	States *states.Poll // reads the answer to Query

	// About evaluates to the number of the refund or transfer that an answer to Query is about; see
	// [Options]. It is compared with the RefNo. Give it if Query has neither {ref_no} nor a
	// {vars.NAME}: if an order has two refunds, the answer about one would decide the other.
	About *rule.Value

	Sign      sign.Config       // zero: requests are not signed
	Transport http.RoundTripper // nil: http.DefaultTransport
}

// A Poll sends the requests of its templates about refunds and transfers. It is safe for concurrent
// use.
type Poll struct {
	channel Channel
	query   *request
	request *request // nil: none
	states  *states.Poll
}

// requesting is a Poll with a template for the request.
type requesting struct{ *Poll }

var (
	_ poll.Channel    = (*Poll)(nil)
	_ poll.RefChecker = (*Poll)(nil)
	_ poll.Requester  = requesting{}
)

// NewPoll compiles the templates and reads the secrets. The channel is a [poll.Requester] if and
// only if Request is given. An error wraps a *[bellman.Invalid] that names every wrong part of a
// request.
func NewPoll(o PollOptions) (poll.Channel, error) {
	p := &Poll{channel: Channel{about: o.About, transport: cmp.Or(o.Transport, http.DefaultTransport)}, states: o.States}
	bad := new(bellman.Invalid)
	if o.States == nil {
		bad.Add("states", "is needed: without it no answer means anything")
	}
	var err error
	if p.channel.signer, err = sign.New(o.Sign); err != nil {
		bad.Note("sign", err)
	}
	p.query = p.channel.compile(bad, "query", o.Query, http.MethodGet)
	requests := o.Request.URL != "" || o.Request.Method != "" || o.Request.Body != "" || o.Request.Headers != nil
	if requests {
		p.request = p.channel.compile(bad, "request", o.Request, http.MethodPost)
	}
	if p.request != nil && !slices.Contains(p.request.names(), "ref_no") {
		bad.Add("request", "names no refund: want {ref_no} in its url, headers or body, so that the channel knows a repeat of it")
	}
	switch err := bad.Err(); {
	case err != nil:
		return nil, fmt.Errorf("gateway: %w", err)
	case requests:
		return requesting{p}, nil
	default:
		return p, nil
	}
}

// CheckRef returns an *[bellman.Invalid] that names ref_no, order_no, merchant_no or vars.NAME if a
// request cannot be made.
func (p *Poll) CheckRef(o *order.Order, request bool) error {
	bad := new(bellman.Invalid)
	p.query.fill(o, bad)
	if request && p.request != nil {
		p.request.fill(o, bad)
	}
	return bad.Err()
}

// Query sends the query template and reads the answer with States. An answer that About says to be
// about another refund is a query error.
func (p *Poll) Query(ctx context.Context, o *order.Order) poll.Answer {
	a := p.channel.ask(ctx, p.query, o)
	if a.Result == bellman.Unknown { // the attempt was interrupted
		return poll.Answer{Answer: a}
	}
	read := p.states.Read(a)
	if p.channel.about == nil || read.Reading == poll.QueryError {
		return read
	}
	no, err := p.channel.named(o, &order.QueryAnswer{Answer: read.Answer, Taken: read.Taken}, read.Reading.String())
	switch {
	case err == nil && no == o.RefNo, err != nil && read.Reading == poll.NotFound:
		return read
	case err == nil:
		err = fmt.Errorf("the answer is about %.40q", no)
	default:
		err = fmt.Errorf("the answer does not say what it is about: %w", err)
	}
	read.Answer.Result, read.Answer.Error = bellman.Refused, err.Error()
	return poll.Answer{Answer: read.Answer}
}

// Request sends the request template. The HTTP status alone says whether the channel took it.
func (p requesting) Request(ctx context.Context, o *order.Order) poll.RequestAnswer {
	return poll.ReadRequest(p.channel.ask(ctx, p.request, o))
}

package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/cause"
	"github.com/bellmanhq/bellman/rule"
)

var (
	_ bellman.Handler = (*Handler)(nil)
	_ bellman.Checker = (*Handler)(nil)
	_ bellman.Router  = (*Handler)(nil)
)

// Rules of a notify queue.
type Rules struct {
	// URL is the address of tasks that have none, read at each attempt. It is trusted: the guard
	// does not check it, and it is reached without the proxy. The same holds for a task that names
	// the same URL.
	URL string

	Method  string      // of tasks that have none; default POST
	Success string      // rule for accepted answers, of tasks that have none; default success_text
	Sign    sign.Config // the zero Config: requests are not signed

	// Merchants returns the merchants that tasks name. nil: there are none.
	Merchants Merchants

	// PropagateTrace sends the headers traceparent and tracestate of the attempt's span. They
	// override those of the task.
	PropagateTrace bool

	// Brokers that tasks may be sent to. URL may be the address of a broker.
	Schemes     Schemes               // of their addresses; nil: there are no brokers
	Connections map[string]Connection // by the names in their addresses
	Own         []string              // the connections that a task may name in its address; none: a task may not name a broker

	// Attempted is called after each attempt of a task that names a merchant. It is not called for
	// attempts that were cut off, not sent, or made through a broker. Calls may be concurrent. nil:
	// nothing is called.
	Attempted func(merchantNo string, accepted bool)
}

// A Handler makes the attempts of one queue. It is safe for concurrent use.
type Handler struct {
	client *Client
	home   *address // the queue's own; nil: none
	url    string   // home as it was given
	method string
	rule   *rule.Rule
	text   string      // of rule
	signer sign.Signer // nil: none

	schemes     Schemes
	connections map[string]Connection
	own         []string
	homeBroker  *BrokerURL // the queue's own, if that is a broker's; then home is nil

	merchants Merchants // nil: none
	propagate bool
	attempted func(merchantNo string, accepted bool) // nil: not called
}

// Handler returns the handler of a queue with these rules. The secrets are read now. An error wraps
// a *[bellman.Invalid] that names every wrong rule as the configuration does, and contains no
// secret.
func (c *Client) Handler(r Rules) (*Handler, error) {
	h := &Handler{
		client: c, url: r.URL, method: cmp.Or(r.Method, http.MethodPost), text: cmp.Or(r.Success, "success_text"),
		schemes: r.Schemes, connections: r.Connections, own: r.Own,
		merchants: r.Merchants, propagate: r.PropagateTrace, attempted: r.Attempted,
	}
	bad := new(bellman.Invalid)
	if !isMethod(h.method) {
		bad.Add("method", wantMethod)
	}
	var err error
	switch {
	case h.schemes.Has(r.URL):
		home, wrong := h.schemes.Parse(r.URL)
		if err = wrong; err == nil {
			_, err = h.find(&home)
		}
		h.homeBroker = &home
	case r.URL != "":
		var a address
		a, err = parseAddress(r.URL)
		h.home = &a
	}
	if err != nil {
		bad.Note("url", err)
	}
	if h.rule, err = c.rules.Compile(h.text); err != nil {
		bad.Note("success", err)
	}
	if h.signer, err = sign.New(r.Sign); err != nil {
		bad.Note("sign", err)
	}
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("deliver: %w", err)
	}
	return h, nil
}

// Attempt sends task once, as a request or as a message to a broker, and judges the answer. If the
// guard refuses the address, the result is Blocked and the task is retried on its schedule, because
// the name may resolve to another address later.
func (h *Handler) Attempt(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
	if to, err := h.broker(task); err != nil {
		return unsent("url: " + err.Error())
	} else if to != nil {
		return h.publish(ctx, task, number, to)
	}
	v := h.request(ctx, task, number)
	if h.attempted != nil && task.MerchantNo != "" && !v.Unsent && !errors.Is(ctx.Err(), context.Canceled) {
		h.attempted(task.MerchantNo, v.Result == bellman.Accepted)
	}
	return v
}

// request makes one request over HTTP.
func (h *Handler) request(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
	d, refused := h.prepare(ctx, task)
	if refused != nil {
		return *refused
	}
	if !h.client.timed {
		return h.send(ctx, task, number, d)
	}
	ctx, watch := newStopwatch(ctx, d.to.url.Scheme == "https")
	v := h.send(ctx, task, number, d)
	v.Timing = watch.stop()
	return v
}

// A delivery is where and how a task is sent, by the rules of its queue and its merchant.
type delivery struct {
	to        address
	judge     *rule.Rule
	signer    sign.Signer
	transport http.RoundTripper
}

// prepare returns the delivery of a task, or the verdict if it cannot be sent.
//
//go:noinline
func (h *Handler) prepare(ctx context.Context, task *bellman.Task) (d delivery, refused *bellman.Verdict) {
	refuse := func(v bellman.Verdict) (delivery, *bellman.Verdict) { return delivery{}, &v }
	m, err := h.merchant(ctx, task)
	if err != nil {
		return refuse(unsent("merchant: " + cause.Line(err.Error())))
	}
	var trusted bool
	if d.to, trusted, err = h.address(task, &m); err != nil {
		return refuse(unsent("url: " + err.Error()))
	}
	if d.judge, err = h.ruleOf(task, &m); err != nil {
		return refuse(bellman.Verdict{Result: bellman.Refused, Error: "not sent: success: " + cause.Line(err.Error()), Unsent: true})
	}
	if d.signer, err = h.signerOf(&m); err != nil {
		return refuse(unsent("sign: " + cause.Line(err.Error())))
	}
	if trusted {
		d.transport = h.client.trusted
		return d, nil
	}
	d.transport = h.client.guarded
	if err := h.client.admit(ctx, d.to); err != nil {
		return refuse(fault(ctx, err, d.to, ""))
	}
	return d, nil
}

// send signs and sends one request, and judges its answer. The functions that it calls are not
// inlined. So their frames are not on the stacks of the attempts that wait for an answer, perhaps
// thousands.
func (h *Handler) send(ctx context.Context, task *bellman.Task, number int, d delivery) bellman.Verdict {
	method := cmp.Or(task.Method, h.method)
	m, err := h.message(ctx, task, number, d.to.url.RawQuery, method == http.MethodGet, d.signer)
	if err != nil {
		return unsent("sign: " + err.Error())
	}
	resp, err := d.transport.RoundTrip(h.client.request(ctx, method, d.to, &m))
	if err != nil {
		return fault(ctx, err, d.to, "")
	}
	buf := buffers.Get().(*buffer)
	defer buf.free()
	if err := buf.read(resp); err != nil {
		v := fault(ctx, err, d.to, fmt.Sprintf("the answer broke off after %d bytes: ", len(buf.b)))
		v.Status, v.Response, v.Header = resp.StatusCode, excerpt(buf.b), headerText(resp.Header)
		return v
	}
	return verdict(d.judge, &rule.Answer{Status: resp.StatusCode, Body: buf.b, Header: resp.Header, Attempt: number})
}

// unsent is the verdict of an attempt that sent nothing.
func unsent(why string) bellman.Verdict {
	return bellman.Verdict{Result: bellman.Unreachable, Error: "not sent: " + why, Unsent: true}
}

// admit asks the guard about an address before a connection is made.
func (c *Client) admit(ctx context.Context, to address) error {
	if r := to.refuse(&c.guard); r != nil {
		return r
	}
	if c.proxied && !to.addr.IsValid() && (!c.guard.off || c.guard.deny != nil) {
		return c.guard.resolve(ctx, c.resolver, to.host)
	}
	return nil
}

// verdict judges an answer. It is not inlined: see send.
//
//go:noinline
func verdict(r *rule.Rule, a *rule.Answer) bellman.Verdict {
	v := bellman.Verdict{Status: a.Status, Response: excerpt(a.Body), Throttled: rule.Throttles(a.Status)}
	accepted, err := r.Accepts(a)
	switch {
	case accepted:
		v.Next, v.Result = bellman.Succeed, bellman.Accepted
		return v
	case err != nil:
		v.Result, v.Error = bellman.Refused, "success: "+cause.Line(err.Error())
	case a.Status >= 300:
		v.Result, v.Error = bellman.ErrorStatus, cause.Redirect(a.Status, a.Header)
	default:
		v.Result, v.Error = bellman.Refused, cause.Encoded(a.Header)
	}
	v.Header = headerText(a.Header)
	if rule.Permanent(a.Status) {
		v.Next, v.Reason = bellman.GiveUp, "gave_up"
		return v
	}
	v.RetryAfter, _ = rule.RetryAfter(a.Status, a.Header, time.Now())
	return v
}

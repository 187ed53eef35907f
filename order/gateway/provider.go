package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/states"
)

// The providers whose protocol is known: what they are asked, how requests are signed, how answers
// and notices are verified, and what they mean.
const (
	WeChatV2 = "wechatpay_v2" // WeChat Pay, API v2
	UnionPay = "unionpay"     // UnionPay (银联), gateway 5.1.0
	Stripe   = "stripe"       // Stripe, PaymentIntents
	Antom    = "antom"        // Antom (Alipay+), payments v1
)

// Providers lists the names of the providers.
func Providers() []string { return []string{WeChatV2, UnionPay, Stripe, Antom} }

// ProviderOptions are one account at a provider. Each provider has the fields that its comment
// names.
type ProviderOptions struct {
	Provider string // one of Providers
	BaseURL  string // default: the provider's usual address

	// MerchantID is mch_id of wechatpay_v2, merId of unionpay, Client-Id of antom. Of stripe it is
	// the connected account (acct_…) for which a platform acts; empty: the key's own account.
	MerchantID    string
	SubMerchantID string // wechatpay_v2: the merchant of a service provider; empty: the merchant itself
	AppID         string // wechatpay_v2

	// Keys are the API keys of wechatpay_v2, newest first: the first signs, each verifies, so that
	// they can change. Of stripe it is the one secret key (sk_… or rk_…).
	Keys     []sign.Secret
	SignType string // wechatpay_v2: of requests, HMAC-SHA256 or MD5; default HMAC-SHA256

	PrivateKey sign.Secret // unionpay and antom: of the merchant

	// Certificate is the merchant's signing certificate at unionpay.
	Certificate sign.Secret

	// Roots are the certificates, in PEM, that unionpay's answers must lead to: root and middle
	// certificates. A certificate that signs answers itself may stand among them, too.
	Roots sign.Secret

	PayTimeout time.Duration // unionpay: of the orders; before it a failure is not final. Default 2h

	PublicKeys    []sign.Secret // antom: Antom's, several while they change
	KeyVersion    int           // antom: of PrivateKey; default 1
	NoticeSecrets []sign.Secret // stripe: whsec_…, several while they change; none: there are no notices

	// NoticePath is the path of the address at which antom reaches this server, such as
	// /notices/orders. Antom signs it.
	NoticePath string

	Transport http.RoundTripper // nil: http.DefaultTransport
	Now       func() time.Time  // nil: time.Now
}

// A call is what a provider is asked for.
type call uint8

const (
	callQuery  call = iota // how an order stands
	callClose              // that nobody can pay it any more
	callRefund             // how a refund stands
)

// A protocol is how one provider writes, signs and verifies. Its methods are called concurrently.
type protocol interface {
	// check adds to bad what the provider cannot be asked about.
	check(c call, o *order.Order, bad *bellman.Invalid)

	// request makes a signed request. o has passed check.
	request(ctx context.Context, c call, o *order.Order, now time.Time) (*http.Request, error)

	// open says why an answer does not count: it is not the provider's, or about another order or
	// account. nil: it counts.
	open(c call, o *order.Order, a *order.Answer, now time.Time) error

	// notice verifies a notice. The results are those of [order.NoticeReader].
	notice(raw *order.RawNotice) (t telling, hint string, err error)

	// answer is what the provider expects to a notice.
	answer(accepted bool) order.NoticeAnswer
}

// A telling is what a verified notice says.
type telling struct {
	id             string
	of             order.NoticeOf
	orderNo, refNo string
	outcome        string // of a refund: that of [order.Notice]

	// body is the content. Of a payment it is written as the answer to a query of the same payment,
	// so that the same rules read both.
	body []byte

	ask   string // why a payment's notice decides nothing and causes a query; empty: body is read
	err   error  // why it cannot be used, although the provider sent it
	other bool   // err is that it is about something else
}

// errNoCall says that a provider has no such call.
var errNoCall = errors.New("UnionPay closes no order: an order ends at its own pay timeout")

// A Provider is one account at a provider. It is safe for concurrent use. Printing it shows no
// secret.
type Provider struct {
	protocol  protocol
	query     *states.Query
	close     *states.Close
	transport http.RoundTripper
	now       func() time.Time
}

var (
	_ order.Channel      = (*Provider)(nil)
	_ order.OrderChecker = (*Provider)(nil)
	_ order.NoticeReader = (*Provider)(nil)
)

// defaults of the providers: the usual address, the preset of states for orders, and that for
// refunds.
var providers = map[string]struct{ base, states, refund string }{
	WeChatV2: {"https://api.mch.weixin.qq.com", "wechat_v2", "wechat_v2_refund"},
	UnionPay: {"https://gateway.95516.com", "unionpay", "unionpay_refund"},
	Stripe:   {"https://api.stripe.com", "stripe", "stripe_refund"},
	Antom:    {"https://open-sea-global.alipay.com", "antom", "antom_refund"},
}

// NewProvider returns the channel of one account. The keys are read now. An error wraps a
// *[bellman.Invalid] that names every wrong option as the configuration does (mch_id for MerchantID of WeChat Pay), and
// contains no key.
func NewProvider(o ProviderOptions) (*Provider, error) {
	known, is := providers[o.Provider]
	if !is {
		return nil, fmt.Errorf("gateway: provider: %.40q is not one of %s", o.Provider, strings.Join(Providers(), ", "))
	}
	p := &Provider{transport: cmp.Or(o.Transport, http.DefaultTransport), now: o.Now}
	if p.now == nil {
		p.now = time.Now
	}
	bad := new(bellman.Invalid)
	base, err := baseOf(cmp.Or(o.BaseURL, known.base))
	if err != nil {
		bad.Note("url", err)
		base = new(url.URL)
	}
	p.protocol = protocolOf(base, o, bad)
	preset := known.states
	if o.Provider == UnionPay && o.PayTimeout != 0 {
		preset += " " + o.PayTimeout.String()
	}
	if p.query, err = states.CompileQuery(preset); err != nil {
		bad.Note("pay_timeout", err)
	}
	if p.close, err = states.CompileClose(known.states); err != nil {
		return nil, fmt.Errorf("gateway: %s: %w", o.Provider, err)
	}
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("gateway: %s: %w", o.Provider, err)
	}
	return p, nil
}

// protocolOf returns the protocol of a provider, and notes every wrong option.
func protocolOf(base *url.URL, o ProviderOptions, bad *bellman.Invalid) protocol {
	switch o.Provider {
	case WeChatV2:
		return newWeChatV2(base, o, bad)
	case UnionPay:
		return newUnionPay(base, o, bad)
	case Stripe:
		return newStripe(base, o, bad)
	default:
		return newAntom(base, o, bad)
	}
}

// baseOf reads the address of a provider.
func baseOf(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("want an address without a query, such as https://api.example.com")
	}
	return u, nil
}

// private reports whether what is sent to an address can be read by nobody on the way: by https, or
// on this machine.
func private(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// CheckOrder returns an *[bellman.Invalid] if the provider cannot have such an order, or if a
// variable is missing.
func (p *Provider) CheckOrder(o *order.Order) error {
	bad := new(bellman.Invalid)
	p.protocol.check(callQuery, o, bad)
	return bad.Err()
}

// Query asks for the state of an order. An answer that cannot be verified, or is about another
// order, is a query error.
func (p *Provider) Query(ctx context.Context, o *order.Order) order.QueryAnswer {
	a, err := p.ask(ctx, callQuery, o)
	age := ageOf(o, p.now())
	if err != nil { // an unsigned word can slow us down and not decide
		a.Throttled = p.query.Read(a, age).Throttled
		return order.QueryAnswer{Answer: exchange.Unread(a, err)}
	}
	return p.query.Read(a, age)
}

// Close asks that nobody can pay an order any more. UnionPay has no such call.
func (p *Provider) Close(ctx context.Context, o *order.Order) order.CloseAnswer {
	a, err := p.ask(ctx, callClose, o)
	if err != nil {
		a.Throttled = p.close.Read(a).Throttled
		return order.CloseAnswer{Answer: exchange.Unread(a, err)}
	}
	return p.close.Read(a)
}

// Cancels reports whether Close gives the money of a payment back: Antom's does.
func (p *Provider) Cancels() bool {
	_, is := p.protocol.(*antomPay)
	return is
}

// ask sends one request. An error says why nothing was sent, or why the answer cannot count.
func (p *Provider) ask(ctx context.Context, c call, o *order.Order) (order.Answer, error) {
	bad := new(bellman.Invalid)
	p.protocol.check(c, o, bad)
	err := bad.Err()
	var req *http.Request
	if err == nil {
		req, err = p.protocol.request(ctx, c, o, p.now())
	}
	if err != nil {
		return order.Answer{Result: bellman.Blocked}, fmt.Errorf("not sent: %w", err)
	}
	switch a := exchange.Do(p.transport, req); a.Result {
	case bellman.Accepted, bellman.ErrorStatus:
		return a, p.protocol.open(c, o, &a, p.now())
	case bellman.Refused, bellman.Unknown: // Unknown: it was cut off, perhaps behind its text
		return a, errors.New("the answer is not whole")
	default: // there is no answer, and it says so itself
		return a, nil
	}
}

// ReadNotice verifies a notice over its raw bytes, and checks that it is for this account.
func (p *Provider) ReadNotice(raw *order.RawNotice) (items []order.Notice, hint string, err error) {
	if len(raw.Body) > order.MaxBody {
		return nil, "", fmt.Errorf("the notice has more than %d bytes", order.MaxBody)
	}
	t, hint, err := p.protocol.notice(raw)
	if err != nil {
		return nil, asHint(hint), fmt.Errorf("the notice cannot be trusted: %w", err)
	}
	n := order.Notice{ID: t.id, Of: t.of, OrderNo: t.orderNo, RefNo: t.refNo, Outcome: t.outcome, Err: t.err, Other: t.other,
		Answer: order.Answer{Result: bellman.Accepted, Status: http.StatusOK, Body: t.body}}
	switch {
	case t.err != nil:
	case t.of == order.OfPayment && t.orderNo == "", t.of == order.OfRefund && t.refNo == "":
		n.Err = errors.New("the notice does not say what it is about")
	case t.ask != "":
		n.Answer.Result, n.Answer.Error = bellman.Refused, t.ask
	case t.of == order.OfPayment:
		read := p.query.Read(n.Answer, 0)
		n.Answer, n.Reading, n.Taken = read.Answer, read.Reading, read.Taken
	}
	return []order.Notice{n}, "", nil
}

// AnswerNotice returns the answer that the provider expects.
func (p *Provider) AnswerNotice(accepted bool, _ string) order.NoticeAnswer {
	return p.protocol.answer(accepted)
}

// Certificates returns the end of validity of the certificates that expire, by their option's name.
func (p *Provider) Certificates() map[string]time.Time {
	if u, is := p.protocol.(*unionPay); is {
		return map[string]time.Time{"certificate": u.expires}
	}
	return nil
}

// plain returns the answer to a notice that is a text.
func plain(accepted bool, yes, no string) order.NoticeAnswer {
	a := order.NoticeAnswer{Status: http.StatusBadRequest, ContentType: typeText, Body: no}
	if accepted {
		a.Status, a.Body = http.StatusOK, yes
	}
	return a
}

// checkNumber adds the number of an order or refund to bad if the provider cannot have it.
func checkNumber(c call, o *order.Order, bad *bellman.Invalid, valid *regexp.Regexp, want string) {
	field, no := "order_no", o.OrderNo
	if c == callRefund {
		field, no = "ref_no", o.RefNo
	}
	if !valid.MatchString(no) {
		bad.Add(field, want)
	}
}

// textAt returns the text at a path of names; empty if there is none.
func textAt(fields map[string]any, path ...string) string {
	var value any = fields
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, _ := value.(string)
	return text
}

// isAbout says why an answer is about another thing than was asked; nil: it is about that. An
// answer that decides must name it.
func isAbout(what, said, asked string, decides bool) error {
	if said != asked && (said != "" || decides) {
		return fmt.Errorf("the answer is about the %s %.70q", what, said)
	}
	return nil
}

package deliver

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/rule"
)

// Merchants returns the merchants that tasks name.
type Merchants interface {
	// Merchant returns the current settings of a merchant; the zero Merchant if there is none with
	// that number. An error means that the merchant cannot be read now. It is called at each
	// attempt.
	Merchant(ctx context.Context, no string) (Merchant, error)
}

// A Merchant overrides a queue's rules for the tasks that name it. A zero field leaves the queue's
// rule.
type Merchant struct {
	Known bool   // there is such a merchant; only errors depend on it
	URL   string // address of tasks that have none; the guard checks it

	Signer sign.Signer // may be of a scheme of your own; nil: the queue's
	Unable error       // why nothing can sign for the merchant; then nothing is sent

	// For tasks whose caller did not set them; see bellman.Task.Inherited.
	Success, Schedule string
	Timeout           time.Duration

	// Limits of its endpoint; 0: none. Rate is in attempts a second.
	Concurrency int
	Rate        float64
}

// merchant reads the merchant that a task names.
func (h *Handler) merchant(ctx context.Context, task *bellman.Task) (Merchant, error) {
	if h.merchants == nil || task.MerchantNo == "" {
		return Merchant{}, nil
	}
	return h.merchants.Merchant(ctx, task.MerchantNo)
}

// address returns the address of a task: its own, otherwise its merchant's, otherwise the queue's.
// trusted means that it is the queue's.
func (h *Handler) address(task *bellman.Task, m *Merchant) (a address, trusted bool, err error) {
	url := task.URL
	if url == "" {
		url = m.URL
	}
	switch {
	case h.home != nil && (url == "" || task.URL == h.url):
		return *h.home, true, nil
	case url == "":
		return address{}, false, h.nowhere(task, m)
	}
	a, err = h.client.addresses.parse(url)
	if err != nil && task.URL == "" {
		err = coded.Errorf("url.of_merchant", "of merchant %s: %w", task.MerchantNo, err)
	}
	return a, false, err
}

// nowhere says why a task has no address.
func (h *Handler) nowhere(task *bellman.Task, m *Merchant) error {
	switch {
	case h.merchants == nil || task.MerchantNo == "":
		return errNoURL
	case m.Known:
		return coded.Errorf("url.merchant_none", "required: the task names none, its merchant %s has no notify_url, and its queue has none", task.MerchantNo)
	}
	return coded.Errorf("url.no_merchant", "required: the task names none, there is no merchant %s that has one, and its queue has none", task.MerchantNo)
}

var errNoURL = coded.Errorf("url.required", "required: the task names none, and its queue has none")

// ruleOf returns the rule that judges the answers of a task: its own, otherwise its merchant's,
// otherwise the queue's.
func (h *Handler) ruleOf(task *bellman.Task, m *Merchant) (*rule.Rule, error) {
	text := task.Success
	if m.Success != "" && (text == "" || task.Inherited.Has(bellman.InheritedSuccess)) {
		text = m.Success
	}
	if text == "" || text == h.text {
		return h.rule, nil
	}
	return h.client.rules.Compile(text)
}

// signerOf returns the signer of a merchant, otherwise the queue's; nil: requests are not signed.
func (h *Handler) signerOf(m *Merchant) (sign.Signer, error) {
	switch {
	case m.Unable != nil:
		return nil, m.Unable
	case m.Signer != nil:
		return m.Signer, nil
	}
	return h.signer, nil
}

// Route returns the current rules of the task's merchant, which override the queue's. It returns
// the endpoint and its limits only for a task that goes to its merchant's address.
func (h *Handler) Route(ctx context.Context, task *bellman.Task) (bellman.Route, error) {
	m, err := h.merchant(ctx, task)
	if err != nil {
		return bellman.Route{}, err
	}
	g := bellman.Route{Schedule: m.Schedule, Success: m.Success, Timeout: m.Timeout}
	if task.URL == "" {
		g.URL = m.URL
	}
	if !bellman.ToMerchant(task.Endpoint) {
		return g, nil
	}
	if to, trusted, err := h.address(task, &m); err == nil {
		g.Endpoint = to.endpoint
		if !trusted {
			g.Concurrency, g.Rate = m.Concurrency, m.Rate
		}
	}
	return g, nil
}

// SameAddress reports whether two URLs have the same scheme, host, port and path. The query does
// not count. An invalid URL is the same as no other.
func SameAddress(a, b string) bool {
	x, err := parseAddress(a)
	if err != nil {
		return false
	}
	y, err := parseAddress(b)
	return err == nil && x.endpoint == y.endpoint && pathOf(x.url) == pathOf(y.url)
}

// pathOf returns the path of a request to a URL.
func pathOf(u *url.URL) string { return cmp.Or(u.EscapedPath(), "/") }

// CheckURL returns why requests cannot be sent to an address of a task or merchant, as far as its
// text shows; nil: it shows no reason. It resolves no name.
func (c *Client) CheckURL(url string) error {
	to, err := parseAddress(url)
	if err != nil {
		return err
	}
	if r := to.refuse(&c.guard); r != nil {
		return refused(r)
	}
	return nil
}

// refused returns the error of an address that the guard refuses.
func refused(r *refusal) error {
	return coded.Errorf("url.guarded", "%w: want a public address, or one that egress.allow lets through", r)
}

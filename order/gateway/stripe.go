package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/order/states"
)

// stripePay is Stripe with PaymentIntents. An order's number there is that of its PaymentIntent,
// which Stripe makes: pi_…. A refund's is re_…. Sources:
//
//   - docs.stripe.com/api/payment_intents (retrieve, cancel), api/refunds (retrieve), api/authentication (a
//     bearer key over HTTPS), api/versioning, api/connected-accounts (Stripe-Account)
//   - docs.stripe.com/changelog/2022-11-15: latest_charge; 2024-10-28.acacia: refund.created, .updated, .failed
//   - docs.stripe.com/webhooks: the signature, which package sign verifies; api/events/object: account,
//     livemode
//
// Stripe signs no answer: that an answer is Stripe's is what TLS says, and nothing more.
//
// Not confirmed: that an event of a connected account always has account (documented), and none of
// the own account ever has (seen in examples only).
type stripePay struct {
	base    *url.URL
	account string
	live    string // "true" or "false", as livemode is; empty: the key does not say

	key      func() string  // a function, so that nothing prints it
	verifier *sign.Verifier // nil: there are no notices
}

// stripeVersion is the shape of the answers that is asked for, whatever the account's default is.
const stripeVersion = "2024-06-20"

func newStripe(base *url.URL, o ProviderOptions, bad *bellman.Invalid) protocol {
	s := &stripePay{base: base, account: o.MerchantID}
	if !private(base) && base.Host != "" {
		bad.Add("url", "want https, because only TLS says that an answer is Stripe's")
	}
	if s.account != "" && !strings.HasPrefix(s.account, "acct_") {
		bad.Add("stripe_account", "want acct_…")
	}
	text, err := stripeKey(o.Keys)
	if err != nil {
		bad.Note("secret_key", err)
	}
	s.key = func() string { return text }
	_, kind, _ := strings.Cut(text, "_")
	switch kind, _, _ := strings.Cut(kind, "_"); kind {
	case "live":
		s.live = "true"
	case "test":
		s.live = "false"
	}
	if len(o.NoticeSecrets) > 0 {
		if s.verifier, err = sign.NewVerifier(sign.VerifyConfig{Scheme: sign.Stripe, Secrets: o.NoticeSecrets}); err != nil {
			bad.Note("webhook_secrets", err)
		}
	}
	return s
}

// stripeKey returns the only key of several secrets.
func stripeKey(secrets []sign.Secret) (string, error) {
	if len(secrets) != 1 {
		return "", errors.New("want one, sk_… or rk_…")
	}
	key, err := secrets[0].Resolve()
	if err != nil {
		return "", err
	}
	text := string(key)
	if !strings.HasPrefix(text, "sk_") && !strings.HasPrefix(text, "rk_") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("want a secret or restricted key, sk_… or rk_…")
	}
	return text, nil
}

var (
	stripeNo    = regexp.MustCompile(`^pi_[0-9A-Za-z]{1,100}$`)
	stripeRefNo = regexp.MustCompile(`^(re|pyr)_[0-9A-Za-z]{1,100}$`)
)

func (s *stripePay) check(c call, o *order.Order, bad *bellman.Invalid) {
	if c == callRefund {
		checkNumber(c, o, bad, stripeRefNo, "want the number that Stripe gave the refund, re_…")
		return
	}
	checkNumber(c, o, bad, stripeNo, "Stripe knows an order by its PaymentIntent: want pi_… as channel_order_no")
}

func (s *stripePay) request(ctx context.Context, c call, o *order.Order, _ time.Time) (*http.Request, error) {
	method, path, query := http.MethodGet, "/v1/payment_intents/"+o.OrderNo, url.Values{"expand[]": {"latest_charge"}}.Encode()
	switch c {
	case callClose:
		method, path, query = http.MethodPost, path+"/cancel", ""
	case callRefund:
		path, query = "/v1/refunds/"+o.RefNo, ""
	}
	at := s.base.JoinPath(path)
	at.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, method, at.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Authorization", "Bearer "+s.key())
	req.Header.Set("Stripe-Version", stripeVersion)
	if s.account != "" {
		req.Header.Set("Stripe-Account", s.account)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", typeForm)
	}
	return req, nil
}

func (s *stripePay) open(c call, o *order.Order, a *order.Answer, _ time.Time) error {
	fields, err := states.ParseJSON(a.Body)
	if err != nil {
		return err
	}
	if fields["error"] != nil { // an error of a PaymentIntent has it inside
		return isAbout("PaymentIntent", textAt(fields, "error", "payment_intent", "id"), o.OrderNo, false)
	}
	if err := s.mode(fields); err != nil {
		return fmt.Errorf("the answer is not for this account: %w", err)
	}
	if c == callRefund {
		return isAbout("refund", textAt(fields, "id"), o.RefNo, true)
	}
	return isAbout("PaymentIntent", textAt(fields, "id"), o.OrderNo, true)
}

// mode says why an object is not of the key's mode; nil: it is. A refund does not say.
func (s *stripePay) mode(fields map[string]any) error {
	if said, is := fields["livemode"].(bool); is && s.live != "" && fmt.Sprint(said) != s.live {
		return fmt.Errorf("its livemode is %v: want %s, the mode of secret_key", said, s.live)
	}
	return nil
}

func (s *stripePay) notice(raw *order.RawNotice) (t telling, hint string, err error) {
	if s.verifier == nil {
		return t, "", errors.New("the queue has no webhook_secrets")
	}
	event, err := states.ParseJSON(raw.Body)
	if err != nil {
		return t, "", err
	}
	object, _ := event["data"].(map[string]any)
	object, _ = object["object"].(map[string]any)
	kind, id := textAt(object, "object"), textAt(object, "id")
	if err := s.verifier.Verify(raw.Header, raw.Body, raw.At); err != nil {
		if kind == "payment_intent" {
			hint = id
		}
		return t, hint, err
	}
	switch said := textAt(event, "account"); {
	case said == s.account:
	case s.account == "":
		return t, "", fmt.Errorf("it is for the connected account %.40q: without stripe_account, want the account of secret_key alone", said)
	default:
		return t, "", fmt.Errorf("it is for the account %.40q: want %.40q", said, s.account)
	}
	if err := s.mode(event); err != nil {
		return t, "", err
	}
	t = telling{id: textAt(event, "id")}
	switch kind {
	case "payment_intent":
		t.of, t.orderNo = order.OfPayment, id
	case "charge":
		t.of, t.orderNo = order.OfPayment, textAt(object, "payment_intent")
		if object = asIntent(object); object == nil {
			t.ask = fmt.Sprintf("%.60q: only an answer to a query says how the order stands", textAt(event, "type"))
		}
	case "refund":
		t.of, t.orderNo, t.refNo = order.OfRefund, textAt(object, "payment_intent"), id
		t.outcome = states.Outcome("stripe_refund", textAt(object, "status"))
	default:
		t.err, t.other = fmt.Errorf("the notice is of %.60q, and not of a payment or refund", textAt(event, "type")), true
	}
	if t.body, err = wire.Marshal(object); err != nil {
		t.err = err
	}
	return t, "", nil
}

// asIntent writes a charge that was refunded (charge.refunded) as a query of its PaymentIntent
// answers it; nil: it is another.
func asIntent(charge map[string]any) map[string]any {
	refunded, captured := fmt.Sprint(charge["amount_refunded"]), charge["captured"] == true
	if charge["status"] != "succeeded" || !captured || strings.Trim(refunded, "0") == "" {
		return nil
	}
	return map[string]any{"object": "payment_intent", "id": charge["payment_intent"], "status": "succeeded", "currency": charge["currency"],
		"amount_received": charge["amount_captured"], "latest_charge": map[string]any{"amount_refunded": charge["amount_refunded"]}}
}

func (s *stripePay) answer(accepted bool) order.NoticeAnswer {
	return plain(accepted, "success", "fail")
}

package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
)

const (
	stripeKey    = "sk_test_4eC39HqLyjWDarjtT1zdp7dc"
	stripeSecret = "whsec_test_secret"
	stripePaid   = `{"id":"pi_3MtwBwLkdIwHu7ix28a3tqPa","object":"payment_intent","amount":2000,"amount_received":2000,"currency":"usd","livemode":false,"status":"succeeded","latest_charge":{"id":"ch_1","amount_refunded":0}}`
	stripeBack   = `{"id":"re_1Nispe2eZvKYlo2Cd31jOCgZ","object":"refund","amount":88,"charge":"ch_1","currency":"usd","payment_intent":"pi_3MtwBwLkdIwHu7ix28a3tqPa","status":"succeeded"}`
	stripeCharge = `{"id":"ch_1","object":"charge","amount":2000,"amount_captured":2000,"amount_refunded":88,"captured":true,"currency":"usd","payment_intent":"pi_3MtwBwLkdIwHu7ix28a3tqPa","status":"succeeded"}`
)

func stripeOptions(url string) gateway.ProviderOptions {
	return gateway.ProviderOptions{Provider: gateway.Stripe, BaseURL: url, Keys: secrets(stripeKey), NoticeSecrets: secrets("whsec_newer_secret", stripeSecret)}
}

// replaced replaces a part of a text that is there.
func replaced(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic(pairs[i] + " is not in " + text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestStripeAnswers(t *testing.T) {
	p := newPlatform(t)
	connected := stripeOptions(p.URL)
	connected.MerchantID = "acct_1"
	channel, refunds := providerOf(t, stripeOptions(p.URL)), refundsOf(t, stripeOptions(p.URL))
	const taken = `{"amount":2000,"currency":"USD","transaction_id":"pi_3MtwBwLkdIwHu7ix28a3tqPa"}`
	unexpected := func(status string) string {
		return `{"error":{"code":"payment_intent_unexpected_state","payment_intent":{"id":"pi_3MtwBwLkdIwHu7ix28a3tqPa","object":"payment_intent","status":"` + status + `"}}}`
	}
	for _, tt := range []struct {
		what        string
		account     string
		status      int
		body        string
		want, taken string
		why         string
	}{
		{"query", "", 200, stripePaid, "PAID", taken, ""},
		{"query", "acct_1", 200, stripePaid, "PAID", taken, ""},
		{"query", "", 200, replaced(stripePaid, `"amount_refunded":0`, `"amount_refunded":88`), "PAID_REFUNDED", taken, ""},
		{"query", "", 200, replaced(stripePaid, `"usd"`, `"jpy"`), "PAID", replaced(taken, "USD", "JPY"), ""},
		{"query", "", 200, replaced(stripePaid, `"usd"`, `"ugx"`), "PAID", replaced(taken, "2000", "20", "USD", "UGX"), ""}, // Stripe writes it with two decimals
		{"query", "", 200, replaced(stripePaid, `"usd"`, `"mga"`), "PAID", replaced(taken, "2000", "200000", "USD", "MGA"), ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"requires_payment_method"`), "PENDING", "null", ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"requires_confirmation"`), "PENDING", "null", ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"requires_action"`), "PENDING", "null", ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"requires_capture"`), "PENDING", "null", ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"processing"`), "PENDING", "null", ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"canceled"`), "CLOSED", "null", ""},
		{"query", "", 200, replaced(stripePaid, `"succeeded"`, `"new"`), "QUERY_ERROR", "null", `status is "new"`},
		{"query", "", 404, `{"error":{"code":"resource_missing"}}`, "NOT_FOUND", "null", ""},
		{"query", "", 429, `{"error":{"code":"rate_limit"}}`, "QUERY_ERROR", "null", "rate_limit"},
		{"query", "", 401, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided"}}`, "QUERY_ERROR", "null", "error.code"},
		{"query", "", 500, stripePaid, "QUERY_ERROR", "null", "HTTP status 500"},
		{"query", "", 200, replaced(stripePaid, "28a3tqPa", "28a3tqPb"), "QUERY_ERROR", "null", "about the PaymentIntent"},
		{"query", "", 200, replaced(stripePaid, `"livemode":false`, `"livemode":true`), "QUERY_ERROR", "null", "its livemode is true: want false, the mode of secret_key"},
		{"query", "", 200, replaced(stripePaid, `"currency"`, `"status":"canceled","currency"`), "QUERY_ERROR", "null", "there twice"},
		{"query", "", 200, stripePaid[:80], "QUERY_ERROR", "null", "not JSON"},

		{"close", "", 200, replaced(stripePaid, `"succeeded"`, `"canceled"`), "closed", "null", ""},
		{"close", "", 400, unexpected("succeeded"), "paid_hint", "null", ""},
		{"close", "", 400, unexpected("canceled"), "already_closed", "null", ""},
		{"close", "", 400, unexpected("processing"), "in_flight", "null", ""},
		{"close", "", 400, replaced(unexpected("canceled"), "28a3tqPa", "28a3tqPb"), "unknown", "null", "about the PaymentIntent"},
		{"close", "", 404, `{"error":{"code":"resource_missing"}}`, "not_exist", "null", ""},

		{"refund", "", 200, stripeBack, "DONE", `{"amount":88,"channel_ref_no":"re_1Nispe2eZvKYlo2Cd31jOCgZ","channel_state":"succeeded","currency":"USD"}`, ""},
		{"refund", "", 200, replaced(stripeBack, "succeeded", "pending"), "PENDING", "null", ""},
		{"refund", "", 200, replaced(stripeBack, "31jOCgZ", "31jOCgY"), "QUERY_ERROR", "null", "about the refund"},
		{"refund", "", 200, replaced(stripeBack, ":88", ":89"), "QUERY_ERROR", "null", "a refund of 89"},
	} {
		p.answers(func(r *http.Request, _ []byte) (int, http.Header, string) {
			want := map[string]string{"query": "GET /v1/payment_intents/pi_3MtwBwLkdIwHu7ix28a3tqPa?expand%5B%5D=latest_charge",
				"close": "POST /v1/payment_intents/pi_3MtwBwLkdIwHu7ix28a3tqPa/cancel", "refund": "GET /v1/refunds/re_1Nispe2eZvKYlo2Cd31jOCgZ"}[tt.what]
			if got := r.Method + " " + r.RequestURI; got != want || r.Header.Get("Authorization") != "Bearer "+stripeKey || r.Header.Get("Stripe-Account") != tt.account || r.Header.Get("Stripe-Version") == "" {
				t.Errorf("%s with %v; want %s", got, r.Header, want)
			}
			return tt.status, nil, tt.body
		})
		o := &order.Order{OrderNo: "pi_3MtwBwLkdIwHu7ix28a3tqPa", RefNo: "re_1Nispe2eZvKYlo2Cd31jOCgZ", Vars: map[string]string{"amount": "88"}}
		c := channel
		if tt.account != "" {
			c = providerOf(t, connected)
		}
		if reading, got, why := asked(t.Context(), c, refunds, tt.what, o); reading != tt.want || got != tt.taken || (tt.why == "") != (why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s %d of %s\n  = %s %s %q\nwant %s %s %q", tt.what, tt.status, tt.body, reading, got, why, tt.want, tt.taken, tt.why)
		}
	}
}

// stripeSigned signs an event: docs.stripe.com/webhooks#verify-manually. clients/sdks_test.go has
// the same from Stripe's own library.
func stripeSigned(secret, body string) http.Header {
	h := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(h, "%d.%s", providerNow.Unix(), body)
	return http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=%x", providerNow.Unix(), h.Sum(nil))}}
}

func stripeEvent(kind, object string) string {
	return `{"id":"evt_1","object":"event","api_version":"2024-06-20","type":"` + kind + `","livemode":false,"data":{"object":` + object + `}}`
}

func TestStripeNotices(t *testing.T) {
	channel := providerOf(t, stripeOptions(""))
	connected := stripeOptions("")
	connected.MerchantID = "acct_1"
	const (
		pi    = "pi_3MtwBwLkdIwHu7ix28a3tqPa"
		taken = ` {"amount":2000,"currency":"USD","transaction_id":"pi_3MtwBwLkdIwHu7ix28a3tqPa"}`
	)
	paid := stripeEvent("payment_intent.succeeded", stripePaid)
	for _, tt := range []struct {
		name, body, secret string
		want               string
	}{
		{"paid", paid, stripeSecret, "evt_1 " + pi + " PAID" + taken},
		{"paid, newer secret", paid, "whsec_newer_secret", "evt_1 " + pi + " PAID" + taken},
		{"canceled", stripeEvent("payment_intent.canceled", replaced(stripePaid, "succeeded", "canceled")), stripeSecret, "evt_1 " + pi + " CLOSED null"},
		// After a payment that failed the payer can pay again.
		{"failed", stripeEvent("payment_intent.payment_failed", replaced(stripePaid, "succeeded", "requires_payment_method")), stripeSecret, "evt_1 " + pi + " PENDING null"},
		{"refunded", stripeEvent("charge.refunded", stripeCharge), stripeSecret, "evt_1 " + pi + " PAID_REFUNDED" + taken},
		{"charged", stripeEvent("charge.succeeded", replaced(stripeCharge, `"amount_refunded":88`, `"amount_refunded":0`)), stripeSecret,
			"evt_1 " + pi + ` QUERY_ERROR null "charge.succeeded": only an answer to a query says how the order stands`},
		{"charge not captured", stripeEvent("charge.refunded", replaced(stripeCharge, `"captured":true`, `"captured":false`)), stripeSecret,
			"evt_1 " + pi + ` QUERY_ERROR null "charge.refunded": only an answer to a query says how the order stands`},
		{"charge failed", stripeEvent("charge.failed", replaced(stripeCharge, `"succeeded"`, `"failed"`)), stripeSecret,
			"evt_1 " + pi + ` QUERY_ERROR null "charge.failed": only an answer to a query says how the order stands`},
		{"refund", stripeEvent("refund.updated", stripeBack), stripeSecret, "refund re_1Nispe2eZvKYlo2Cd31jOCgZ DONE"},
		{"refund, older name", stripeEvent("charge.refund.updated", stripeBack), stripeSecret, "refund re_1Nispe2eZvKYlo2Cd31jOCgZ DONE"},
		{"refund failed", stripeEvent("refund.failed", replaced(stripeBack, "succeeded", "failed")), stripeSecret, "refund re_1Nispe2eZvKYlo2Cd31jOCgZ FAILED_THERE"},
		{"refund pending", stripeEvent("refund.created", replaced(stripeBack, "succeeded", "pending")), stripeSecret, "refund re_1Nispe2eZvKYlo2Cd31jOCgZ"},
		{"a customer", stripeEvent("customer.created", `{"object":"customer","id":"cus_1"}`), stripeSecret, `unreadable: the notice is of "customer.created", and not of a payment or refund`},
		{"wrong secret", paid, "whsec_other", "refused, hint " + pi + ": the notice cannot be trusted: its signature is wrong"},
		{"test mode", replaced(paid, `"livemode":false,"data"`, `"livemode":true,"data"`), stripeSecret, "refused, hint : the notice cannot be trusted: its livemode is true: want false, the mode of secret_key"},
		{"a connected account", replaced(paid, `"object":"event"`, `"object":"event","account":"acct_2"`), stripeSecret, `refused, hint : the notice cannot be trusted: it is for the connected account "acct_2": without stripe_account, want the account of secret_key alone`},
		{"no JSON", "paid", stripeSecret, "refused, hint : the notice cannot be trusted: the body is not JSON: invalid character 'p' looking for beginning of value"},
	} {
		if got := noticeOf(channel, stripeSigned(tt.secret, tt.body), tt.body); got != tt.want {
			t.Errorf("%s\n  = %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for body, want := range map[string]string{
		replaced(paid, `"object":"event"`, `"object":"event","account":"acct_1"`): "evt_1 " + pi + " PAID" + taken,
		paid: `refused, hint : the notice cannot be trusted: it is for the account "": want "acct_1"`,
	} {
		if got := noticeOf(providerOf(t, connected), stripeSigned(stripeSecret, body), body); got != want {
			t.Errorf("connected account: %s\n  = %s\nwant %s", body, got, want)
		}
	}
	if got := noticeOf(channel, nil, paid); !strings.Contains(got, "hint "+pi+": the notice cannot be trusted: it is not signed") {
		t.Errorf("without a signature: %s", got)
	}
	silent := stripeOptions("")
	silent.NoticeSecrets = nil
	if got := noticeOf(providerOf(t, silent), stripeSigned(stripeSecret, paid), paid); got != "refused, hint : the notice cannot be trusted: the queue has no webhook_secrets" {
		t.Errorf("without secrets: %s", got)
	}
	if yes, no := channel.AnswerNotice(true, ""), channel.AnswerNotice(false, ""); yes.Status != 200 || no.Status != 400 {
		t.Errorf("answers %+v and %+v", yes, no)
	}
}

// A key of one mode takes no notice of the other: a test payment never pays an order.
func TestStripeModes(t *testing.T) {
	paid := stripeEvent("payment_intent.succeeded", stripePaid)
	unsaid := replaced(paid, `"livemode":false,"data"`, `"data"`)
	live := replaced(paid, `"livemode":false,"data"`, `"livemode":true,"data"`)
	for key, want := range map[string][3]bool{ // of the test mode, live, and not said
		"sk_test_1": {true, false, true}, "rk_test_1": {true, false, true}, "sk_live_1": {false, true, true}, "rk_live_1": {false, true, true}, "sk_1": {true, true, true},
	} {
		o := stripeOptions("")
		o.Keys = secrets(key)
		channel := providerOf(t, o)
		for i, body := range []string{paid, live, unsaid} {
			got := noticeOf(channel, stripeSigned(stripeSecret, body), body)
			if counts := strings.HasPrefix(got, "evt_1 "); counts != want[i] || !counts && !strings.Contains(got, "its livemode is ") {
				t.Errorf("%s, notice %d: %s; want it to count: %t", key, i, got, want[i])
			}
		}
	}
	for _, key := range []string{"pk_live_1", "", "sk_live é", "rk_live 1"} {
		o := stripeOptions("")
		o.Keys = secrets(key)
		if _, err := gateway.NewProvider(o); err == nil {
			t.Errorf("the key %q is accepted", key)
		}
	}
}

// Whatever Stripe's signature covers is read without a panic, and a number is that of the object.
func FuzzStripeNotice(f *testing.F) {
	channel := providerOf(f, stripeOptions(""))
	for _, seed := range []string{stripeEvent("charge.refunded", stripeCharge), stripeEvent("payment_intent.succeeded", stripePaid), `{"data":{"object":[]}}`, `{"data":3}`, ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		items, _, err := channel.ReadNotice(&order.RawNotice{Header: stripeSigned(stripeSecret, body), Body: []byte(body), At: providerNow})
		if err != nil && len(items) > 0 {
			t.Fatalf("%v with %v", err, items)
		}
		for _, n := range items {
			if n.Reading != order.QueryError && n.OrderNo == "" {
				t.Fatalf("%q reads %v of no order", body, n.Reading)
			}
		}
	})
}

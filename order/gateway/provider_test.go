package gateway_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/poll"
)

// providerNow is the time of the providers' tests.
var providerNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A platform is a provider: it answers what its test says.
type platform struct {
	*httptest.Server

	mu     sync.Mutex
	answer func(r *http.Request, body []byte) (status int, header http.Header, text string)
}

func newPlatform(t testing.TB) *platform {
	p := &platform{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		status, header, text := answer(r, body)
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	t.Cleanup(p.Close)
	return p
}

// answers makes the platform answer what f returns.
func (p *platform) answers(f func(r *http.Request, body []byte) (status int, header http.Header, text string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

func providerOf(t testing.TB, o gateway.ProviderOptions) *gateway.Provider {
	t.Helper()
	o.Now = func() time.Time { return providerNow }
	p, err := gateway.NewProvider(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func refundsOf(t testing.TB, o gateway.ProviderOptions) *gateway.ProviderRefunds {
	t.Helper()
	o.Now = func() time.Time { return providerNow }
	p, err := gateway.NewProviderRefunds(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// asked is what a channel is asked for: query, close or refund.
func asked(ctx context.Context, p *gateway.Provider, r *gateway.ProviderRefunds, what string, o *order.Order) (reading, taken, why string) {
	switch what {
	case "close":
		a := p.Close(ctx, o)
		return a.Reading.String(), "null", a.Error
	case "refund":
		a := r.Query(ctx, o)
		return a.Reading.String(), asJSON(a.Taken), a.Error
	default:
		a := p.Query(ctx, o)
		return a.Reading.String(), asJSON(a.Taken), a.Error
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// noticeOf describes what a reader makes of a notice.
func noticeOf(p *gateway.Provider, header http.Header, body string) string {
	items, hint, err := p.ReadNotice(&order.RawNotice{Header: header, Body: []byte(body), At: providerNow})
	if err != nil {
		return "refused, hint " + hint + ": " + err.Error()
	}
	n := items[0]
	if n.Err != nil {
		return "unreadable: " + n.Err.Error()
	}
	if n.Of != order.OfPayment {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Of, n.RefNo, n.Outcome))
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", n.ID, n.OrderNo, n.Reading, asJSON(n.Taken), n.Answer.Error))
}

// A keyPair is an RSA key in the forms that options want.
type keyPair struct {
	key             *rsa.PrivateKey
	private, public string // PEM
}

func newKeyPair() keyPair {
	key := keytest.RSA()
	return keyPair{key, keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), keytest.PublicPEM(key)}
}

// sign is RSA-SHA256 in base64.
func (k keyPair) sign(text string) string { return keytest.Sign(k.key, text) }

// verify says whether text was signed with k.
func (k keyPair) verify(text, signature string) bool {
	return keytest.Verified(k.key, text, signature)
}

// A certified is a key with a certificate.
type certified struct {
	keyPair
	certificate *x509.Certificate
	text        string // PEM
}

// certify makes a certificate with this name; issuer nil: it signs itself. ca says that it may
// issue others.
func certify(t testing.TB, name string, ca bool, issuer *certified, until time.Time) *certified {
	t.Helper()
	c := &certified{keyPair: newKeyPair()}
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	from := &x509.Certificate{SerialNumber: number, Subject: pkix.Name{CommonName: name}, NotBefore: providerNow.AddDate(-1, 0, 0), NotAfter: until,
		IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	parent, key := from, c.key
	if issuer != nil {
		parent, key = issuer.certificate, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, from, parent, &c.key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if c.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	c.text = keytest.PEM("CERTIFICATE", der)
	return c
}

func secrets(texts ...string) []sign.Secret {
	var all []sign.Secret
	for _, text := range texts {
		all = append(all, sign.NewSecret(text))
	}
	return all
}

// A provider whose options are wrong is refused, and the error names the option and shows no key.
func TestProviderOptions(t *testing.T) {
	own := certify(t, "merchant", false, nil, providerNow.AddDate(1, 0, 0))
	root := certify(t, "root", true, nil, providerNow.AddDate(1, 0, 0))
	const wechatKey = "192006250b4c09247ec02edce69f6a2d"
	good := map[string]gateway.ProviderOptions{
		gateway.WeChatV2: {MerchantID: "10000100", AppID: "wx1", Keys: secrets(wechatKey)},
		gateway.UnionPay: {MerchantID: "777290058110048", PrivateKey: sign.NewSecret(own.private), Certificate: sign.NewSecret(own.text), Roots: sign.NewSecret(root.text)},
		gateway.Stripe:   {Keys: secrets("sk_test_key"), NoticeSecrets: secrets("whsec_test_secret")},
		gateway.Antom:    {MerchantID: "SANDBOX_1", PrivateKey: sign.NewSecret(own.private), PublicKeys: secrets(own.public)},
	}
	for _, name := range gateway.Providers() {
		o := good[name]
		o.Provider = name
		p := providerOf(t, o)
		if got, want := p.Cancels(), name == gateway.Antom; got != want {
			t.Errorf("the close of %s cancels: %t, want %t", name, got, want)
		}
		if shown := fmt.Sprintf("%+v %#v", p, p); strings.Contains(shown, wechatKey) || strings.Contains(shown, "sk_test_key") || strings.Contains(shown, "whsec_test_secret") || strings.Contains(shown, own.key.D.String()) {
			t.Errorf("%s shows a key: %s", name, shown)
		}
	}
	for _, tt := range []struct {
		provider string
		change   func(o *gateway.ProviderOptions)
		want     string
	}{
		{"paypal", func(*gateway.ProviderOptions) {}, `provider: "paypal" is not one of wechatpay_v2, unionpay, stripe, antom`},
		{gateway.WeChatV2, func(o *gateway.ProviderOptions) { o.BaseURL = "ftp://x" }, "url: want"},
		{gateway.WeChatV2, func(o *gateway.ProviderOptions) { o.MerchantID = "" }, "mch_id"},
		{gateway.WeChatV2, func(o *gateway.ProviderOptions) { o.AppID = "" }, "app_id"},
		{gateway.WeChatV2, func(o *gateway.ProviderOptions) { o.SignType = "RSA" }, "sign_type"},
		{gateway.WeChatV2, func(o *gateway.ProviderOptions) { o.Keys = nil }, "api_key"},
		{gateway.WeChatV2, func(o *gateway.ProviderOptions) { o.Keys = secrets(wechatKey, "short-key") }, "api_key[1]: has 9 characters"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.MerchantID = "" }, "mer_id"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.Certificate = sign.NewSecret(own.public) }, "certificate: is a public key"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.Certificate = sign.NewSecret(root.text) }, "certificate: belongs to another key"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.PrivateKey = sign.Secret{} }, "private_key"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.Roots = sign.Secret{} }, "root_certificates: want"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.Roots = sign.NewSecret(own.public) }, "root_certificates: has a block"},
		{gateway.UnionPay, func(o *gateway.ProviderOptions) { o.PayTimeout = -1 }, "its pay timeout"},
		{gateway.Stripe, func(o *gateway.ProviderOptions) { o.BaseURL = "http://api.stripe.example" }, "url: want https"},
		{gateway.Stripe, func(o *gateway.ProviderOptions) { o.Keys = secrets("pk_test_1") }, "secret_key: want a secret"},
		{gateway.Stripe, func(o *gateway.ProviderOptions) { o.Keys = nil }, "secret_key"},
		{gateway.Stripe, func(o *gateway.ProviderOptions) { o.MerchantID = "1" }, "stripe_account: want acct_"},
		{gateway.Stripe, func(o *gateway.ProviderOptions) { o.NoticeSecrets = secrets("") }, "webhook_secrets"},
		{gateway.Antom, func(o *gateway.ProviderOptions) { o.MerchantID = "" }, "client_id"},
		{gateway.Antom, func(o *gateway.ProviderOptions) { o.PublicKeys = nil }, "antom_public_keys"},
		{gateway.Antom, func(o *gateway.ProviderOptions) { o.PublicKeys = secrets("x") }, "antom_public_keys[0]"},
		{gateway.Antom, func(o *gateway.ProviderOptions) { o.PrivateKey = sign.NewSecret("x") }, "private_key"},
	} {
		o := good[tt.provider]
		o.Provider = tt.provider
		tt.change(&o)
		_, err := gateway.NewProvider(o)
		if got := fmt.Sprint(err); (tt.want == "") != (err == nil) || !strings.Contains(got, tt.want) && tt.want != "" || strings.Contains(got, wechatKey) || strings.Contains(got, "short-key") {
			t.Errorf("%s: %v; want %s", tt.provider, err, tt.want)
		}
	}
}

// What a provider cannot be asked about is refused when the order is created.
func TestProviderChecks(t *testing.T) {
	own := certify(t, "merchant", false, nil, providerNow.AddDate(1, 0, 0))
	root := certify(t, "root", true, nil, providerNow.AddDate(1, 0, 0))
	options := map[string]gateway.ProviderOptions{
		gateway.WeChatV2: {MerchantID: "10000100", AppID: "wx1", Keys: secrets("192006250b4c09247ec02edce69f6a2d")},
		gateway.UnionPay: {MerchantID: "777290058110048", PrivateKey: sign.NewSecret(own.private), Certificate: sign.NewSecret(own.text), Roots: sign.NewSecret(root.text)},
		gateway.Stripe:   {Keys: secrets("sk_test_key")},
		gateway.Antom:    {MerchantID: "SANDBOX_1", PrivateKey: sign.NewSecret(own.private), PublicKeys: secrets(own.public)},
	}
	at := map[string]string{"txn_time": "20261120200405"}
	for _, tt := range []struct {
		provider, no, ref string
		vars              map[string]string
		want              string // the fields of both errors
	}{
		{gateway.WeChatV2, "1409811653", "R-1", nil, ""},
		{gateway.WeChatV2, strings.Repeat("1", 33), strings.Repeat("1", 65), nil, "order_no ref_no"},
		{gateway.WeChatV2, "订单", "", nil, "order_no ref_no"},
		{gateway.UnionPay, "20261120000001", "20261120000001R1", at, ""},
		{gateway.UnionPay, "20261120-00001", "short", nil, "order_no vars.txn_time ref_no vars.txn_time"},
		{gateway.Stripe, "pi_3MtwBwLkdIwHu7ix28a3tqPa", "re_1Nispe2eZvKYlo2Cd31jOCgZ", nil, ""},
		{gateway.Stripe, "20261120000001", "../re_1", nil, "order_no ref_no"},
		{gateway.Antom, "REQUEST_ID-1685599933871", "R1", nil, ""},
		{gateway.Antom, "a b", "", nil, "order_no ref_no"},
	} {
		o := options[tt.provider]
		o.Provider = tt.provider
		var got []string
		ask := &order.Order{OrderNo: tt.no, RefNo: tt.ref, Vars: tt.vars}
		for _, err := range []error{providerOf(t, o).CheckOrder(ask), refundsOf(t, o).CheckRef(ask, false)} {
			got = append(got, invalidFields(t, err)...)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s %q %q: %q; want %q", tt.provider, tt.no, tt.ref, got, tt.want)
		}
	}
}

// A provider that cannot be reached decides nothing, whatever is asked.
func TestProviderUnreachable(t *testing.T) {
	p := newPlatform(t)
	o := gateway.ProviderOptions{Provider: gateway.Stripe, BaseURL: p.URL, Keys: secrets("sk_test_key")}
	p.Close()
	ask := &order.Order{OrderNo: "pi_1", RefNo: "re_1"}
	for _, what := range []string{"query", "close", "refund"} {
		reading, _, why := asked(t.Context(), providerOf(t, o), refundsOf(t, o), what, ask)
		if reading != order.QueryError.String() && reading != order.CloseUnknown.String() && reading != poll.QueryError.String() || why == "" {
			t.Errorf("%s: %s %q", what, reading, why)
		}
	}
}

// invalidFields returns the names of the fields that an error of CheckOrder is about.
func invalidFields(t *testing.T, err error) []string {
	t.Helper()
	fields := invalidtest.Fields(err)
	if err != nil && fields == nil {
		t.Fatalf("%T %v", err, err)
	}
	return fields
}

// An answer that is cut off by a stop of bellman is not verified, so it says nothing, even if its
// text is complete.
func TestProviderAnswerCutOff(t *testing.T) {
	for what, text := range map[string]string{
		"query":  wechatDoc(map[string]string{"return_code": "SUCCESS", "result_code": "SUCCESS", "trade_state": "SUCCESS", "out_trade_no": "O1", "total_fee": "1"}),
		"close":  wechatDoc(map[string]string{"return_code": "SUCCESS", "result_code": "SUCCESS"}),
		"refund": wechatDoc(map[string]string{"return_code": "SUCCESS", "result_code": "SUCCESS", "refund_status_0": "SUCCESS", "out_refund_no_0": "R1"}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		o := wechatV2Options("http://127.0.0.1:1")
		o.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			end := readFunc(func([]byte) (int, error) { cancel(); return 0, ctx.Err() })
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(strings.NewReader(text), end))}, nil
		})
		reading, taken, why := asked(ctx, providerOf(t, o), refundsOf(t, o), what, &order.Order{OrderNo: "O1", RefNo: "R1"})
		if reading != "QUERY_ERROR" && reading != "unknown" || taken != "null" || why == "" {
			t.Errorf("%s: %s, %s, %q; want nothing that is known", what, reading, taken, why)
		}
	}
}

package alipay

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
)

var (
	_ order.Channel  = (*Channel)(nil)
	_ order.Reverser = (*Channel)(nil)
)

const (
	appID   = "2014072300007148"
	orderNo = "20150320010101001"
)

// 20:00 on that day in Beijing.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A platform is a loopback Alipay. It checks requests as Alipay's documents say, and answers them.
type platform struct {
	t          testing.TB
	app, own   *rsa.PrivateKey // the application's, and Alipay's
	private    string          // the application's key as its tool writes it
	public     string          // Alipay's, as its console shows it
	token      string          // the app_auth_token that is wanted
	appCertSN  string          // and the numbers of certificates
	rootCertSN string
	wantMethod string
	content    string // the biz_content that is wanted; empty: that of an order
	status     int
	encoding   string // Content-Encoding
	body       func(sign func(text string) string) string
}

func newPlatform(t testing.TB) *platform {
	p := &platform{t: t, status: 200}
	p.app, p.private, _ = newKey()
	p.own, _, p.public = newKey()
	return p
}

func (p *platform) options() Options {
	return Options{
		AppID: appID, PrivateKey: sign.NewSecret(p.private), AlipayPublicKeys: []sign.Secret{sign.NewSecret(p.public)},
		Now: func() time.Time { return now },
	}
}

func (p *platform) sign(text string) string { return keytest.Sign(p.own, text) }

// check says what Alipay would refuse of a request; empty: nothing.
func (p *platform) check(r *http.Request) string {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return "not a form that was posted"
	}
	if err := r.ParseForm(); err != nil {
		return err.Error()
	}
	want := url.Values{
		"app_id": {appID}, "method": {p.wantMethod}, "format": {"JSON"}, "charset": {"utf-8"}, "sign_type": {"RSA2"},
		"timestamp": {"2026-11-20 20:00:00"}, "version": {"1.0"}, "biz_content": {cmp.Or(p.content, `{"out_trade_no":"`+orderNo+`"}`)},
	}
	for name, value := range map[string]string{"app_auth_token": p.token, "app_cert_sn": p.appCertSN, "alipay_root_cert_sn": p.rootCertSN} {
		if value != "" {
			want.Set(name, value)
		}
	}
	signature := r.PostForm.Get("sign")
	delete(r.PostForm, "sign")
	if got := r.PostForm.Encode(); got != want.Encode() {
		return "parameters " + got
	}
	fields := map[string]string{}
	for name := range r.PostForm {
		fields[name] = r.PostForm.Get(name)
	}
	if !keytest.Verified(p.app, keytest.Pairs(fields), signature) {
		return "the signature is wrong"
	}
	return ""
}

// open starts the platform and returns the channel to it.
func (p *platform) open(o Options) *Channel {
	p.t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wrong := p.check(r); wrong != "" {
			p.t.Error("request: " + wrong)
		}
		w.Header().Set("Content-Type", "text/html;charset=utf-8") // as Alipay's gateway has it
		if p.encoding != "" {
			w.Header().Set("Content-Encoding", p.encoding)
		}
		w.WriteHeader(p.status)
		io.WriteString(w, p.body(p.sign))
	}))
	p.t.Cleanup(s.Close)
	o.GatewayURL, o.Transport = s.URL+"/gateway.do", s.Client().Transport
	c, err := New(o)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// answers makes the platform answer text under the name that belongs to a method.
func (p *platform) answers(method, text string) {
	p.wantMethod = method
	name := strings.ReplaceAll(method, ".", "_") + "_response"
	p.body = func(sign func(string) string) string {
		return `{"` + name + `":` + text + `,"sign":"` + sign(text) + `"}`
	}
}

func (p *platform) query() order.QueryAnswer {
	return p.open(p.options()).Query(p.t.Context(), &order.Order{OrderNo: orderNo, Created: now.Add(-time.Minute)})
}

// trades is the answer to a query, in the form that Alipay sends. more begins with
// a comma.
func trades(state, more string) string {
	return `{"code":"10000","msg":"Success","buyer_logon_id":"lmj***@sandbox.com","buyer_pay_amount":"88.88","out_trade_no":"` + orderNo +
		`","total_amount":"88.88","trade_no":"2020120922001422790501328313","trade_status":"` + state + `"` + more + `}`
}

func refused(code, sub string) string {
	return `{"code":"` + code + `","msg":"Business Failed","sub_code":"` + sub + `","sub_msg":"交易","out_trade_no":"` + orderNo + `"}`
}

func TestQuery(t *testing.T) {
	p := newPlatform(t)
	tests := []struct {
		name, text string
		want       order.Reading
		throttled  bool
	}{
		{"paid", trades("TRADE_SUCCESS", `,"send_pay_date":"2026-11-20 19:59:00"`), order.Paid, false},
		{"finished", trades("TRADE_FINISHED", ""), order.Paid, false},
		{"not paid", trades("WAIT_BUYER_PAY", ""), order.Pending, false},
		{"closed", trades("TRADE_CLOSED", ""), order.Closed, false},
		{"refunded", trades("TRADE_CLOSED", `,"send_pay_date":"2026-11-20 19:59:00"`), order.PaidRefunded, false},
		{"a state of the future", trades("TRADE_HOVERING", ""), order.QueryError, false},
		{"no such order", refused("40004", "ACQ.TRADE_NOT_EXIST"), order.NotFound, false},
		{"no such order, without its number", `{"code":"40004","msg":"Business Failed","sub_code":"ACQ.TRADE_NOT_EXIST"}`, order.NotFound, false},
		{"an error of the system", refused("40004", "ACQ.SYSTEM_ERROR"), order.QueryError, false},
		{"not available", refused("20000", "isp.unknow-error"), order.QueryError, false},
		{"too many", refused("40005", "isv.call-limited"), order.QueryError, true},
		{"no permission", `{"code":"40006","msg":"Insufficient Permissions","sub_code":"isv.app-api-punished","sub_msg":"该接口已被处罚，不可调用"}`, order.QueryError, false},
	}
	for _, tt := range tests {
		p.answers(queryMethod, tt.text)
		got := p.query()
		if got.Reading != tt.want || got.Throttled != tt.throttled || got.Status != 200 || (got.Error == "") != (tt.want != order.QueryError) ||
			(got.Result == bellman.Accepted) != (tt.want != order.QueryError) {
			t.Errorf("%s: %v, %v, throttled %t, %q; want %v, %t", tt.name, got.Reading, got.Result, got.Throttled, got.Error, tt.want, tt.throttled)
		}
	}
	p.answers(queryMethod, tests[0].text)
	if got := p.query(); got.Taken["transaction_id"] != "2020120922001422790501328313" || got.Taken["amount"] != int64(8888) ||
		string(got.Body) != `{"alipay_trade_query_response":`+tests[0].text+`}` {
		t.Errorf("Taken = %v, Body = %s", got.Taken, got.Body)
	}
}

// Whatever of a paid order's answer is bent, it says nothing any more.
func TestForged(t *testing.T) {
	p := newPlatform(t)
	p.wantMethod = queryMethod
	stranger := newPlatform(t)
	paid := trades("TRADE_SUCCESS", "")
	plain := func(text string) func(func(string) string) string {
		return func(func(string) string) string { return text }
	}
	under := func(name, signed, text string) func(func(string) string) string {
		return func(sign func(string) string) string {
			return `{"` + name + `":` + text + `,"sign":"` + sign(signed) + `"}`
		}
	}
	tests := []struct {
		name   string
		status int
		body   func(sign func(string) string) string
		want   string // a part of the error; empty: it counts
	}{
		{"as it is", 200, under(node, paid, paid), ""},
		{"with white space around it", 200, under(node, paid, "\n "+paid+"\t"), ""},
		{"escaped after it was signed", 200, under(node, trades("TRADE_SUCCESS", `,"x":"a/b"`), trades("TRADE_SUCCESS", `,"x":"a\/b"`)), ""},
		{"not signed", 200, plain(`{"` + node + `":` + paid + `}`), "not signed"},
		{"not signed, and refused", 200, plain(`{"` + node + `":{"code":"40002","msg":"Invalid Arguments","sub_code":"isv.invalid-app-id"}}`),
			`not signed; it says "40002", "Invalid Arguments isv.invalid-app-id"`},
		{"no such order, not signed", 200, plain(`{"` + node + `":` + refused("40004", "ACQ.TRADE_NOT_EXIST") + `}`), "not signed"},
		{"signed by a stranger", 200, func(func(string) string) string {
			return `{"` + node + `":` + paid + `,"sign":"` + stranger.sign(paid) + `"}`
		}, "signature is wrong"},
		{"signed as another text", 200, under(node, trades("WAIT_BUYER_PAY", ""), paid), "signature is wrong"},
		{"compacted", 200, under(node, strings.Replace(paid, ",", ", ", 1), paid), "signature is wrong"},
		{"the name twice", 200, func(sign func(string) string) string {
			return `{"` + node + `":` + trades("WAIT_BUYER_PAY", "") + `,"` + node + `":` + paid + `,"sign":"` + sign(paid) + `"}`
		}, "twice"},
		{"another order", 200, under(node, strings.Replace(paid, orderNo, "1", 1), strings.Replace(paid, orderNo, "1", 1)), `about the order "1"`},
		{"no order", 200, under(node, `{"code":"10000","trade_status":"TRADE_SUCCESS"}`, `{"code":"10000","trade_status":"TRADE_SUCCESS"}`), `about the order ""`},
		{"no such order, of another", 200, under(node, strings.Replace(refused("40004", "ACQ.TRADE_NOT_EXIST"), orderNo, "1", 1), strings.Replace(refused("40004", "ACQ.TRADE_NOT_EXIST"), orderNo, "1", 1)), `about the order "1"`},
		{"an answer to a close", 200, under("alipay_trade_close_response", paid, paid), "no alipay_trade_query_response"},
		{"an error of the gateway", 200, plain(`{"error_response":{"code":"20000","msg":"Service Currently Unavailable"}}`), `gateway refused the request; it says "20000"`},
		{"an error of the gateway, signed, that says paid", 200, under(errorNode, paid, paid), "gateway refused the request"},
		{"encrypted", 200, plain(`{"` + node + `":"c2VjcmV0","sign":"a"}`), "is encrypted"},
		{"a page", 502, plain("<html>"), "not JSON"},
		{"too many, says something in front", 429, plain("slow down"), "not JSON"},
		{"a paid order with a failing status", 500, under(node, paid, paid), "HTTP status 500"},
		{"longer than 64 KiB", 200, under(node, paid, paid+strings.Repeat(" ", 64<<10)), "longer than 64 KiB"},
	}
	for _, tt := range tests {
		p.status, p.body = tt.status, tt.body
		got := p.query()
		if counts := got.Reading == order.Paid; counts != (tt.want == "") || !strings.Contains(got.Error, tt.want) ||
			!counts && (got.Reading != order.QueryError || got.Result == bellman.Accepted || got.Taken != nil) {
			t.Errorf("%s: %v, %v, %q; want %q", tt.name, got.Reading, got.Result, got.Error, tt.want)
		}
		if got.Throttled != (tt.status == 429) {
			t.Errorf("%s: throttled %t", tt.name, got.Throttled)
		}
	}
	p.status, p.body = 200, plain(`{"error_response":{"code":"40005","sub_code":"isv.call-limited"}}`)
	if got := p.query(); got.Reading != order.QueryError || !got.Throttled {
		t.Errorf("an unsigned 40005: %v, throttled %t; want QUERY_ERROR and throttled", got.Reading, got.Throttled)
	}
	p.wantMethod = closeMethod
	if got := p.open(p.options()).Close(t.Context(), &order.Order{OrderNo: orderNo}); got.Reading != order.CloseUnknown || !got.Throttled {
		t.Errorf("an unsigned 40005 to a close: %v, throttled %t; want unknown and throttled", got.Reading, got.Throttled)
	}
}

// What is not whole does not count, though it were signed and could be read.
func TestNotWhole(t *testing.T) {
	p := newPlatform(t)
	p.encoding = "br"
	p.answers(queryMethod, trades("TRADE_SUCCESS", ""))
	if got := p.query(); got.Reading != order.QueryError || !strings.Contains(got.Error, "encoded") {
		t.Errorf("%v, %q; want QUERY_ERROR, encoded", got.Reading, got.Error)
	}
	p.answers(closeMethod, refused("40004", "ACQ.TRADE_HAS_CLOSE"))
	if got := p.open(p.options()).Close(t.Context(), &order.Order{OrderNo: orderNo}); got.Reading != order.CloseUnknown || !strings.Contains(got.Error, "encoded") {
		t.Errorf("%v, %q; want unknown, encoded", got.Reading, got.Error)
	}
}

func TestForgedByte(t *testing.T) {
	p := newPlatform(t)
	key, err := sign.NewRSAVerifier(sign.NewSecret(p.public))
	if err != nil {
		t.Fatal(err)
	}
	text := trades("TRADE_SUCCESS", `,"store":"a\/b"`)
	signature := p.sign(text)
	for i := range text {
		bent := []byte(text)
		bent[i] ^= 1
		if _, err := (envelope{text: bent, sign: signature}).verify([]*sign.RSAVerifier{key}); err == nil {
			t.Errorf("byte %d changed: no error", i)
		}
	}
}

func TestCloseAndReverse(t *testing.T) {
	p := newPlatform(t)
	done := func(more string) string {
		return `{"code":"10000","msg":"Success","out_trade_no":"` + orderNo + `"` + more + `}`
	}
	const closing, reversing = closeMethod, cancelMethod
	tests := []struct {
		name, method, text string
		want               order.CloseReading
	}{
		{"closed", closing, done(`,"trade_no":"1"`), order.CloseDone},
		{"closed before", closing, refused("40004", "ACQ.TRADE_HAS_CLOSE"), order.CloseAlready},
		{"paid", closing, refused("40004", "ACQ.TRADE_STATUS_ERROR"), order.ClosePaidHint},
		{"paid, says another", closing, refused("40004", "ACQ.TRADE_HAS_SUCCESS"), order.ClosePaidHint},
		{"no such order", closing, refused("40004", "ACQ.TRADE_NOT_EXIST"), order.CloseNotExist},
		{"an error of the system", closing, refused("20000", "isp.unknow-error"), order.CloseInFlight},
		{"not ours to close", closing, refused("40006", "isv.insufficient-isv-permissions"), order.CloseUnknown},
		{"another order", closing, strings.Replace(done(""), orderNo, "1", 1), order.CloseUnknown},
		{"no order", closing, `{"code":"10000"}`, order.CloseUnknown},
		{"an answer to a query", closing, trades("TRADE_SUCCESS", ""), order.CloseUnknown},
		{"reversed unpaid", reversing, done(`,"action":"close","retry_flag":"N","trade_no":"1"`), order.CloseDone},
		{"reversed paid", reversing, done(`,"action":"refund","retry_flag":"N","trade_no":"1"`), order.CloseRefunded},
		{"to be reversed again", reversing, done(`,"action":"close","retry_flag":"Y"`), order.CloseInFlight},
		{"nothing to reverse", reversing, done(`,"retry_flag":"N"`), order.CloseNotExist},
		{"reversed, of another order", reversing, strings.Replace(done(`,"action":"close","retry_flag":"N"`), orderNo, "1", 1), order.CloseUnknown},
		{"an error of the system while reversing", reversing, refused("40004", "ACQ.SYSTEM_ERROR"), order.CloseInFlight},
		{"an answer to a query, while reversing", reversing, trades("TRADE_SUCCESS", ""), order.CloseUnknown},
	}
	for _, tt := range tests {
		p.answers(tt.method, tt.text)
		c, o := p.open(p.options()), &order.Order{OrderNo: orderNo}
		call := map[string]func(context.Context, *order.Order) order.CloseAnswer{closing: c.Close, reversing: c.Reverse}[tt.method]
		if got := call(t.Context(), o); got.Reading != tt.want || (got.Error == "") != (tt.want != order.CloseUnknown) {
			t.Errorf("%s: %v, %q; want %v", tt.name, got.Reading, got.Error, tt.want)
		}
		text := tt.text
		name := strings.ReplaceAll(tt.method, ".", "_") + "_response"
		p.body = func(func(string) string) string { return `{"` + name + `":` + text + `}` }
		if got := call(t.Context(), o); got.Reading != order.CloseUnknown || got.Result != bellman.Refused {
			t.Errorf("%s, not signed: %v, %v; want unknown", tt.name, got.Reading, got.Result)
		}
	}
}

// Two of Alipay's keys are valid during a change of keys, and an application may act for a
// merchant.
func TestKeysAndToken(t *testing.T) {
	p, other := newPlatform(t), newPlatform(t)
	p.token = "201510BBb507dc9f5efe41a0b98ae22f01519X62"
	p.answers(queryMethod, trades("TRADE_SUCCESS", ""))
	o := p.options()
	o.AppAuthToken, o.SellerID = sign.NewSecret(p.token), "2088000000000000"
	for _, tt := range []struct {
		keys []string
		want order.Reading
	}{
		{[]string{p.public}, order.Paid},
		{[]string{other.public, p.public}, order.Paid},
		{[]string{other.public}, order.QueryError},
	} {
		o.AlipayPublicKeys = nil
		for _, key := range tt.keys {
			o.AlipayPublicKeys = append(o.AlipayPublicKeys, sign.NewSecret(key))
		}
		if got := p.open(o).Query(t.Context(), &order.Order{OrderNo: orderNo}); got.Reading != tt.want {
			t.Errorf("%d keys: %v, %s; want %v", len(tt.keys), got.Reading, got.Error, tt.want)
		}
	}
}

type hanging struct{ asked *int }

func (h hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	*h.asked++
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// A platform that hangs: a query says nothing, and a close may have been done.
func TestHang(t *testing.T) {
	o, asked := newPlatform(t).options(), 0
	o.Transport = hanging{&asked}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	no := &order.Order{OrderNo: orderNo}
	if got := c.Query(ctx, no); got.Reading != order.QueryError || got.Result != bellman.TimedOut {
		t.Errorf("Query: %+v", got)
	}
	for name, call := range map[string]func(context.Context, *order.Order) order.CloseAnswer{"Close": c.Close, "Reverse": c.Reverse} {
		if got := call(ctx, no); got.Reading != order.CloseInFlight || got.Result != bellman.TimedOut {
			t.Errorf("%s: %+v", name, got)
		}
	}

	before := asked
	for number, ok := range map[string]bool{
		"1": true, "A_b-9": true, strings.Repeat("9", 64): true,
		"": false, strings.Repeat("9", 65): false, "a b": false, "a\n": false, "订单": false,
	} {
		no := &order.Order{OrderNo: number}
		err := c.CheckOrder(no)
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "order_no: ") {
			t.Errorf("CheckOrder(%q) = %v; want accepted: %t", number, err, ok)
		}
		if ok {
			continue
		}
		if q, cl := c.Query(ctx, no), c.Close(ctx, no); q.Reading != order.QueryError || q.Result != bellman.Blocked ||
			cl.Reading != order.CloseUnknown || cl.Result != bellman.Blocked || asked != before {
			t.Errorf("%q: %+v, %+v; want nothing asked", number, q, cl)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	p := newPlatform(t)
	set := func(f func(o *Options)) Options { o := p.options(); f(&o); return o }
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"no application", set(func(o *Options) { o.AppID = "" }), "alipay: app_id: want"},
		{"no key", set(func(o *Options) { o.PrivateKey = sign.Secret{} }), "alipay: private_key: want an RSA private key"},
		{"a key that is none", set(func(o *Options) { o.PrivateKey = sign.NewSecret("s3cret") }), "alipay: private_key: want an RSA private key"},
		{"no key of Alipay's", set(func(o *Options) { o.AlipayPublicKeys = nil }), "alipay: alipay_public_keys: want at least one"},
		{"a key of Alipay's that is none", set(func(o *Options) { o.AlipayPublicKeys = []sign.Secret{sign.NewSecret("s3cret")} }), "alipay: alipay_public_keys[0]: want"},
		{"a token that is missing", set(func(o *Options) { o.AppAuthToken = sign.NewSecret("env:BELLMAN_TEST_UNSET") }), "alipay: app_auth_token: environment variable BELLMAN_TEST_UNSET"},
		{"a token, and nobody says whose", set(func(o *Options) { o.AppAuthToken = sign.NewSecret("s3cret") }), "alipay: seller_id: is missing: with app_auth_token"},
		{"no address", set(func(o *Options) { o.GatewayURL = "openapi.alipay.com" }), "alipay: url: want"},
		{"an address with a query", set(func(o *Options) { o.GatewayURL = Gateway + "?charset=gbk" }), "alipay: url: want"},
		{"an address with a password", set(func(o *Options) { o.GatewayURL = "https://a:s3cret@openapi.alipay.com/" }), "alipay: url: want"},
	}
	for _, tt := range tests {
		_, err := New(tt.options)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}

// No form of printing a channel or its options shows the key or the token. Nor does the error of a
// failed request.
func TestSecretsAreHidden(t *testing.T) {
	p := newPlatform(t)
	const token = "201510BBb507dc9f5efe41a0b98ae22f01519X62"
	o, asked := p.options(), 0
	o.AppAuthToken, o.SellerID, o.Transport = sign.NewSecret(token), "2088000000000000", hanging{&asked}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "channel", c, "options", o)
	shown := log.String() + fmt.Sprintf("%v %+v %#v %v %+v %#v %+v", c, c, *c, o, o, o, c.Query(ctx, &order.Order{OrderNo: orderNo}))
	if b, err := json.Marshal([]sign.Secret{o.PrivateKey, o.AppAuthToken}); err == nil {
		shown += string(b)
	}
	for _, part := range []string{p.private[100:140], p.app.D.String(), p.app.Primes[0].String(), token[:20]} {
		if strings.Contains(shown, part) {
			t.Errorf("a secret shows: %.30s…", part)
		}
	}
}

// cutOff answers, and is told to stop before the answer is whole.
type cutOff struct{ stop context.CancelFunc }

func (c cutOff) RoundTrip(*http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(`{"code":"40004","sub_code":"ACQ.TRADE_HAS_CLOSE"}`), c)
	return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

func (c cutOff) Read([]byte) (int, error) {
	c.stop()
	return 0, context.Canceled
}

func TestCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := newPlatform(t).options()
	o.Transport = cutOff{cancel}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Close(ctx, &order.Order{OrderNo: orderNo}); got.Reading != order.CloseUnknown || got.Result != bellman.Unknown || got.Error == "" {
		t.Errorf("Close: %v, %v, %q; want unknown, and that we were told to stop", got.Reading, got.Result, got.Error)
	}
}

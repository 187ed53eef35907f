package gateway_test

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/invalidtest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
	"github.com/bellmanhq/bellman/order/states"
)

// A shop is a gateway that has orders, by the number that it decodes.
type shop struct {
	*httptest.Server
	check func(r *http.Request, body []byte) error // of a request; may be nil

	mu     sync.Mutex
	orders map[string]string // number → trade_state
	asked  []string          // method, path and body
}

func open(t *testing.T, orders map[string]string) *shop {
	s := &shop{orders: orders}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{no}", s.handle(func(state string) (int, string) {
		if state == "" {
			return 404, `{"code":"ORDER_NOT_EXIST","message":"订单不存在"}`
		}
		return 200, fmt.Sprintf(`{"trade_state":%q,"transaction_id":"4200","amount":{"total":100,"currency":"CNY"}}`, state)
	}))
	mux.HandleFunc("POST /orders/{no}/close", s.handle(func(state string) (int, string) {
		switch state {
		case "NOTPAY":
			return 204, ""
		case "SUCCESS":
			return 400, `{"code":"ORDERPAID","message":"订单已支付"}`
		}
		return 404, `{"code":"ORDER_NOT_EXIST"}`
	}))
	mux.HandleFunc("POST /orders/{no}/reverse", s.handle(func(string) (int, string) { return 204, "" }))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *shop) handle(answer func(state string) (int, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && s.check != nil {
			err = s.check(r, body)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
		if err != nil {
			w.WriteHeader(401)
			fmt.Fprint(w, err)
			return
		}
		status, text := answer(s.orders[r.PathValue("no")])
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

// options ask a shop as a configuration would.
func (s *shop) options(t *testing.T) gateway.Options {
	t.Helper()
	query, err := states.CompileQuery("wechat_v3")
	if err != nil {
		t.Fatal(err)
	}
	closing, err := states.CompileClose("wechat_v3")
	if err != nil {
		t.Fatal(err)
	}
	return gateway.Options{
		Query:  gateway.Request{URL: s.URL + "/orders/{order_no}?mch={merchant_no}"},
		Close:  gateway.Request{URL: s.URL + "/orders/{order_no}/close", Body: `{"mchid":"{vars.mch}"}`},
		States: query, CloseStates: closing,
	}
}

func channel(t *testing.T, o gateway.Options) order.Channel {
	t.Helper()
	c, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func of(no string) *order.Order {
	return &order.Order{MerchantNo: "m&1", OrderNo: no, Vars: map[string]string{"mch": `1"9`}, Created: time.Now()}
}

func TestQuery(t *testing.T) {
	s := open(t, map[string]string{"A1": "SUCCESS", "a/b?c=d#e": "NOTPAY", "订单": "CLOSED"})
	c := channel(t, s.options(t))
	tests := []struct {
		no     string
		want   order.Reading
		result bellman.Result
		status int
		asked  string
	}{
		{"A1", order.Paid, bellman.Accepted, 200, "GET /orders/A1?mch=m%261"},
		{"a/b?c=d#e", order.Pending, bellman.Accepted, 200, "GET /orders/a%2Fb%3Fc%3Dd%23e?mch=m%261"},
		{"订单", order.Closed, bellman.Accepted, 200, "GET /orders/%E8%AE%A2%E5%8D%95?mch=m%261"},
		{"A2", order.NotFound, bellman.Accepted, 404, "GET /orders/A2?mch=m%261"},
		{"../A1", order.QueryError, bellman.Unreachable, 0, ""},
		{"A1\xff", order.QueryError, bellman.Unreachable, 0, ""},
	}
	for _, tt := range tests {
		s.asked = nil
		got := c.Query(t.Context(), of(tt.no))
		if got.Reading != tt.want || got.Result != tt.result || got.Status != tt.status || strings.Join(s.asked, "") != tt.asked {
			t.Errorf("%q: %v, %v, %d, %q; asked %q", tt.no, got.Reading, got.Result, got.Status, got.Error, s.asked)
		}
		if wrong := tt.asked == ""; wrong != strings.HasPrefix(got.Error, "not sent: order_no: ") {
			t.Errorf("%q: error %q", tt.no, got.Error)
		}
	}
	if got := c.Query(t.Context(), of("A1")); got.Taken["transaction_id"] != "4200" || got.Header["content-length"] == "" {
		t.Errorf("taken %v, header %v", got.Taken, got.Header)
	}
}

func TestClose(t *testing.T) {
	s := open(t, map[string]string{"A1": "SUCCESS", "A2": "NOTPAY"})
	c := channel(t, s.options(t))
	tests := []struct {
		no   string
		want order.CloseReading
	}{
		{"A1", order.ClosePaidHint},
		{"A2", order.CloseDone},
		{"A3", order.CloseNotExist},
		{"..", order.CloseUnknown},
	}
	for _, tt := range tests {
		if got := c.Close(t.Context(), of(tt.no)); got.Reading != tt.want {
			t.Errorf("%q: %v, %q; want %v", tt.no, got.Reading, got.Error, tt.want)
		}
	}
	if want := `POST /orders/A1/close {"mchid":"1\"9"}`; len(s.asked) != 3 || s.asked[0] != want {
		t.Errorf("asked %q; want %q", s.asked, want)
	}
}

func TestReverse(t *testing.T) {
	s := open(t, nil)
	o := s.options(t)
	if _, ok := channel(t, o).(order.Reverser); ok {
		t.Error("reverses without a request for it")
	}
	o.Reverse = gateway.Request{URL: s.URL + "/orders/{order_no}/reverse"}
	c, ok := channel(t, o).(order.Reverser)
	if !ok {
		t.Fatal("does not reverse")
	}
	if got := c.Reverse(t.Context(), of("A1")); got.Reading != order.CloseDone || s.asked[0] != "POST /orders/A1/reverse" {
		t.Errorf("%v, %q; asked %q", got.Reading, got.Error, s.asked)
	}
}

// The answer to an attempt that was cut off decides nothing, even if only its end is missing.
func TestCutOff(t *testing.T) {
	o := (&shop{Server: &httptest.Server{URL: "http://gw.internal"}}).options(t)
	o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(`{"trade_state":"SUCCESS"}`), r.Context().Value(cut{}).(io.Reader))
		return &http.Response{StatusCode: 200, Body: io.NopCloser(body)}, nil
	})
	c := channel(t, o)
	for _, ask := range []func(context.Context) (order.Answer, string){
		func(ctx context.Context) (order.Answer, string) {
			a := c.Query(ctx, of("A1"))
			return a.Answer, a.Reading.String()
		},
		func(ctx context.Context) (order.Answer, string) {
			a := c.Close(ctx, of("A1"))
			return a.Answer, a.Reading.String()
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		a, reading := ask(context.WithValue(ctx, cut{}, readFunc(func([]byte) (int, error) {
			cancel()
			return 0, ctx.Err()
		})))
		if a.Result != bellman.Unknown || a.Status != 200 || reading != "QUERY_ERROR" && reading != "unknown" {
			t.Errorf("%s, %v, %d, %q", reading, a.Result, a.Status, a.Error)
		}
	}
}

type cut struct{}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Nor does what never came to an end, or never came.
func TestNoAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"trade_state":"SUCCESS"}`)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	c := channel(t, (&shop{Server: server}).options(t))

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got := c.Query(ctx, of("A1")); got.Reading != order.QueryError || got.Result != bellman.TimedOut {
		t.Errorf("timed out: %v, %v, %q", got.Reading, got.Result, got.Error)
	}
	for timeout := 100 * time.Millisecond; ; timeout *= 2 { // a slow machine may not have sent it yet
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		got := c.Close(ctx, of("A1"))
		cancel()
		if got.Reading == order.CloseInFlight && got.Result == bellman.TimedOut {
			break
		}
		if timeout > time.Minute {
			t.Fatalf("close timed out: %v, %v, %q", got.Reading, got.Result, got.Error)
		}
	}
	c = channel(t, (&shop{Server: &httptest.Server{URL: "http://127.0.0.1:1"}}).options(t)) // nothing listens on this port
	if got := c.Query(t.Context(), of("A1")); got.Reading != order.QueryError || got.Error != "connect: refused" {
		t.Errorf("refused: %v, %q", got.Reading, got.Error)
	}
}

func TestCheckOrder(t *testing.T) {
	s := open(t, nil)
	o := s.options(t)
	o.Query.Headers = map[string]string{"X-Shop": "{vars.shop}"}
	o.Reverse = gateway.Request{URL: s.URL + "/{vars.id}?no={order_no}", Body: `{"total":{vars.total}}`}
	checker := channel(t, o).(order.OrderChecker)
	tests := []struct {
		no   string
		vars map[string]string
		want []string // fields
	}{
		{"A1", map[string]string{"mch": "1", "shop": "s", "id": "i", "total": "5", "more": "1"}, nil},
		{"A1", nil, []string{"vars.shop", "vars.mch", "vars.id", "vars.total"}},
		{"..", map[string]string{"mch": "1", "shop": "a\r\nb", "id": "", "total": "five"}, []string{"order_no", "vars.shop", "vars.id", "vars.total"}},
	}
	for _, tt := range tests {
		err := checker.CheckOrder(&order.Order{OrderNo: tt.no, Vars: tt.vars})
		if !slices.Equal(invalidtest.Fields(err), tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%q, %v: %v; want %v", tt.no, tt.vars, err, tt.want)
		}
	}
}

func TestSigned(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	tests := []struct {
		scheme, secret string
		check          func(r *http.Request, body []byte) error
	}{
		{sign.MD5Params, secret, func(r *http.Request, body []byte) error {
			text := "mch=m&1&key=" + secret // of a query without a body
			given := r.URL.Query().Get("sign")
			if r.Method == "POST" {
				var fields map[string]string
				if err := json.Unmarshal(body, &fields); err != nil {
					return err
				}
				text, given = "mchid="+fields["mchid"]+"&key="+secret, fields["sign"]
			}
			sum := md5.Sum([]byte(text))
			return same(given, strings.ToUpper(hex.EncodeToString(sum[:])))
		}},
		{sign.StandardWebhooks, "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret)), func(r *http.Request, body []byte) error {
			mac := hmac.New(sha256.New, []byte(secret))
			fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), body)
			if len(r.Header.Get("Webhook-Id")) < 20 {
				return errors.New("no id")
			}
			return same(r.Header.Get("Webhook-Signature"), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}},
	}
	for _, tt := range tests {
		s := open(t, map[string]string{"A1": "NOTPAY"})
		s.check = tt.check
		o := s.options(t)
		o.Sign = sign.Config{Scheme: tt.scheme, Secrets: []sign.Secret{sign.NewSecret(tt.secret)}}
		c := channel(t, o)
		if got := c.Query(t.Context(), of("A1")); got.Reading != order.Pending {
			t.Errorf("%s: query: %v, %d %q %s", tt.scheme, got.Reading, got.Status, got.Body, s.asked)
		}
		if got := c.Close(t.Context(), of("A1")); got.Reading != order.CloseDone {
			t.Errorf("%s: close: %v, %d %q %s", tt.scheme, got.Reading, got.Status, got.Body, s.asked)
		}
		if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, secret) {
			t.Errorf("%s: prints its secret", tt.scheme)
		}
	}
}

func same(got, want string) error {
	if got != want {
		return fmt.Errorf("signature %q; want %q", got, want)
	}
	return nil
}

// An error of the configuration names its place and shows no secret.
func TestNew(t *testing.T) {
	s := &shop{Server: httptest.NewServer(nil)}
	defer s.Close()
	tests := []struct {
		change func(*gateway.Options)
		want   string
	}{
		{func(o *gateway.Options) { o.Query.URL = "" }, "gateway: query: url: want http://HOST/"},
		{func(o *gateway.Options) { o.Close = gateway.Request{} }, "gateway: close: url: want http://HOST/"},
		{func(o *gateway.Options) { o.Reverse.Body = "{}" }, "gateway: reverse: url: want http://HOST/"},
		{func(o *gateway.Options) { o.Close.Body = `{"a":"{vars.Ä}"}` }, "gateway: close: body: {vars.Ä} is unknown"},
		{func(o *gateway.Options) { o.States = nil }, "gateway: states: is needed, as is close_states"},
		{func(o *gateway.Options) { o.CloseStates = nil }, "gateway: states: is needed, as is close_states"},
		{func(o *gateway.Options) { o.Sign = sign.Config{Scheme: "none"} }, "gateway: sign: scheme"},
		{func(o *gateway.Options) {
			o.Sign = sign.Config{Scheme: sign.MD5Params, Secrets: []sign.Secret{sign.NewSecret("hush")}}
			o.Close.Body = "<a>{order_no}</a>"
		}, "gateway: close: cannot be signed: the body is no XML document of one root"},
		{func(o *gateway.Options) {
			o.Sign = sign.Config{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret("whsec_aHVzaGh1c2hodXNoaHVzaGh1c2hodXNo")}}
			o.Query.Headers = map[string]string{"webhook-id": "hush"}
		}, "gateway: query: headers.Webhook-Id: set by the signature"},
		{func(o *gateway.Options) { o.Query.Headers = map[string]string{"Authorization": "Bearer hush\n"} }, "gateway: query: headers.Authorization: its value"},
	}
	for _, tt := range tests {
		o := s.options(t)
		tt.change(&o)
		c, err := gateway.New(o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") || c != nil {
			t.Errorf("New = %v, %v; want %q", c, err, tt.want)
		}
	}
}

// A request to a host of the template alone, whatever the transport is.
func TestTransport(t *testing.T) {
	s := open(t, nil)
	o := s.options(t)
	var asked []*url.URL
	o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL)
		return nil, errors.New("no network")
	})
	got := channel(t, o).Query(t.Context(), of("@evil.example/x"))
	if len(asked) != 1 || "http://"+asked[0].Host != s.URL || got.Error != "no network" {
		t.Errorf("asked %v; %q", asked, got.Error)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

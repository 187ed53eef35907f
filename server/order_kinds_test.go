package server_test

import (
	"cmp"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/keytest"
)

// A provider is a loopback WeChat Pay or Alipay. It refuses requests that the merchant has not
// signed, and signs its answers.
type provider struct {
	t        *testing.T
	merchant *rsa.PrivateKey
	own      *rsa.PrivateKey

	mu     sync.Mutex
	asked  map[string][]string // by order
	closed map[string]bool
	paid   map[string]bool // beside those whose number begins with paid
	paidAt time.Time       // of all payments; zero: it is not said
	serial string          // of the key that signs; empty: PUB_KEY_ID_01

	listed    string // the answer to a download of certificates; empty: there is none
	throttled bool   // it wants no requests
	refused   int    // requests while it was throttled
}

func newProvider(t *testing.T) *provider {
	return &provider{t: t, merchant: newKey(t), own: newKey(t), asked: map[string][]string{}, closed: map[string]bool{}, paid: map[string]bool{}}
}

// Making a key takes a second with the race detector, so tests share them.
var made = struct {
	sync.Mutex
	keys  []*rsa.PrivateKey
	given map[*testing.T]int
}{given: map[*testing.T]int{}}

// newKey returns another key at each call of a test.
func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	made.Lock()
	defer made.Unlock()
	n := made.given[t]
	if n == 0 {
		t.Cleanup(func() {
			made.Lock()
			defer made.Unlock()
			delete(made.given, t)
		})
	}
	if n == len(made.keys) {
		made.keys = append(made.keys, keytest.RSA())
	}
	made.given[t]++
	return made.keys[n]
}

// keys returns the keys that the merchant gets: its own private key and the provider's public key,
// in PEM.
func (p *provider) keys() (private, public string) {
	return keytest.PrivatePEM(p.merchant), keytest.PublicPEM(p.own)
}

func (p *provider) sign(text string) string {
	p.mu.Lock()
	own := p.own
	p.mu.Unlock()
	return keytest.Sign(own, text)
}

// signed reports whether the merchant signed a text.
func (p *provider) signed(text, signature string) bool {
	return keytest.Verified(p.merchant, text, signature)
}

// act records a request about an order, and returns the state of the order: those whose numbers
// begin with paid are paid.
func (p *provider) act(no, what string) (paid, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[no] = append(p.asked[no], what)
	paid = strings.HasPrefix(no, "paid") || p.paid[no]
	if what != "query" && !paid {
		p.closed[no] = true
	}
	return paid, p.closed[no]
}

var authorization = regexp.MustCompile(`^WECHATPAY2-SHA256-RSA2048 mchid="(\d+)",nonce_str="(\w+)",signature="([^"]+)",timestamp="(\d+)",serial_no="5157F09E"$`)

// wechatAsked reads the body of a request to WeChat Pay, which a merchant must have signed.
func (p *provider) wechatAsked(r *http.Request, mch string) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
	}
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil || m[1] != mch || !p.signed(r.Method+"\n"+r.RequestURI+"\n"+m[4]+"\n"+m[2]+"\n"+string(body)+"\n", m[3]) {
		p.t.Errorf("%s %s is not signed by merchant %s: %s", r.Method, r.RequestURI, mch, r.Header.Get("Authorization"))
	}
	return body
}

// wechat answers as WeChat Pay's API v3.
func (p *provider) wechat(w http.ResponseWriter, r *http.Request) {
	p.wechatAsked(r, "1230000109")
	no, closing := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v3/pay/transactions/out-trade-no/"), "/close")
	status, says := http.StatusOK, ""
	if closing {
		if paid, _ := p.act(no, "close"); paid {
			status, says = http.StatusBadRequest, `{"code":"ORDERPAID","message":"paid"}`
		} else {
			status = http.StatusNoContent
		}
	} else {
		state := "NOTPAY"
		if paid, closed := p.act(no, "query"); paid {
			state = "SUCCESS"
		} else if closed {
			state = "CLOSED"
		}
		at := ""
		if !p.paidAt.IsZero() {
			at = fmt.Sprintf(`"success_time":%q,`, p.paidAt.Format(time.RFC3339))
		}
		says = fmt.Sprintf(`{"mchid":"1230000109","out_trade_no":%q,"trade_state":%q,"transaction_id":"4200001",%s"amount":{"total":1299,"currency":"CNY"}}`, no, state, at)
	}
	p.wechatSays(w, status, says)
}

// wechatHeader returns the headers that sign an answer or a notice.
func (p *provider) wechatHeader(body string) http.Header {
	p.mu.Lock()
	defer p.mu.Unlock()
	return keytest.WeChatHeader(p.own, cmp.Or(p.serial, "PUB_KEY_ID_01"), body, time.Now())
}

// wechatSays writes a signed answer.
func (p *provider) wechatSays(w http.ResponseWriter, status int, says string) {
	maps.Copy(w.Header(), p.wechatHeader(says))
	w.WriteHeader(status)
	io.WriteString(w, says)
}

var tradeNo = regexp.MustCompile(`^\{"out_trade_no":"([^"]+)"\}$`)

// alipayAsked reads a request to Alipay, which an application must have signed.
func (p *provider) alipayAsked(r *http.Request, app string) (method, content string) {
	if err := r.ParseForm(); err != nil {
		p.t.Error(err)
	}
	fields := map[string]string{}
	for name := range r.PostForm {
		fields[name] = r.PostForm.Get(name)
	}
	signature := fields["sign"]
	delete(fields, "sign")
	if fields["app_id"] != app || !p.signed(keytest.Pairs(fields), signature) {
		p.t.Errorf("not signed by the application %s: %s", app, r.PostForm.Encode())
	}
	return fields["method"], fields["biz_content"]
}

// alipaySays writes a signed answer to a call of a method.
func (p *provider) alipaySays(w http.ResponseWriter, method, says string) {
	fmt.Fprintf(w, `{"%s_response":%s,"sign":"%s"}`, strings.ReplaceAll(method, ".", "_"), says, p.sign(says))
}

// alipay answers as Alipay's gateway.
func (p *provider) alipay(w http.ResponseWriter, r *http.Request) {
	method, content := p.alipayAsked(r, "2014072300007148")
	m := tradeNo.FindStringSubmatch(content)
	if m == nil {
		p.t.Errorf("asked about no trade: %s", content)
		return
	}
	text := ""
	switch what := strings.TrimPrefix(method, "alipay.trade."); what {
	case "query":
		state := "WAIT_BUYER_PAY"
		if paid, closed := p.act(m[1], what); paid {
			state = "TRADE_SUCCESS"
		} else if closed {
			state = "TRADE_CLOSED"
		}
		text = fmt.Sprintf(`{"code":"10000","msg":"Success","out_trade_no":%q,"total_amount":"12.99","trade_no":"4200001","trade_status":%q}`, m[1], state)
	default:
		p.act(m[1], what)
		text = fmt.Sprintf(`{"code":"10000","msg":"Success","out_trade_no":%q,"trade_no":"4200001","retry_flag":"N","action":"close"}`, m[1])
	}
	p.alipaySays(w, method, text)
}

// The built-in channels, with keys in files, in the environment and in the text, through the whole
// server.
func TestChannelKinds(t *testing.T) {
	tests := []struct {
		name    string
		answers func(*provider) http.HandlerFunc
		channel string
		rules   string
		unpaid  string // how an order ends that nobody pays
		asked   string // about it
	}{
		{"wechatpay", func(p *provider) http.HandlerFunc { return p.wechat },
			`{kind: wechatpay, url: "PROVIDER", mch_id: "1230000109", serial: 5157F09E, private_key: "file:PRIVATE", platform_keys: {PUB_KEY_ID_01: "file:PUBLIC"}}`,
			"on_exhausted: close\n    min_close_age: 0s", "CLOSED", "query query close query"},
		{"alipay", func(p *provider) http.HandlerFunc { return p.alipay },
			`{kind: alipay, url: "PROVIDER/gateway.do", app_id: "2014072300007148", private_key: "file:PRIVATE", alipay_public_keys: ["env:ORDER_TEST_ALIPAY_KEY"]}`,
			"on_exhausted: close", "CLOSED", "query query close query"},
		{"alipay that cancels", func(p *provider) http.HandlerFunc { return p.alipay },
			`{kind: alipay, url: "PROVIDER/gateway.do", app_id: "2014072300007148", private_key: "file:PRIVATE", alipay_public_keys: ["env:ORDER_TEST_ALIPAY_KEY"]}`,
			"on_exhausted: reverse\n    min_reverse_age: 0s", "REVOKED", "query query cancel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, d := newProvider(t), newDesk(t)
			at := httptest.NewServer(tt.answers(p))
			t.Cleanup(at.Close)
			private, public := keyFiles(t, p)
			t.Setenv("ORDER_TEST_ALIPAY_KEY", base64.StdEncoding.EncodeToString(keytest.Public(p.own)))
			text := `
queues:
  tell: {url: "MERCHANT/notify"}
  orders:
    kind: order
    channel: ` + tt.channel + `
    ` + tt.rules + `
    schedule: 20ms, 1h*
    confirm: 0s
    late_watch: 0s
    then: {queue: tell, json: {amount: taken.amount - 99}}
`
			api, _ := d.serve(t, d.parse(t, strings.NewReplacer("PROVIDER", at.URL, "PRIVATE", private, "PUBLIC", public).Replace(text)))
			for _, no := range []string{"paid-1", "unpaid-1"} {
				create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, Expires: "300ms", Amount: 1299, Currency: "CNY"})
			}
			want := map[string]string{"paid-1": "PAID", "unpaid-1": tt.unpaid}
			asked := map[string]string{"paid-1": "query", "unpaid-1": tt.asked}
			for no, state := range want {
				o, told := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no})
				p.mu.Lock()
				was := strings.Join(p.asked[no], " ")
				p.mu.Unlock()
				was, asked := beforeExpiry(o, 300*time.Millisecond, was, asked[no])
				if o.OrderState != state || was != asked || events(told) != "order."+strings.ToLower(state) {
					t.Errorf("order %s is %s, told %s, asked %s; want %s, asked %s", no, o.OrderState, events(told), was, state, asked)
				}
				for _, n := range told {
					if state == "PAID" && (n.Says["transaction_id"] != "4200001" || n.Says["order_no"] != no || n.Says["amount"] != 1200.) {
						t.Errorf("order %s: told %v; want the transaction, and the amount that the queue tells", no, n.Says)
					}
				}
			}
		})
	}
}

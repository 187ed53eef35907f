package server_test

import (
	"cmp"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// A till receives notifications of any form, and answers each with the same text.
type till struct {
	url    string
	answer string

	mu   sync.Mutex
	told []heard
}

// heard is one request that a shop got.
type heard struct {
	method, path, media string
	fields              url.Values // of query and form, as a servlet's getParameter reads them
	body                string
}

func newTill(t *testing.T, answer string) *till {
	s := &till{answer: answer}
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		h := heard{method: r.Method, path: r.URL.Path, media: r.Header.Get("Content-Type"), body: string(body), fields: r.URL.Query()}
		if strings.HasPrefix(h.media, "application/x-www-form-urlencoded") {
			form, err := url.ParseQuery(h.body)
			if err != nil {
				t.Error(err)
			}
			maps.Copy(h.fields, form)
		}
		s.mu.Lock()
		s.told = append(s.told, h)
		s.mu.Unlock()
		io.WriteString(w, s.answer)
	}))
	t.Cleanup(at.Close)
	s.url = at.URL
	return s
}

func (s *till) heard() []heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.told)
}

// serveQueues runs a server with queues and a master key, in a directory of its own or the given
// one.
func (d *desk) serveQueues(t *testing.T, queues []config.Queue, dir string) (*client.Client, *server.Server, func()) {
	t.Helper()
	return serveLogged(t, cmp.Or(dir, t.TempDir()), slog.New(slog.NewTextHandler(&d.log, nil)), func(c *config.Config) {
		c.Queues, c.Notices.Listen = queues, "127.0.0.1:0"
		c.MasterKeys = []sign.Secret{sign.NewSecret(base64.StdEncoding.EncodeToString(make([]byte, 32)))}
	})
}

// jeepaySign is JeepayKit.getSign: texts name=value& sorted without regard to case, key= and the
// key behind them, MD5 in capitals.
func jeepaySign(fields url.Values, key string) string {
	var list []string
	for name, values := range fields {
		if name != "sign" && values[0] != "" {
			list = append(list, name+"="+values[0]+"&")
		}
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	sum := md5.Sum([]byte(strings.Join(list, "") + "key=" + key))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// roncooSign is MerchantApiUtil.getSign: name=value sorted by name and joined with &, &paySecret=
// and the secret behind them, MD5 in capitals.
func roncooSign(fields url.Values, secret string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value := fields.Get(name); name != "sign" && strings.TrimSpace(value) != "" {
			list = append(list, name+"="+value)
		}
	}
	sum := md5.Sum([]byte(strings.Join(list, "&") + "&paySecret=" + secret))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// documented returns the configuration that a page shows for merchants of a jeepay platform.
func documented(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "template: jeepay\n```")
	if after == "" {
		t.Fatalf("%s shows no configuration with the template jeepay", page)
	}
	before := strings.TrimSuffix(string(text), "```"+after)
	return before[strings.LastIndex(before, "```yaml\n")+len("```yaml\n"):]
}

// The configuration of the documentation tells merchants what a jeepay or roncoo platform tells
// them: method, fields, values and signature, field by field.
func TestMerchantsNoticeNoChange(t *testing.T) {
	const key = "4ChT08phkz59hquD795X7w=="
	english := documented(t, "../docs/orders.md")
	if documented(t, "../docs/zh/orders.md") != english {
		t.Error("the Chinese page shows another configuration")
	}
	roncoo := strings.NewReplacer("schedule: jeepay_notify", "schedule: roncoo_notify", "success: jeepay", "success: success_text", "template: jeepay", "template: roncoo").Replace(english)
	millis := func(at string) string {
		when, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(when.UnixMilli(), 10)
	}
	created := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	china := created.In(time.FixedZone("", 8*3600))
	tests := map[string]struct {
		config, answer, scheme string
		state                  string // of the channel
		method                 string
		vars                   map[string]string
		want                   map[string]string
		free                   string // a field whose value is a time of the server
		sum                    func(url.Values, string) string
	}{
		"jeepay": {config: english, answer: "SUCCESS", scheme: "jeepay_md5", state: "SUCCESS", method: "POST", free: "reqTime", sum: jeepaySign,
			vars: map[string]string{"appId": "64e5", "ifCode": "wxpay", "wayCode": "WX_JSAPI", "clientIp": "10.0.0.1", "subject": "茶 & tea", "body": "a=b", "extParam": ""},
			want: map[string]string{"payOrderId": "P1001", "mchNo": "M1", "mchOrderNo": "20261120000001", "appId": "64e5", "ifCode": "wxpay", "wayCode": "WX_JSAPI", "amount": "1299", "currency": "cny",
				"state": "2", "clientIp": "10.0.0.1", "subject": "茶 & tea", "body": "a=b", "extParam": "", "channelOrderNo": "42", "successTime": millis("2026-11-20T15:04:05Z"), "createdAt": strconv.FormatInt(created.UnixMilli(), 10)}},
		"jeepay, failed": {config: english, answer: "success", scheme: "jeepay_md5", state: "PAYERROR", method: "POST", free: "reqTime", sum: jeepaySign,
			vars: map[string]string{"appId": "64e5", "wayCode": "WX_BAR"},
			want: map[string]string{"payOrderId": "P1001", "mchNo": "M1", "mchOrderNo": "20261120000001", "appId": "64e5", "wayCode": "WX_BAR", "amount": "1299", "currency": "cny", "state": "3", "createdAt": strconv.FormatInt(created.UnixMilli(), 10)}},
		"roncoo": {config: roncoo, answer: "success", scheme: "roncoo_md5", state: "SUCCESS", method: "GET", sum: roncooSign,
			vars: map[string]string{"payKey": "pk", "productName": "茶 & tea", "payWayCode": "WEIXIN", "remark": " "},
			want: map[string]string{"payKey": "pk", "productName": "茶 & tea", "orderNo": "20261120000001", "orderPrice": "12.99", "payWayCode": "WEIXIN", "tradeStatus": "SUCCESS", "orderDate": china.Format("20060102"),
				"orderTime": china.Format("20060102150405"), "remark": " ", "trxNo": "P1001"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.answer = func(no, what string, _ int, _ *http.Request) (int, string) {
				if no != "P1001" {
					t.Errorf("asked about %s", no)
				}
				return 200, fmt.Sprintf(`{"out_trade_no":"P1001","trade_state":%q,"transaction_id":"42","amount":{"total":1299,"currency":"CNY"},"success_time":"2026-11-20T23:04:05+08:00"}`, tt.state)
			}
			merchant := newTill(t, tt.answer)
			text := strings.ReplaceAll(tt.config, "http://gateway.internal/orders", "CHANNEL")
			api, _, _ := d.serveQueues(t, d.parse(t, text), "")
			if _, _, err := api.PutMerchant(t.Context(), "M1", client.PutMerchant{NotifyURL: merchant.url + "/pay/notify?shop=7",
				Sign: &client.MerchantSign{Scheme: tt.scheme, Secrets: []string{key}}}); err != nil {
				t.Fatal(err)
			}
			create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "20261120000001", ChannelOrderNo: "P1001", Amount: 1299, Currency: "CNY", Vars: tt.vars, OrderCreated: client.Time{Time: created}})
			d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: "20261120000001"})
			told := merchant.heard()
			if len(told) != 1 || told[0].method != tt.method || told[0].path != "/pay/notify" {
				t.Fatalf("told %+v; want one %s", told, tt.method)
			}
			got := told[0].fields
			if got.Get("shop") != "7" {
				t.Errorf("the address's own parameter is lost: %v", got)
			}
			got.Del("shop")
			if tt.method == "GET" && (told[0].body != "" || told[0].media != "") {
				t.Errorf("a GET with the body %q of type %q", told[0].body, told[0].media)
			}
			if at, err := strconv.ParseInt(got.Get(cmp.Or(tt.free, "orderTime")), 10, 64); err != nil || tt.free != "" && time.Since(time.UnixMilli(at)).Abs() > time.Hour {
				t.Errorf("%s is %q", tt.free, got.Get(tt.free))
			}
			if want := tt.sum(got, key); got.Get("sign") != want {
				t.Errorf("sign %s; want %s of %v", got.Get("sign"), want, got)
			}
			got.Del("sign")
			got.Del(tt.free)
			for field, want := range tt.want {
				if !got.Has(field) || got.Get(field) != want {
					t.Errorf("%s is %q; want %q", field, got.Get(field), want)
				}
				got.Del(field)
			}
			if len(got) > 0 {
				t.Errorf("the merchant also gets %v", got)
			}
		})
	}
}

// Two notices of a late payment, a crash between them and a query cause one request of its refund,
// under one number; so does a duplicate payment, under another.
func TestRefundsALatePaymentOnce(t *testing.T) {
	d := newDesk(t)
	var mu sync.Mutex
	requests := map[string][]string{}
	refunds := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodPost {
			var in struct{ No string }
			if err := json.Unmarshal(body, &in); err != nil {
				t.Error(err)
			}
			requests[in.No] = append(requests[in.No], string(body))
			return
		}
		fmt.Fprintf(w, `{"state":"done","no":%q}`, strings.TrimPrefix(r.URL.Path, "/"))
	}))
	t.Cleanup(refunds.Close)
	queues := d.parse(t, strings.ReplaceAll(`
queues:
  tell: {url: "MERCHANT/notify"}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: close
    late_watch: 0s
    schedule: 1m*
    notice: {verify: {scheme: hmac_sha256, header: X-Signature, secrets: [gateway-secret-of-32-characters!]}, order: json.out_trade_no, states: wechat_v3}
    then: {PAID: tell, late_payment: {refund: refunds}, duplicate_payment: {refund: refunds}}
  refunds:
    kind: poll
    query: {url: "REFUNDS/{ref_no}"}
    request: {method: POST, url: "REFUNDS/", body: '{"no": "{ref_no}", "order": "{order_no}", "fen": {vars.amount}, "of": "{vars.transaction_id}", "shop": "{vars.shop}"}'}
    states: {done: json.state == "done", failed: json.state == "failed", waiting: json.state == "new"}
    about: json.no
    schedule: 20ms*
    then: tell
`, "REFUNDS", refunds.URL))
	dir := t.TempDir()
	api, s, stop := d.serveQueues(t, queues, dir)
	place := func(no string, vars map[string]string) error {
		_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: no, ChannelOrderNo: "C" + no, Amount: 1299, Currency: "CNY", Vars: vars})
		return err
	}
	if err := place("A0", nil); err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "vars.shop") {
		t.Errorf("an order whose payment could not be refunded: %v; want vars.shop named", err)
	}
	for _, no := range []string{"A1", "A2"} {
		if err := place(no, map[string]string{"shop": "7", "amount": "1"}); err != nil {
			t.Fatal(err)
		}
	}
	ref := client.OrderRef{MerchantNo: "M1", OrderNo: "A1"}
	if _, err := api.CompleteOrder(t.Context(), ref, client.CompleteTask{Outcome: "CLOSED", Reason: "the shop closed it"}); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(paidNotice("CA2", 1299), `"42"`, `"43"`, 1)
	for _, body := range []string{paidNotice("CA1", 1299), paidNotice("CA1", 1299), paidNotice("CA2", 1299), other, other} {
		if status, answer := notify(t, s, body, gatewayKey); status != 200 {
			t.Fatalf("notice: %d %s", status, answer)
		}
	}
	stop()
	api, s, _ = d.serveQueues(t, queues, dir)
	for _, body := range []string{paidNotice("CA1", 1299), other} {
		if status, answer := notify(t, s, body, gatewayKey); status != 200 {
			t.Fatalf("notice: %d %s", status, answer)
		}
	}
	for no, payment := range map[string]string{"A1": "42", "A2": "43"} { // somebody asks for the same refunds, and gives no number
		_, _, err := api.Create(t.Context(), client.CreateTask{Queue: "refunds", MerchantNo: "M1", OrderNo: no, Vars: map[string]string{"amount": "1299", "shop": "7", "transaction_id": payment}})
		if err == nil || !strings.Contains(err.Error(), "409") {
			t.Errorf("another refund of %s: %v; want a conflict", no, err)
		}
	}
	want := map[string]string{"CA1-R1": `{"no": "CA1-R1", "order": "CA1", "fen": 1299, "of": "42", "shop": "7"}`}
	for _, no := range []string{"A1", "A2"} {
		o, _ := d.ends(t, api, client.OrderRef{MerchantNo: "M1", OrderNo: no})
		polls := 0
		for _, k := range o.Tasks {
			if k.Queue != "refunds" {
				continue
			}
			polls++
			if k.State != "succeeded" || k.Reason != "done" {
				t.Errorf("refund %+v", k)
			}
			task, err := api.Task(t.Context(), client.ByID(k.ID))
			if err != nil {
				t.Fatal(err)
			}
			if no == "A2" {
				want[task.RefNo] = `{"no": "` + task.RefNo + `", "order": "CA2", "fen": 1299, "of": "43", "shop": "7"}`
			}
		}
		if polls != 1 {
			t.Errorf("%s: %d tasks of the queue refunds; want 1", no, polls)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(requests) != 2 || len(want) != 2 {
		t.Fatalf("requested %v; want %v", requests, want)
	}
	for no, body := range want {
		if !slices.Equal(requests[no], []string{body}) {
			t.Errorf("requests of %s: %q; want one, %s", no, requests[no], body)
		}
	}
}

// A queue of its own address is told there by a queue's own keys; a registered merchant gets what
// is its own.
func TestToldAtTheQueuesOwnAddress(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.answer = func(string, string, int, *http.Request) (int, string) { return says("SUCCESS") }
	merchant, ledger := newTill(t, "success"), newTill(t, "success")
	api, _, _ := d.serveQueues(t, d.parse(t, `
queues:
  tell: {schedule: "0s"}
  ledger: {url: "`+ledger.url+`/in", sign: {scheme: md5_params, secrets: [ledger-key]}}
  orders:
    kind: order
    query: {method: GET, url: "CHANNEL/{order_no}"}
    close: {method: POST, url: "CHANNEL/{order_no}/close"}
    states: wechat_v3
    close_states: wechat_v3
    on_exhausted: close
    then: {PAID: [tell, {queue: ledger, template: {format: query, fields: {no: order_no, amt: amount}}}], template: {format: xml, fields: {no: order_no, who: vars.who}}}
`), "")
	for _, no := range []string{"M1", "M2"} {
		if _, _, err := api.PutMerchant(t.Context(), no, client.PutMerchant{NotifyURL: merchant.url + "/m", Sign: &client.MerchantSign{Scheme: "md5_params", Secrets: []string{"merchant-key"}}}); err != nil {
			t.Fatal(err)
		}
	}
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M1", OrderNo: "A1", Vars: map[string]string{"who": "a<b"}})
	passes(t, "both are told", func() bool { return len(ledger.heard()) > 0 && len(merchant.heard()) > 0 })
	sum := func(text string) string {
		s := md5.Sum([]byte(text))
		return strings.ToUpper(hex.EncodeToString(s[:]))
	}
	if m, want := merchant.heard()[0], "<xml><no>A1</no><who>a&lt;b</who><sign>"+sum("no=A1&who=a<b&key=merchant-key")+"</sign></xml>"; m.path != "/m" || m.body != want || m.media != "text/xml; charset=utf-8" {
		t.Errorf("merchant told %+v; want %s", m, want)
	}
	if l := ledger.heard()[0]; l.path != "/in" || l.method != "GET" || l.fields.Encode() != "amt=1299&no=A1&sign="+sum("amt=1299&no=A1&key=ledger-key") {
		t.Errorf("ledger told %+v", l)
	}

	// The order's page has both, and nothing of another merchant's order of that number.
	create(t, api, client.CreateTask{Queue: "orders", MerchantNo: "M2", OrderNo: "A1", ChannelOrderNo: "B1", Vars: map[string]string{"who": "b"}})
	passes(t, "the ledger is told of the other order", func() bool { return len(ledger.heard()) == 2 })
	o, err := api.Order(t.Context(), client.OrderRef{MerchantNo: "M1", OrderNo: "A1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, task := range o.Tasks {
		of = append(of, task.Queue+" "+task.Key)
	}
	slices.Sort(of)
	if want := []string{"ledger orders/M1/A1/decided", "orders M1/A1", "tell orders/M1/A1/decided"}; !slices.Equal(of, want) {
		t.Errorf("the order has the tasks %q; want %q", of, want)
	}
}

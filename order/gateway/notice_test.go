package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

var noticed = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const (
	noticeKey = "correct-horse-battery-staple"
	webhookID = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

func noticeOptions(t testing.TB, orderText string) NoticeOptions {
	t.Helper()
	value, err := rule.CompileValue(orderText)
	if err != nil {
		t.Fatal(err)
	}
	query, err := states.CompileQueryRules(map[string]string{
		"PAID": `json.state == "paid"`, "CLOSED": `json.state == "closed"`, "PENDING": `json.state == "open"`,
	})
	if err != nil {
		t.Fatal(err)
	}
	return NoticeOptions{
		Verify: sign.VerifyConfig{Scheme: sign.HMACBody, Header: "X-Signature", Secrets: []sign.Secret{sign.NewSecret(noticeKey)}},
		Order:  value, States: query,
	}
}

func noticesOf(t testing.TB, o NoticeOptions) *Notices {
	t.Helper()
	n, err := NewNotices(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func hmacOf(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// signedNotice is a notice with the signature of a key.
func signedNotice(key, body string) *order.RawNotice {
	return &order.RawNotice{Header: http.Header{"X-Signature": {hmacOf(key, body)}}, Body: []byte(body), At: noticed}
}

// summary is what is read, one text for each notice.
func summary(items []order.Notice) string {
	var parts []string
	for _, n := range items {
		taken := ""
		if n.Taken != nil {
			text, _ := json.Marshal(n.Taken)
			taken = " " + string(text)
		}
		if n.Err != nil {
			taken = fmt.Sprintf(" (%.60v)", n.Err)
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %v%s", n.ID, n.OrderNo, n.Reading, taken)))
	}
	return strings.Join(parts, "; ")
}

func TestReadNotice(t *testing.T) {
	preset := func(o *NoticeOptions) {
		query, err := states.CompileQuery("wechat_v3")
		if err != nil {
			t.Fatal(err)
		}
		o.States = query
	}
	items := func(o *NoticeOptions) { o.Items = "data.items" }
	tests := []struct {
		name, order string
		change      func(*NoticeOptions)
		body        string
		want        string
	}{
		{"a text", `json.no`, nil, `{"no":"A1","state":"paid"}`, `A1 PAID`},
		{"a whole number", `json.no`, nil, `{"no":20261120000001,"state":"paid"}`, `20261120000001 PAID`},
		{"of a preset", `json.out_trade_no`, preset, `{"out_trade_no":"A1","trade_state":"SUCCESS","amount":{"total":8888}}`, `A1 PAID {"amount":8888,"currency":"CNY"}`},
		{"decides nothing", `json.no`, nil, `{"no":"A1","state":"new"}`, `A1 QUERY_ERROR`},
		{"several orders of which it says the same", `json.nos`, nil, `{"nos":["A1","A2"],"state":"closed"}`, `A1 CLOSED; A2 CLOSED`},
		{"one of which is bad", `json.nos`, nil, `{"nos":["A1",null,"",1.5,"A2"],"state":"closed"}`,
			`A1 CLOSED; QUERY_ERROR (order: what stands there is neither text nor a whole number); QUERY_ERROR (order: is empty); ` +
				`QUERY_ERROR (order: what stands there is neither text nor a whole number); A2 CLOSED`},
		{"no order", `json.no`, nil, `{"state":"paid"}`, `QUERY_ERROR (order: rule: no such key: no (the body has no such field))`},
		{"an empty list", `json.nos`, nil, `{"nos":[],"state":"paid"}`, `QUERY_ERROR (order: the list is empty)`},
		{"an object", `json`, nil, `{"no":"A1"}`, `QUERY_ERROR (order: what stands there is neither text nor a whole number)`},
		{"no JSON", `json.no`, nil, `<no>A1</no>`, `QUERY_ERROR (order: rule: no such key: no (the body is not JSON: invalid )`},
		{"items", `json.no`, items, `{"data":{"items":[{"no":"A1","state":"paid"},{"no":"A2","state":"open"}]}}`, `A1 PAID; A2 PENDING`},
		{"items of a preset", `json.out_trade_no`, func(o *NoticeOptions) { items(o); preset(o) },
			`{"data":{"items":[{"out_trade_no":"A1","trade_state":"SUCCESS","amount":{"total":9007199254740993}}]}}`, `A1 PAID {"amount":9007199254740993,"currency":"CNY"}`},
		{"no items", `json.no`, items, `{"data":{}}`, `QUERY_ERROR (items: want a list with at least one item)`},
		{"items that are no list", `json.no`, items, `{"data":{"items":{}}}`, `QUERY_ERROR (items: want a list with at least one item)`},
		{"items of no object", `json.no`, items, `{"data":[]}`, `QUERY_ERROR (items: no object has the field "items")`},
		{"too many items", `json.no`, items, `{"data":{"items":[` + strings.Repeat("1,", 1000) + `1]}}`, `QUERY_ERROR (items: 1001: want 1000 or fewer)`},
		{"too many orders", `json.nos`, nil, `{"nos":[` + strings.Repeat("1,", 1000) + `1]}`, `QUERY_ERROR (the notice is about 1001 orders: want 1000 or fewer)`},
	}
	for _, tt := range tests {
		o := noticeOptions(t, tt.order)
		if tt.change != nil {
			tt.change(&o)
		}
		got, hint, err := noticesOf(t, o).ReadNotice(signedNotice(noticeKey, tt.body))
		text := summary(got)
		if err != nil || hint != "" || text != tt.want {
			t.Errorf("%s: %s, hint %q, %v; want %s", tt.name, text, hint, err, tt.want)
		}
		for _, n := range got {
			if n.Of != order.OfPayment && n.Err == nil {
				t.Errorf("%s: of %q", tt.name, n.Of)
			}
		}
	}
}

// Trap: several items in one body of which one is bad. The others are read.
func TestSeveralItemsOfWhichOneIsBad(t *testing.T) {
	o := noticeOptions(t, "json.no")
	o.Items = "items"
	got, _, err := noticesOf(t, o).ReadNotice(signedNotice(noticeKey,
		`{"items":[{"no":"A1","state":"paid"},{"state":"paid"},"x",null,{"no":{},"state":"paid"},{"no":"A6","state":"closed"}]}`))
	if err != nil || len(got) != 6 {
		t.Fatalf("%v, %v; want six notices", got, err)
	}
	for i, n := range got {
		if good := i == 0 || i == 5; (n.Err == nil) != good || n.Reading.Decides() != good {
			t.Errorf("item %d: %v, %v", i, n.Reading, n.Err)
		}
	}
	if got[0].Reading != order.Paid || got[5].Reading != order.Closed || string(got[5].Answer.Body) != `{"no":"A6","state":"closed"}` {
		t.Errorf("read %s, %s", summary(got), got[5].Answer.Body)
	}
}

func TestNoticeForm(t *testing.T) {
	read := func(kind, body string) string {
		raw := signedNotice(noticeKey, body)
		raw.Header.Set("Content-Type", kind)
		got, _, err := noticesOf(t, noticeOptions(t, "json.no")).ReadNotice(raw)
		if err != nil {
			t.Fatal(err)
		}
		return summary(got)
	}
	for _, tt := range []struct{ kind, body, want string }{
		{"application/x-www-form-urlencoded; charset=utf-8", "no=A%201&state=paid", "A 1 PAID"},
		{"application/x-www-form-urlencoded", "no=A1&no=A2&state=paid", `QUERY_ERROR (the notice has the field "no" twice)`},
		{"application/x-www-form-urlencoded", "no=%zz", "QUERY_ERROR (the notice is not a form)"},
		{"application/x-www-form-urlencoded", ` {"no":"A1"}`, "QUERY_ERROR (the notice is JSON, and its Content-Type says that it is a f)"},
		{"application/json", `{"no":"A1","state":"paid"}`, "A1 PAID"},
	} {
		if got := read(tt.kind, tt.body); got != tt.want {
			t.Errorf("%s %s: %s; want %s", tt.kind, tt.body, got, tt.want)
		}
	}
}

// Each scheme of package sign, with the id that a repeat has, too.
func TestNoticeSchemes(t *testing.T) {
	const body = `{"id":"evt_1","items":[{"no":"A1","state":"paid"},{"no":"A2","state":"paid"}]}`
	hook, err := standardwebhooks.NewWebhook(webhookID)
	if err != nil {
		t.Fatal(err)
	}
	standard, err := hook.Sign("msg_1", noticed, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	stamp := fmt.Sprint(noticed.Unix())
	for _, tt := range []struct {
		config sign.VerifyConfig
		header http.Header
		want   string
	}{
		{sign.VerifyConfig{Scheme: sign.StandardWebhooks, Secrets: []sign.Secret{sign.NewSecret(webhookID)}},
			http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {standard}}, `msg_1/1 A1 PAID; msg_1/2 A2 PAID`},
		{sign.VerifyConfig{Scheme: sign.Stripe, Secrets: []sign.Secret{sign.NewSecret(noticeKey)}},
			http.Header{"Stripe-Signature": {"t=" + stamp + ",v1=" + hmacOf(noticeKey, stamp+"."+body)}}, `evt_1/1 A1 PAID; evt_1/2 A2 PAID`},
		{sign.VerifyConfig{Scheme: sign.HMACBody, Header: "X-Signature", Secrets: []sign.Secret{sign.NewSecret(noticeKey)}},
			http.Header{"X-Signature": {hmacOf(noticeKey, body)}}, `A1 PAID; A2 PAID`},
	} {
		o := noticeOptions(t, "json.no")
		o.Verify, o.Items = tt.config, "items"
		n := noticesOf(t, o)
		raw := &order.RawNotice{Header: tt.header, Body: []byte(body), At: noticed}
		for range 2 {
			if got, _, err := n.ReadNotice(raw); err != nil || summary(got) != tt.want {
				t.Errorf("%s: %s, %v; want %s", tt.config.Scheme, summary(got), err, tt.want)
			}
		}
		raw.Body = []byte(body + " ")
		if got, hint, err := n.ReadNotice(raw); err == nil || got != nil || hint != "A1" {
			t.Errorf("%s with another body: %v, hint %q, %v", tt.config.Scheme, got, hint, err)
		}
	}
}

// Trap: several signatures in one header while secrets change. Either side may have changed first.
func TestSeveralSignaturesInOneHeader(t *testing.T) {
	const body = `{"no":"A1","state":"paid"}`
	o := noticeOptions(t, "json.no")
	o.Verify.Secrets = []sign.Secret{sign.NewSecret("the newer secret"), sign.NewSecret("the older secret")}
	n := noticesOf(t, o)
	for _, signature := range []string{
		hmacOf("the older secret", body), hmacOf("the newer secret", body),
		hmacOf("a later secret", body) + "," + hmacOf("the newer secret", body),
		hmacOf("the older secret", body) + ", " + hmacOf("an earlier secret", body),
	} {
		if got, _, err := n.ReadNotice(&order.RawNotice{Header: http.Header{"X-Signature": {signature}}, Body: []byte(body), At: noticed}); err != nil || summary(got) != "A1 PAID" {
			t.Errorf("%s: %v, %v", signature, got, err)
		}
	}
}

func TestNoticeIsRefused(t *testing.T) {
	n := noticesOf(t, noticeOptions(t, "json.no"))
	for _, tt := range []struct {
		name string
		raw  *order.RawNotice
		want string
		hint string
	}{
		{"a stranger's", signedNotice("stranger", `{"no":"A1","state":"paid"}`), "signature is wrong", "A1"},
		{"not signed", &order.RawNotice{Body: []byte(`{"no":1,"state":"paid"}`), At: noticed}, "not signed", "1"},
		{"of no order", signedNotice("stranger", `{"state":"paid"}`), "signature is wrong", ""},
		{"of several", signedNotice("stranger", `{"no":["A1"]}`), "signature is wrong", ""},
		{"of an order that cannot be", signedNotice("stranger", `{"no":"a b"}`), "signature is wrong", ""},
		{"of an order that is too long", signedNotice("stranger", `{"no":"`+strings.Repeat("a", 129)+`"}`), "signature is wrong", ""},
		{"too long", signedNotice(noticeKey, strings.Repeat(" ", order.MaxBody+1)), "more than 65536 bytes", ""},
	} {
		if items, hint, err := n.ReadNotice(tt.raw); err == nil || !strings.Contains(err.Error(), tt.want) || items != nil || hint != tt.hint {
			t.Errorf("%s: %v, hint %q, %v; want hint %q and %q", tt.name, items, hint, err, tt.hint, tt.want)
		}
	}
}

func TestNoticeOptions(t *testing.T) {
	change := func(f func(*NoticeOptions)) NoticeOptions {
		o := noticeOptions(t, "json.no")
		f(&o)
		return o
	}
	for _, tt := range []struct {
		options NoticeOptions
		want    string
	}{
		{change(func(o *NoticeOptions) { o.Order = nil }), "order and states are needed"},
		{change(func(o *NoticeOptions) { o.States = nil }), "order and states are needed"},
		{change(func(o *NoticeOptions) { o.Verify = sign.VerifyConfig{} }), "verify: scheme: "},
		{change(func(o *NoticeOptions) { o.Accepted.Status = 99 }), "answer.accepted.status: 99: want 200 to 599"},
		{change(func(o *NoticeOptions) { o.Refused.Status = 600 }), "answer.refused.status: 600"},
	} {
		if _, err := NewNotices(tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v; want %s", err, tt.want)
		}
	}
	n := noticesOf(t, noticeOptions(t, "json.no"))
	if shown := fmt.Sprintf("%v %+v %#v", n, n, *n); strings.Contains(shown, noticeKey[:12]) {
		t.Errorf("the secret shows in %s", shown)
	}
	const text = "text/plain; charset=utf-8"
	for accepted, want := range map[bool]order.NoticeAnswer{true: {Status: 200, ContentType: text, Body: "success"}, false: {Status: 400, ContentType: text, Body: "fail"}} {
		if got := n.AnswerNotice(accepted, "why"); got != want {
			t.Errorf("accepted %t: %+v; want %+v", accepted, got, want)
		}
	}
	n = noticesOf(t, change(func(o *NoticeOptions) {
		o.Accepted = order.NoticeAnswer{Status: 204}
		o.Refused = order.NoticeAnswer{ContentType: "application/json", Body: `{"code":1}`}
	}))
	for accepted, want := range map[bool]order.NoticeAnswer{true: {Status: 204}, false: {Status: 400, ContentType: "application/json", Body: `{"code":1}`}} {
		if got := n.AnswerNotice(accepted, "why"); got != want {
			t.Errorf("accepted %t: %+v; want %+v", accepted, got, want)
		}
	}
}

// What is not signed is not read, and what is signed is read without a panic: every notice has an
// order or an error.
func FuzzReadNotice(f *testing.F) {
	f.Add(`{"no":"A1","state":"paid"}`, "application/json", "")
	f.Add(`{"items":[{"no":"A1","state":"paid"},{"no":[]},1,null]}`, "application/json", "items")
	f.Add(`{"a":{"b":[{"no":["A1",2,""]}]}}`, "", "a.b")
	f.Add(`no=A1&state=paid`, "application/x-www-form-urlencoded", "")
	f.Add(`no=%FF&no=`, "application/x-www-form-urlencoded; charset=gbk", ".")
	base := noticeOptions(f, "json.no")
	f.Fuzz(func(t *testing.T, body, kind, path string) {
		o := base
		o.Items = path
		n := noticesOf(t, o)
		raw := signedNotice(noticeKey, body)
		raw.Header.Set("Content-Type", kind)
		items, hint, err := n.ReadNotice(raw)
		if (err == nil) != (len(items) > 0) || hint != "" {
			t.Errorf("%q: %v, hint %q, %v", body, items, hint, err)
		}
		for _, item := range items {
			if (item.Err == nil) != (item.OrderNo != "") || item.Err != nil && (item.Reading.Decides() || item.Taken != nil) {
				t.Errorf("%q: %+v", body, item)
			}
		}
		raw.Header.Set("X-Signature", hmacOf("stranger", body))
		if items, _, err := n.ReadNotice(raw); err == nil || items != nil {
			t.Errorf("%q is read without a signature: %v", body, items)
		}
	})
}

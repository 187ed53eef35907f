package states_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/states"
)

// words are the texts without which a body cannot decide an order by a preset: the name of the
// field, and one of the values.
var words = map[string]struct{ field, values []string }{
	"wechat_v2":     {[]string{"trade_state", "return_code", "result_code"}, []string{"SUCCESS", "REFUND", "CLOSED", "REVOKED", "PAYERROR"}},
	"wechat_v3":     {[]string{"trade_state"}, []string{"SUCCESS", "REFUND", "CLOSED", "REVOKED", "PAYERROR"}},
	"alipay":        {[]string{"trade_status", "10000"}, []string{"TRADE_SUCCESS", "TRADE_FINISHED", "TRADE_CLOSED"}},
	"unionpay":      {[]string{"respCode"}, []string{""}},
	"unionpay_back": {[]string{"respCode", "origRespCode", "00"}, []string{""}},
	"antom":         {[]string{"result", "resultStatus", "S", "paymentStatus"}, []string{"success", "fail", "cancelled"}},
	"payermax":      {[]string{"APPLY_SUCCESS", "data", "status"}, []string{"SUCCESS", "FAILED", "CLOSED"}},
	"hyperswitch":   {[]string{"status"}, []string{"charged", "succeeded", "refunded", "voided", "cancelled", "expired", "declined", "fail"}},
	"killbill":      {[]string{"transactionType", "status"}, []string{"SUCCESS", "_FAILURE"}},
	"stripe":        {[]string{"payment_intent", "status"}, []string{"succeeded", "canceled"}},
}

// plain returns a body without the marks of CDATA. It also reports whether words can be searched in
// the body: nothing is escaped, or split by a comment.
func plain(name string, body []byte) (string, bool) {
	text := strings.NewReplacer("<![CDATA[", "", "]]>", "").Replace(string(body))
	hidden := strings.Contains(text, `\u`)
	if name == "wechat_v2" {
		hidden = hidden || strings.ContainsAny(text, "&") || strings.Contains(text, "<!--") || strings.Contains(text, "<?")
	}
	return text, !hidden
}

// Any bytes at any status are read without a panic, and again with the same result. An answer that
// decides an order contains the preset's own fields, and has a status that may decide.
func FuzzQuery(f *testing.F) {
	for _, tt := range rows {
		f.Add(tt.status, []byte(tt.body), int64(600))
	}
	queries := map[string]*states.Query{}
	for _, p := range states.Presets() {
		q, err := states.CompileQuery(p.Name)
		if err != nil {
			f.Fatal(err)
		}
		queries[p.Name] = q
	}
	rules, err := states.CompileQueryRules(own)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, seconds int64) {
		age := time.Duration(seconds) * time.Second
		a := order.Answer{Status: status, Body: bytes.Clone(body)}
		for name, q := range queries {
			got := q.Read(a, age)
			if again := q.Read(a, age); !reflect.DeepEqual(got, again) {
				t.Errorf("%s: %+v, and read again %+v", name, got, again)
			}
			lawful(t, name, got, status)
			text, readable := plain(name, body)
			if !got.Reading.Decides() || !readable {
				continue
			}
			any := false
			for _, word := range words[name].field {
				if !strings.Contains(text, word) {
					t.Errorf("%s: %q reads %v without %s", name, body, got.Reading, word)
				}
			}
			for _, word := range words[name].values {
				any = any || strings.Contains(strings.ToLower(text), strings.ToLower(word))
			}
			if !any {
				t.Errorf("%s: %q reads %v without any of %v", name, body, got.Reading, words[name].values)
			}
		}
		lawful(t, "rules", rules.Read(a, age), status)
		if !bytes.Equal(a.Body, body) {
			t.Error("the body was changed")
		}
	})
}

func lawful(t *testing.T, name string, a order.QueryAnswer, status int) {
	t.Helper()
	if a.Reading.Decides() && (status < 200 || status > 299 || status == 202) {
		t.Errorf("%s: HTTP status %d decides %v", name, status, a.Reading)
	}
	if (a.Reading == order.QueryError) != (a.Error != "") || strings.ContainsAny(a.Error, "\r\n") || len(a.Error) > 1000 {
		t.Errorf("%s: %v with the error %q", name, a.Reading, a.Error)
	}
	if a.Taken != nil && !a.Reading.IsPaid() {
		t.Errorf("%s: %v takes %v", name, a.Reading, a.Taken)
	}
	for key, value := range a.Taken {
		n, isNumber := value.(int64)
		text, isText := value.(string)
		ok := false
		switch key {
		case "transaction_id":
			ok = isText && text != ""
		case "amount":
			ok = isNumber && n >= 0
		case "currency":
			_, hasAmount := a.Taken["amount"]
			ok = isText && len(text) == 3 && money.Code(text) == text && hasAmount
		case "paid_at":
			at, err := time.Parse(time.RFC3339, text)
			ok = isText && err == nil && at.Location() == time.UTC && at.Year() >= 1970
		}
		if !ok {
			t.Errorf("%s: %s is %#v", name, key, value)
		}
	}
}

// A close is never read into a body that does not say so.
func FuzzClose(f *testing.F) {
	for _, tt := range closeRows {
		f.Add(tt.status, []byte(tt.body))
	}
	closes := map[string]*states.Close{}
	for _, p := range states.Presets() {
		c, err := states.CompileClose(p.Name)
		if err != nil {
			f.Fatal(err)
		}
		closes[p.Name] = c
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		a := order.Answer{Status: status, Body: body}
		for name, c := range closes {
			got := c.Read(a)
			if again := c.Read(a); !reflect.DeepEqual(got, again) {
				t.Errorf("%s: %+v, and read again %+v", name, got, again)
			}
			bodiless := status == 204 && (name == "wechat_v3" || name == "killbill")
			if got.Reading == done && !bodiless && (status < 200 || status > 299 || status == 202 || len(body) < 10) {
				t.Errorf("%s: %d %q is closed", name, status, body)
			}
			if (got.Reading == unknown) != (got.Error != "") || strings.ContainsAny(got.Error, "\r\n") {
				t.Errorf("%s: %v with the error %q", name, got.Reading, got.Error)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, bm := range []struct{ name, body string }{
		{"wechat_v2", v2Paid}, {"wechat_v3", v3Paid}, {"alipay", alipayPaid}, {"unionpay", unionpayPaid}, {"rules", `{"state":"paid"}`},
	} {
		b.Run(bm.name, func(b *testing.B) {
			q, err := states.CompileQuery(bm.name)
			if bm.name == "rules" {
				q, err = states.CompileQueryRules(own)
			}
			if err != nil {
				b.Fatal(err)
			}
			a := order.Answer{Status: 200, Body: []byte(bm.body)}
			b.ReportAllocs()
			for b.Loop() {
				if q.Read(a, 0).Reading != paid {
					b.Fatal("not paid")
				}
			}
		})
	}
}

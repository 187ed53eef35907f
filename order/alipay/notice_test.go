package alipay

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
)

var _ order.NoticeReader = (*Channel)(nil)

const sellerID = "2088721033871945"

func (p *platform) reader(change func(*Options)) *Channel {
	p.t.Helper()
	o := p.options()
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// paidFields are those of the notice of a payment, as Alipay's documents have them.
func paidFields() map[string]string {
	return map[string]string{
		"gmt_create": "2026-11-20 19:58:00", "charset": "UTF-8", "gmt_payment": "2026-11-20 19:59:00", "notify_time": "2026-11-20 20:00:00",
		"subject": "茶 & 水+100%=1", "buyer_id": "2088722033871957", "version": "1.0", "notify_id": "2026112001222171314071950503863083",
		"notify_type": "trade_status_sync", "out_trade_no": orderNo, "total_amount": "88.88", "trade_status": "TRADE_SUCCESS",
		"trade_no": "2026112022001471950504864977", "auth_app_id": appID, "receipt_amount": "88.88", "app_id": appID, "seller_id": sellerID,
		"fund_bill_list": `[{"amount":"88.88","fundChannel":"ALIPAYACCOUNT"}]`,
	}
}

// fields returns those of a payment with others in their place; an empty value leaves one out.
func fields(change map[string]string) map[string]string {
	f := paidFields()
	for name, value := range change {
		if value == "" {
			delete(f, name)
		} else {
			f[name] = value
		}
	}
	return f
}

// notice signs fields as Alipay signs a notice, and writes them as a form. bent changes the form
// afterwards.
func (p *platform) notice(f map[string]string, bent ...func(url.Values)) *order.RawNotice {
	p.t.Helper()
	form := keytest.Form(f)
	form.Set("sign", p.sign(keytest.Pairs(f)))
	form.Set("sign_type", "RSA2")
	for _, change := range bent {
		change(form)
	}
	return &order.RawNotice{Body: []byte(form.Encode()), At: now}
}

func TestReadNotice(t *testing.T) {
	p := newPlatform(t)
	c := p.reader(func(o *Options) { o.SellerID = sellerID })
	tests := []struct {
		name    string
		change  map[string]string
		of      order.NoticeOf
		no, ref string
		reading order.Reading
		taken   string
		why     string
	}{
		{"paid", nil, order.OfPayment, orderNo, "", order.Paid, paidTaken, ""},
		{"finished, months later", map[string]string{"trade_status": "TRADE_FINISHED"}, order.OfPayment, orderNo, "", order.Paid, paidTaken, ""},
		{"not paid", map[string]string{"trade_status": "WAIT_BUYER_PAY", "gmt_payment": ""}, order.OfPayment, orderNo, "", order.Pending, "null", ""},
		{"closed without a payment", map[string]string{"trade_status": "TRADE_CLOSED", "gmt_payment": "", "gmt_close": "2026-11-20 20:00:00"}, order.OfPayment, orderNo, "", order.Closed, "null", ""},
		{"closed after a payment", map[string]string{"trade_status": "TRADE_CLOSED"}, order.OfPayment, orderNo, "", order.PaidRefunded, paidTaken, ""},
		{"a state of the future", map[string]string{"trade_status": "TRADE_HOVERING"}, order.OfPayment, orderNo, "", order.QueryError, "null", ""},
		{"no order", map[string]string{"out_trade_no": ""}, order.OfPayment, "", "", order.Paid, paidTaken, "no out_trade_no"},
		{"an amount in fractions of a fen", map[string]string{"total_amount": "88.885"}, order.OfPayment, orderNo, "", order.Paid, `{"paid_at":"2026-11-20T11:59:00Z","transaction_id":"2026112022001471950504864977"}`, ""},
		{"nothing refunded", map[string]string{"refund_fee": "0.00"}, order.OfPayment, orderNo, "", order.Paid, paidTaken, ""},
		{"a part refunded", map[string]string{"refund_fee": "1.00", "gmt_refund": "2026-11-20 21:00:00.123", "out_biz_no": "R1"}, order.OfRefund, orderNo, "R1", order.QueryError, "null", ""},
		{"all refunded", map[string]string{"trade_status": "TRADE_CLOSED", "refund_fee": "88.88", "out_biz_no": "R2"}, order.OfRefund, orderNo, "R2", order.QueryError, "null", ""},
		{"a refund without a number", map[string]string{"gmt_refund": "2026-11-20 21:00:00.123"}, order.OfRefund, orderNo, orderNo, order.QueryError, "null", ""},
		{"an agreement", map[string]string{"trade_status": "", "notify_type": "dut_user_sign"}, "", "", "", order.QueryError, "null", `"dut_user_sign", and not of a trade`},
		{"a transfer", map[string]string{"trade_status": "", "msg_method": "alipay.fund.trans.order.changed", "biz_content": `{"out_biz_no":"T1","order_id":"2023","status":"SUCCESS"}`}, order.OfTransfer, "", "T1", order.QueryError, "null", ""},
		{"a transfer without a number", map[string]string{"trade_status": "", "msg_method": "alipay.fund.trans.order.changed", "biz_content": `{"order_id":"2023"}`}, order.OfTransfer, "", "", order.QueryError, "null", "no out_biz_no"},
		{"a message", map[string]string{"trade_status": "", "msg_method": "alipay.open.mini.order.changed"}, "", "", "", order.QueryError, "null", `"alipay.open.mini.order.changed", and not of a trade`},
		{"another charset", map[string]string{"charset": "big5"}, "", "", "", order.QueryError, "null", `charset is "big5"`},
		{"fields of an answer", map[string]string{"code": "40004", "msg": "x", "send_pay_date": "2020-01-01 00:00:00"}, order.OfPayment, orderNo, "", order.Paid, paidTaken, ""},
		{"a code that contradicts", map[string]string{"sub_code": "ACQ.SYSTEM_ERROR"}, order.OfPayment, orderNo, "", order.QueryError, "null", ""},
	}
	for _, tt := range tests {
		items, hint, err := c.ReadNotice(p.notice(fields(tt.change)))
		if err != nil || len(items) != 1 || hint != "" {
			t.Errorf("%s: %v, hint %q, %v; want one notice", tt.name, items, hint, err)
			continue
		}
		n := items[0]
		taken, _ := json.Marshal(n.Taken)
		if n.ID != paidFields()["notify_id"] || n.Of != tt.of || n.OrderNo != tt.no || n.RefNo != tt.ref || n.Reading != tt.reading || string(taken) != tt.taken {
			t.Errorf("%s: %q of %q %q %q, %v %s; want %q %q %q, %v %s", tt.name, n.ID, n.Of, n.OrderNo, n.RefNo, n.Reading, taken, tt.of, tt.no, tt.ref, tt.reading, tt.taken)
		}
		if transferred := tt.ref == "T1"; transferred != (n.Outcome == "DONE") {
			t.Errorf("%s: outcome %q; want DONE of a transfer alone", tt.name, n.Outcome)
		}
		if (n.Err == nil) != (tt.why == "") || n.Err != nil && !strings.Contains(n.Err.Error(), tt.why) {
			t.Errorf("%s: Err %v; want %q", tt.name, n.Err, tt.why)
		}
	}
}

const paidTaken = `{"amount":8888,"currency":"CNY","paid_at":"2026-11-20T11:59:00Z","transaction_id":"2026112022001471950504864977"}`

// Alipay signs no ends of values. Whoever has chosen a text of an order, and sees its notice, can
// put the ends elsewhere: the same signed text then says that another order was paid, or more. Such
// a notice causes a query.
func TestNoticeWithOtherEnds(t *testing.T) {
	p := newPlatform(t)
	c := p.reader(func(o *Options) { o.SellerID = sellerID })
	for _, tt := range []struct{ chosen, text, until, no string }{
		{"body", "tea&out_trade_no=VICTIM&p=", "out_trade_no", "VICTIM"},
		{"subject", "tea&total_amount=8888.00&total_b=", "total_amount", orderNo},
	} {
		signed := fields(map[string]string{tt.chosen: tt.text})
		bent := p.notice(signed, func(form url.Values) {
			parts := strings.Split(tt.text, "&") // tea, the forged field, and the name of what takes the rest
			name, forged, _ := strings.Cut(parts[1], "=")
			rest := ""
			for _, own := range slices.Sorted(maps.Keys(signed)) {
				if own > tt.chosen && own <= tt.until {
					rest += "&" + own + "=" + signed[own]
					form.Del(own)
				}
			}
			form.Set(tt.chosen, parts[0])
			form.Set(name, forged)
			form.Set(strings.TrimSuffix(parts[2], "="), rest)
		})
		items, _, err := c.ReadNotice(bent)
		if err != nil || len(items) != 1 {
			t.Fatalf("%s: %v, %v; want a notice whose signature is right", tt.chosen, items, err)
		}
		if n := items[0]; n.OrderNo != tt.no || n.Reading != order.QueryError || n.Taken != nil || !strings.Contains(n.Answer.Error, "holds &") {
			t.Errorf("%s: the notice is read as %v of %q, %v, %q; want one that causes a query", tt.chosen, n.Reading, n.OrderNo, n.Taken, n.Answer.Error)
		}
		if items, _, err := c.ReadNotice(p.notice(fields(map[string]string{"passback_params": "a=1&b=2"}))); err != nil || items[0].Reading != order.Paid {
			t.Errorf("a text with fields in it: %v, %v; want a payment", items, err)
		}
	}
}

// The content has the form of the answer to a query, so that the same expressions read both.
func TestNoticeReadsAsAQuery(t *testing.T) {
	p := newPlatform(t)
	items, _, err := p.reader(nil).ReadNotice(p.notice(paidFields()))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]string
	if err := json.Unmarshal(items[0].Answer.Body, &got); err != nil {
		t.Fatal(err)
	}
	want := paidFields()
	want["code"], want["msg"], want["send_pay_date"] = "10000", "Success", want["gmt_payment"]
	if len(got) != 1 || !maps.Equal(got[node], want) {
		t.Errorf("the content is %s; want %v within %s", items[0].Answer.Body, want, node)
	}
}

// A form in GBK is verified over the bytes of GBK, and read as UTF-8.
func TestNoticeInGBK(t *testing.T) {
	p := newPlatform(t)
	for charset, from := range map[string]interface{ String(string) (string, error) }{
		"GBK": simplifiedchinese.GBK.NewEncoder(), "gb2312": simplifiedchinese.GBK.NewEncoder(), "GB18030": simplifiedchinese.GB18030.NewEncoder(),
	} {
		subject, err := from.String("支付宝：茶叶")
		if err != nil {
			t.Fatal(err)
		}
		items, _, err := p.reader(nil).ReadNotice(p.notice(fields(map[string]string{"charset": charset, "subject": subject})))
		if err != nil || items[0].Reading != order.Paid || !strings.Contains(string(items[0].Answer.Body), `"subject":"支付宝：茶叶"`) {
			t.Errorf("%s: %v, %v", charset, err, items)
		}
	}
	// A subject that was cut within a character does not lose the payment.
	for charset, subject := range map[string]string{"GBK": "\xd6\xa7\xb8", "UTF-8": "茶"[:2]} {
		items, _, err := p.reader(nil).ReadNotice(p.notice(fields(map[string]string{"charset": charset, "subject": subject})))
		if err != nil || items[0].Err != nil || items[0].Reading != order.Paid || !json.Valid(items[0].Answer.Body) {
			t.Errorf("%s cut off: %v, %v", charset, err, items)
		}
	}
}

// Alipay's SDKs differ about whether an empty parameter is signed.
func TestEmptyParameters(t *testing.T) {
	p := newPlatform(t)
	signed := paidFields()
	signed["passback_params"] = ""
	for name, message := range map[string]*order.RawNotice{
		"signed":     p.notice(signed),
		"not signed": p.notice(paidFields(), func(form url.Values) { form.Set("passback_params", "") }),
	} {
		if _, _, err := p.reader(nil).ReadNotice(message); err != nil {
			t.Errorf("an empty parameter that is %s: %v", name, err)
		}
	}
}

func TestNoticeIsRefused(t *testing.T) {
	p, stranger := newPlatform(t), newPlatform(t)
	set := func(name, value string) *order.RawNotice {
		return p.notice(paidFields(), func(form url.Values) { form.Set(name, value) })
	}
	body := func(text string) *order.RawNotice { return &order.RawNotice{Body: []byte(text), At: now} }
	twice := p.notice(paidFields())
	twice.Body = append(twice.Body, "&total_amount=99.99"...)
	tests := []struct {
		name   string
		notice *order.RawNotice
		want   string
		hint   string
	}{
		{"a stranger's key", stranger.notice(paidFields()), "signature is wrong", orderNo},
		{"another amount", set("total_amount", "0.01"), "signature is wrong", orderNo},
		{"another field", set("x", "y"), "signature is wrong", orderNo},
		{"a field less", p.notice(paidFields(), func(form url.Values) { form.Del("buyer_id") }), "signature is wrong", orderNo},
		{"not signed", set("sign", ""), "not signed", orderNo},
		{"signed with SHA-1", set("sign_type", "RSA"), `signed with "RSA": want RSA2`, orderNo},
		{"no sign_type", set("sign_type", ""), `signed with ""`, orderNo},
		{"not signed, for another application", body("app_id=2019&out_trade_no=" + orderNo), "not signed", ""},
		{"not signed, of no order", body("app_id=" + appID), "not signed", ""},
		{"not signed, of an order that cannot be", body("app_id=" + appID + "&out_trade_no=a+b"), "not signed", ""},
		{"a field twice", twice, `has "total_amount" twice`, ""},
		{"no form", body("%zz=1"), "not a form", ""},
		{"JSON", body(`{"app_id":"` + appID + `"}`), "not signed", ""},
		{"empty", body(""), "not signed", ""},
		{"too long", body(strings.Repeat("a", order.MaxBody+1)), "more than 65536 bytes", ""},
	}
	for _, tt := range tests {
		items, hint, err := p.reader(nil).ReadNotice(tt.notice)
		if err == nil || !strings.Contains(err.Error(), tt.want) || items != nil || hint != tt.hint {
			t.Errorf("%s: %v, hint %q, %v; want hint %q and %q", tt.name, items, hint, err, tt.hint, tt.want)
		}
	}
}

// Trap: a refund notice taken for a payment. It has the trade_status of the paid order.
func TestRefundNoticeIsNoPayment(t *testing.T) {
	p := newPlatform(t)
	for _, change := range []map[string]string{{"refund_fee": "0.01"}, {"gmt_refund": "2026-11-20 21:00:00.123"}} {
		items, _, err := p.reader(nil).ReadNotice(p.notice(fields(change)))
		if err != nil || items[0].Of != order.OfRefund || items[0].Reading != order.QueryError || items[0].Taken != nil {
			t.Errorf("%v: %+v, %v; want a refund that decides nothing", change, items, err)
		}
	}
}

// Trap: a notice of another account.
func TestNoticeOfAnotherAccount(t *testing.T) {
	p := newPlatform(t)
	c := p.reader(func(o *Options) { o.SellerID = sellerID })
	for want, change := range map[string]map[string]string{
		`for the application "2019"`: {"app_id": "2019"},
		`for the application ""`:     {"app_id": ""},
		`for the seller "2088"`:      {"seller_id": "2088"},
		`for the seller ""`:          {"seller_id": ""},
	} {
		items, hint, err := c.ReadNotice(p.notice(fields(change)))
		if err == nil || !strings.Contains(err.Error(), want) || items != nil || hint != "" {
			t.Errorf("%v: %v, hint %q, %v; want %q", change, items, hint, err, want)
		}
	}
	if _, _, err := p.reader(nil).ReadNotice(p.notice(fields(map[string]string{"seller_id": "2088"}))); err != nil {
		t.Errorf("any seller, without SellerID: %v", err)
	}
}

// Trap: a certificate that rotated. Each of several keys is tried.
func TestRotatedCertificate(t *testing.T) {
	p, next := newPlatform(t), newPlatform(t)
	c := p.reader(func(o *Options) { o.AlipayPublicKeys = append(o.AlipayPublicKeys, sign.NewSecret(next.public)) })
	for name, by := range map[string]*platform{"old": p, "new": next} {
		if _, _, err := c.ReadNotice(by.notice(paidFields())); err != nil {
			t.Errorf("signed with the %s key: %v", name, err)
		}
	}
}

// Trap: a nonce that was burned before the message was stored; replay protection that a reload
// forgets. A repeat is read again, by any Channel: nothing is remembered.
func TestRepeatedNoticeIsReadAgain(t *testing.T) {
	p := newPlatform(t)
	message := p.notice(paidFields())
	for range 2 {
		c := p.reader(nil)
		for range 2 {
			if items, _, err := c.ReadNotice(message); err != nil || items[0].Reading != order.Paid {
				t.Errorf("%v, %v; want PAID", items, err)
			}
		}
	}
}

func TestAnswerNotice(t *testing.T) {
	c := newPlatform(t).reader(nil)
	for accepted, want := range map[bool]string{true: "success", false: "fail"} {
		if got := c.AnswerNotice(accepted, "why"); got.Status != 200 || got.Body != want {
			t.Errorf("accepted %t: %+v; want %s", accepted, got, want)
		}
	}
}

// No bytes that Alipay has not signed are read, and what it signs is read without a panic.
func FuzzReadNotice(f *testing.F) {
	p := newPlatform(f)
	c := p.reader(nil)
	good := p.notice(paidFields())
	f.Add(string(good.Body))
	f.Add("app_id=" + appID + "&charset=GBK&subject=%D6%A7%B8&trade_status=TRADE_CLOSED&gmt_payment=x&total_amount=1e3")
	f.Add("app_id=" + appID + "&refund_fee=0&trade_status=TRADE_SUCCESS&out_trade_no=a&charset=gb18030&x=%84")
	f.Add("&=&%&a=&a")
	f.Fuzz(func(t *testing.T, body string) {
		items, _, err := c.ReadNotice(&order.RawNotice{Body: []byte(body), At: now})
		if form, parsed := parseForm([]byte(body)); parsed == nil && err == nil {
			genuine, _ := parseForm(good.Body)
			if string(signedText(form, false, "sign", "sign_type")) != string(signedText(genuine, false, "sign", "sign_type")) {
				t.Errorf("%q is read: %v", body, items)
			}
		}
		form, err := parseForm([]byte(body))
		if err != nil {
			return
		}
		read, err := decode(form)
		if err != nil {
			return
		}
		n := c.notice(read)
		if !json.Valid(n.Answer.Body) || n.Reading.Decides() && n.Of != order.OfPayment || n.Of == "" && n.Err == nil || n.Of != "" && n.Err == nil && n.OrderNo == "" {
			t.Errorf("%q: %+v", body, n)
		}
	})
}

package gateway_test

import (
	"bytes"
	"crypto/aes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/keytest"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/gateway"
)

// wechatV2Key is the key of the example in WeChat Pay's document of signatures (v2, chapter 4_3).
const wechatV2Key = "192006250b4c09247ec02edce69f6a2d"

// wechatSign signs as that document says. kind is MD5 or HMAC-SHA256.
func wechatSign(fields map[string]string, key, kind string) string {
	fields = maps.Clone(fields)
	maps.DeleteFunc(fields, func(name, value string) bool { return value == "" || name == "sign" })
	text := keytest.Pairs(fields) + "&key=" + key
	if kind == "MD5" {
		return fmt.Sprintf("%X", md5.Sum([]byte(text)))
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return fmt.Sprintf("%X", h.Sum(nil))
}

// The example of the document has these two signatures. The test's own signer is held by it.
func TestWeChatV2Vector(t *testing.T) {
	fields := map[string]string{"appid": "wxd930ea5d5a258f4f", "mch_id": "10000100", "device_info": "1000", "body": "test", "nonce_str": "ibuaiVcKdpRxkhJA"}
	if got := wechatSign(fields, wechatV2Key, "MD5"); got != "9A0A8659F005D6984697E2CA0A9CF3B7" {
		t.Errorf("MD5: %s", got)
	}
	if got := wechatSign(fields, wechatV2Key, "HMAC-SHA256"); got != "6A9AE1657590FD6257D693A078E1C3E4BB6BA4DC30B23E0EE2496E54170DACD6" {
		t.Errorf("HMAC-SHA256: %s", got)
	}
}

// wechatDoc writes fields as WeChat Pay does.
func wechatDoc(fields map[string]string) string {
	var b strings.Builder
	b.WriteString("<xml>")
	for name, value := range fields {
		fmt.Fprintf(&b, "<%s><![CDATA[%s]]></%s>\n", name, value, name)
	}
	return b.String() + "</xml>"
}

// with returns fields with changes: name, value. An empty value removes the field.
func with(fields map[string]string, changes ...string) map[string]string {
	changed := make(map[string]string, len(fields))
	maps.Copy(changed, fields)
	for i := 0; i < len(changes); i += 2 {
		if changed[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(changed, changes[i])
		}
	}
	return changed
}

func wechatSigned(kind string, fields map[string]string) string {
	return wechatDoc(with(fields, "sign", wechatSign(fields, wechatV2Key, kind)))
}

var (
	wechatOK    = map[string]string{"return_code": "SUCCESS", "return_msg": "OK", "appid": "wx8888888888888888", "mch_id": "1900000109", "nonce_str": "IITRi8Iabbblz1Jc", "result_code": "SUCCESS"}
	wechatPaid  = with(wechatOK, "trade_state", "SUCCESS", "out_trade_no", "1409811653", "transaction_id", "1008450740201411110005820873", "total_fee", "8888", "fee_type", "CNY", "time_end", "20261120195905", "attach", "支付测试")
	wechatBack  = with(wechatOK, "out_refund_no_0", "R1", "refund_id_0", "5000", "refund_fee_0", "88", "refund_status_0", "SUCCESS", "refund_count", "1", "out_trade_no", "1409811653")
	wechatTaken = `{"amount":8888,"currency":"CNY","paid_at":"2026-11-20T11:59:05Z","transaction_id":"1008450740201411110005820873"}`
)

func wechatV2Options(url string) gateway.ProviderOptions {
	return gateway.ProviderOptions{Provider: gateway.WeChatV2, BaseURL: url, MerchantID: "1900000109", AppID: "wx8888888888888888", Keys: secrets("00000000000000000000000000000000", wechatV2Key)}
}

func TestWeChatV2Answers(t *testing.T) {
	p := newPlatform(t)
	channel, refunds := providerOf(t, wechatV2Options(p.URL)), refundsOf(t, wechatV2Options(p.URL))
	failed := func(code string) map[string]string {
		return with(wechatOK, "result_code", "FAIL", "err_code", code)
	}
	const md5Kind, hmacKind = "MD5", "HMAC-SHA256"
	for _, tt := range []struct {
		what, body  string
		want, taken string
		why         string
	}{
		{"query", wechatSigned(md5Kind, wechatPaid), "PAID", wechatTaken, ""},
		{"query", wechatSigned(hmacKind, wechatPaid), "PAID", wechatTaken, ""},
		{"query", wechatSigned(hmacKind, with(wechatPaid, "sign_type", hmacKind)), "PAID", wechatTaken, ""},
		{"query", strings.ToLower(wechatSigned(md5Kind, with(wechatOK, "trade_state", "NOTPAY")))[:5], "QUERY_ERROR", "null", "not XML"},
		{"query", wechatSigned(md5Kind, with(wechatOK, "trade_state", "NOTPAY", "out_trade_no", "1409811653")), "PENDING", "null", ""},
		{"query", wechatSigned(md5Kind, with(wechatOK, "trade_state", "CLOSED", "out_trade_no", "1409811653")), "CLOSED", "null", ""},
		{"query", wechatSigned(md5Kind, failed("ORDERNOTEXIST")), "NOT_FOUND", "null", ""},
		{"query", wechatSigned(md5Kind, failed("SYSTEMERROR")), "QUERY_ERROR", "null", "SYSTEMERROR"},
		// An answer that is not signed by WeChat Pay decides nothing.
		{"query", wechatDoc(wechatPaid), "QUERY_ERROR", "null", "cannot be trusted: it is not signed"},
		{"query", wechatDoc(with(wechatPaid, "sign", wechatSign(wechatPaid, "11111111111111111111111111111111", md5Kind))), "QUERY_ERROR", "null", "signature is wrong"},
		{"query", strings.Replace(wechatSigned(md5Kind, wechatPaid), "[8888]]", "[8889]]", 1), "QUERY_ERROR", "null", "signature is wrong"},
		{"query", strings.Replace(wechatSigned(md5Kind, with(wechatOK, "trade_state", "NOTPAY", "out_trade_no", "1409811653")), "NOTPAY", "CLOSED", 1), "QUERY_ERROR", "null", "signature is wrong"},
		{"query", wechatSigned(md5Kind, with(wechatPaid, "sign_type", hmacKind)), "QUERY_ERROR", "null", "another length"},
		{"query", wechatDoc(failed("ORDERNOTEXIST")), "QUERY_ERROR", "null", "not signed"},
		{"query", `<xml><return_code>FAIL</return_code><return_msg>签名失败</return_msg></xml>`, "QUERY_ERROR", "null", `return_code "FAIL": "签名失败"`},
		// One that is signed, for another account or about another order.
		{"query", wechatSigned(md5Kind, with(wechatPaid, "mch_id", "1900000110")), "QUERY_ERROR", "null", "not for this account"},
		{"query", wechatSigned(md5Kind, with(wechatPaid, "appid", "wx1")), "QUERY_ERROR", "null", "not for this account"},
		{"query", wechatSigned(md5Kind, with(wechatPaid, "sub_mch_id", "1")), "QUERY_ERROR", "null", "not for this account"},
		{"query", wechatSigned(md5Kind, with(wechatPaid, "out_trade_no", "1409811654")), "QUERY_ERROR", "null", `about the order "1409811654"`},
		{"query", wechatSigned(md5Kind, with(wechatPaid, "out_trade_no", "")), "QUERY_ERROR", "null", `about the order ""`},
		// XML that could be read in two ways.
		{"query", strings.Replace(wechatSigned(md5Kind, wechatPaid), "</xml>", "<total_fee>1</total_fee></xml>", 1), "QUERY_ERROR", "null", "there twice"},
		{"query", `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>` + wechatSigned(md5Kind, wechatPaid), "QUERY_ERROR", "null", "document type"},
		{"query", strings.Replace(wechatSigned(md5Kind, wechatPaid), "<attach><![CDATA[支付测试]]>", "<attach><a>1</a>", 1), "QUERY_ERROR", "null", "elements inside"},

		{"close", wechatSigned(hmacKind, wechatOK), "closed", "null", ""},
		{"close", wechatSigned(hmacKind, failed("ORDERPAID")), "paid_hint", "null", ""},
		{"close", wechatSigned(hmacKind, failed("ORDERCLOSED")), "already_closed", "null", ""},
		{"close", wechatSigned(hmacKind, failed("ORDERNOTEXIST")), "not_exist", "null", ""},
		{"close", wechatDoc(wechatOK), "unknown", "null", "not signed"},
		{"close", wechatSigned(hmacKind, wechatPaid), "unknown", "null", "not one to closeorder"},
		{"close", wechatSigned(hmacKind, with(wechatPaid, "trade_state", "")), "unknown", "null", "not one to closeorder"},

		{"refund", wechatSigned(md5Kind, wechatBack), "DONE", `{"amount":88,"channel_ref_no":"5000","channel_state":"SUCCESS","currency":"CNY"}`, ""},
		{"refund", wechatSigned(md5Kind, with(wechatBack, "refund_status_0", "PROCESSING")), "PENDING", "null", ""},
		{"refund", wechatSigned(md5Kind, failed("REFUNDNOTEXIST")), "NOT_FOUND", "null", ""},
		{"refund", wechatSigned(md5Kind, with(wechatBack, "out_refund_no_0", "R2")), "QUERY_ERROR", "null", `about the refund "R2"`},
		{"refund", wechatSigned(md5Kind, with(wechatBack, "refund_fee_0", "89")), "QUERY_ERROR", "null", `a refund of 89, not of "88"`},
		{"refund", wechatDoc(wechatBack), "QUERY_ERROR", "null", "not signed"},
	} {
		p.answers(func(r *http.Request, body []byte) (int, http.Header, string) {
			checkWeChatRequest(t, tt.what, r, body)
			return 200, nil, tt.body
		})
		o := &order.Order{OrderNo: "1409811653", RefNo: "R1", Vars: map[string]string{"amount": "88"}}
		if reading, taken, why := asked(t.Context(), channel, refunds, tt.what, o); reading != tt.want || taken != tt.taken || (tt.why == "") != (why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s of %s\n  = %s %s %q\nwant %s %s %q", tt.what, tt.body, reading, taken, why, tt.want, tt.taken, tt.why)
		}
	}
}

// checkWeChatRequest checks a request as WeChat Pay does.
func checkWeChatRequest(t *testing.T, what string, r *http.Request, body []byte) {
	t.Helper()
	var doc struct {
		Fields []struct {
			XMLName xml.Name
			Text    string `xml:",chardata"`
		} `xml:",any"`
	}
	if err := xml.Unmarshal(body, &doc); err != nil {
		t.Errorf("%v of %s", err, body)
	}
	fields := map[string]string{}
	for _, f := range doc.Fields {
		fields[f.XMLName.Local] = f.Text
	}
	path := map[string]string{"query": "/pay/orderquery", "close": "/pay/closeorder", "refund": "/pay/refundquery"}[what]
	number := map[string]string{"refund": "out_refund_no=R1"}[what]
	if number == "" {
		number = "out_trade_no=1409811653"
	}
	name, no, _ := strings.Cut(number, "=")
	if r.Method != http.MethodPost || r.URL.Path != path || fields[name] != no || fields["appid"] != "wx8888888888888888" || fields["mch_id"] != "1900000109" ||
		fields["nonce_str"] == "" || fields["sign_type"] != "HMAC-SHA256" || fields["sign"] != wechatSign(fields, "00000000000000000000000000000000", "HMAC-SHA256") {
		t.Errorf("%s: %s %s %v", what, r.Method, r.URL.Path, fields)
	}
}

// wechatReqInfo encrypts the content of a refund's notice as the document of 退款结果通知 says.
func wechatReqInfo(t testing.TB, key, content string) string {
	t.Helper()
	block, err := aes.NewCipher([]byte(fmt.Sprintf("%x", md5.Sum([]byte(key)))))
	if err != nil {
		t.Fatal(err)
	}
	pad := aes.BlockSize - len(content)%aes.BlockSize
	plain := append([]byte(content), bytes.Repeat([]byte{byte(pad)}, pad)...)
	for i := 0; i < len(plain); i += aes.BlockSize {
		block.Encrypt(plain[i:], plain[i:])
	}
	return base64.StdEncoding.EncodeToString(plain)
}

func TestWeChatV2Notices(t *testing.T) {
	channel := providerOf(t, wechatV2Options(""))
	paid := with(wechatPaid, "trade_state", "")
	const root = `<root><out_refund_no><![CDATA[R1]]></out_refund_no><out_trade_no>1409811653</out_trade_no><refund_id>5000</refund_id><refund_status>SUCCESS</refund_status></root>`
	refund := with(wechatOK, "result_code", "", "req_info", wechatReqInfo(t, wechatV2Key, root))
	const applied = "1008450740201411110005820873 1409811653 PAID "
	for _, tt := range []struct{ name, body, want string }{
		{"MD5 without sign_type", wechatSigned("MD5", paid), applied + wechatTaken},
		{"HMAC", wechatSigned("HMAC-SHA256", with(paid, "sign_type", "HMAC-SHA256")), applied + wechatTaken},
		{"not signed", wechatDoc(paid), "refused, hint 1409811653: the notice cannot be trusted: it is not signed"},
		{"wrong key", wechatDoc(with(paid, "sign", wechatSign(paid, "x", "MD5"))), "refused, hint 1409811653: the notice cannot be trusted: its signature is wrong"},
		{"another amount", strings.Replace(wechatSigned("MD5", paid), "[8888]]", "[1]]", 1), "refused, hint 1409811653: the notice cannot be trusted: its signature is wrong"},
		{"another account", wechatSigned("MD5", with(paid, "mch_id", "1")), `refused, hint : the notice cannot be trusted: it is for the mch_id "1": want "1900000109"`},
		{"another account, not signed", wechatDoc(with(paid, "mch_id", "1")), `refused, hint : the notice cannot be trusted: it is not signed`},
		{"failed", wechatSigned("MD5", with(paid, "result_code", "FAIL")), `1008450740201411110005820873 1409811653 QUERY_ERROR null result_code is "FAIL": only an answer to a query says what it means`},
		{"fields with other ends", wechatDoc(wechatBent(paid)), `1008450740201411110005820873 VICTIM QUERY_ERROR null the value of "p" holds &mch_id=, so that the signed text can be read in two ways: only an answer to a query counts`},
		{"a text of the payer's, with fields in it", wechatSigned("MD5", with(paid, "attach", "a=1&b=2")), applied + wechatTaken},
		{"without a number", wechatSigned("MD5", with(paid, "out_trade_no", "")), "unreadable: the notice does not say what it is about"},
		{"twice", strings.Replace(wechatSigned("MD5", paid), "</xml>", "<mch_id>1900000109</mch_id></xml>", 1), `refused, hint : the notice cannot be trusted: field "mch_id" is there twice`},
		{"cut", wechatSigned("MD5", paid)[:80], ""},
		{"refund", wechatDoc(refund), "refund R1 DONE"},
		{"refund with the former key", wechatDoc(with(refund, "req_info", wechatReqInfo(t, "00000000000000000000000000000000", root))), "refund R1 DONE"},
		{"refund with another key", wechatDoc(with(refund, "req_info", wechatReqInfo(t, "11111111111111111111111111111111", root))), "refused, hint : the notice cannot be trusted: its req_info cannot be decrypted with the API key"},
		{"refund of another account", wechatDoc(with(refund, "mch_id", "1")), `refused, hint : the notice cannot be trusted: it is for the mch_id "1": want "1900000109"`},
		{"refund cut", wechatDoc(with(refund, "req_info", refund["req_info"][:20])), ""},
		{"refund without a root", wechatDoc(with(refund, "req_info", wechatReqInfo(t, wechatV2Key, "<xml></xml>"))), "refused, hint : the notice cannot be trusted: its req_info cannot be decrypted with the API key"},
		{"refund without a number", wechatDoc(with(refund, "req_info", wechatReqInfo(t, wechatV2Key, "<root></root>"))), "unreadable: the notice does not say what it is about"},
		// What is encrypted says nothing about a payment.
		{"a payment, encrypted", wechatDoc(with(paid, "req_info", wechatReqInfo(t, wechatV2Key, root))), "refund R1 DONE"},
	} {
		got := noticeOf(channel, nil, tt.body)
		if tt.want != "" && got != tt.want || tt.want == "" && !strings.HasPrefix(got, "refused, hint : ") {
			t.Errorf("%s\n  = %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for accepted, want := range map[bool]string{
		true:  "<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>",
		false: "<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[ERROR]]></return_msg></xml>",
	} {
		if a := channel.AnswerNotice(accepted, "why"); a.Status != 200 || a.Body != want {
			t.Errorf("answer %v: %+v", accepted, a)
		}
	}
}

// wechatBent is the notice of a payment whose attach was chosen so that the same signed text says
// that another order was paid.
func wechatBent(paid map[string]string) map[string]string {
	signed := with(paid, "attach", "x&mch_id=1900000109&out_trade_no=VICTIM&p=")
	bent := with(signed, "attach", "x", "out_trade_no", "VICTIM", "sign", wechatSign(signed, wechatV2Key, "MD5"))
	for _, name := range slices.Sorted(maps.Keys(signed)) {
		if name > "attach" && name <= "out_trade_no" && signed[name] != "" {
			bent["p"] += "&" + name + "=" + signed[name]
			if name != "mch_id" && name != "out_trade_no" {
				delete(bent, name)
			}
		}
	}
	return bent
}

// Whatever comes, nothing is read as a payment unless it is signed.
func FuzzWeChatV2Notice(f *testing.F) {
	channel := providerOf(f, wechatV2Options(""))
	paid := with(wechatPaid, "trade_state", "")
	for _, seed := range []string{wechatSigned("MD5", paid), wechatDoc(paid), wechatDoc(with(wechatOK, "req_info", wechatReqInfo(f, wechatV2Key, "<root></root>"))), "<xml>", ""} {
		f.Add([]byte(seed))
	}
	good := wechatSigned("MD5", paid)
	f.Fuzz(func(t *testing.T, body []byte) {
		items, hint, err := channel.ReadNotice(&order.RawNotice{Body: body, At: providerNow})
		if err != nil && (len(items) > 0 || len(hint) > 128) {
			t.Fatalf("%v with %v, hint %q", err, items, hint)
		}
		for _, n := range items {
			if n.Reading != order.QueryError && !bytes.Contains([]byte(good), []byte(n.OrderNo)) {
				t.Fatalf("%q reads %v of %q", body, n.Reading, n.OrderNo)
			}
		}
	})
}

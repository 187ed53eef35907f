package gateway

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/order/states"
)

// wechatV2 is WeChat Pay's API v2. Sources:
//
//   - orderquery, closeorder, refundquery: pay.weixin.qq.com/wiki/doc/api/jsapi.php, chapters 9_2, 9_3 and
//     9_5, and the same pages for other products, such as wiki/doc/api/wxpay/ch/pay/QuickPay/chapter8_2.shtml
//   - sign and sign_type: chapter 4_3, whose example is a test here; an answer is signed as its request was
//     (WXPay.processResponseXml of WeChat's Java SDK), and a notice says so in sign_type, MD5 by default
//   - the notice of a payment: chapter 9_7; of a refund: chapter 9_16, and
//     wiki/doc/api/wxpay/ch/pay/OfficialPayMent/chapter8_8.shtml
//
// Not confirmed: that an answer with return_code FAIL is never signed (none was seen that is; such
// an answer counts for nothing here), and which signature an answer has if sign_type of the request
// is not understood. Its length tells the two kinds apart.
type wechatV2 struct {
	base                   *url.URL
	appID, mchID, subMchID string
	signType               string

	keys func() [][]byte // a function, so that nothing prints them
}

const (
	wechatHMAC = "HMAC-SHA256"
	wechatMD5  = "MD5"
)

func newWeChatV2(base *url.URL, o ProviderOptions, bad *bellman.Invalid) protocol {
	w := &wechatV2{base: base, appID: o.AppID, mchID: o.MerchantID, subMchID: o.SubMerchantID, signType: cmp.Or(o.SignType, wechatHMAC)}
	if w.mchID == "" {
		bad.Add("mch_id", "want the merchant's number")
	}
	if w.appID == "" {
		bad.Add("app_id", "want the application's id")
	}
	if w.signType != wechatHMAC && w.signType != wechatMD5 {
		bad.Add("sign_type", fmt.Sprintf("%.20q: want %s or %s", w.signType, wechatHMAC, wechatMD5))
	}
	if len(o.Keys) == 0 {
		bad.Add("api_key", "want the API key (API密钥) of v2, for no answer counts unverified")
	}
	keys := make([][]byte, len(o.Keys))
	for i, secret := range o.Keys {
		key, err := secret.Resolve()
		if err == nil && len(key) != 32 {
			err = fmt.Errorf("has %d characters: want the 32 of the API key of v2", len(key))
		}
		if err != nil {
			bad.Note(fmt.Sprintf("api_key[%d]", i), err)
		}
		keys[i] = key
	}
	w.keys = func() [][]byte { return keys }
	return w
}

// What WeChat Pay takes as out_trade_no and out_refund_no.
var (
	wechatNo    = regexp.MustCompile(`^[0-9A-Za-z_|*@-]{1,32}$`)
	wechatRefNo = regexp.MustCompile(`^[0-9A-Za-z_|*@-]{1,64}$`)
)

func (w *wechatV2) check(c call, o *order.Order, bad *bellman.Invalid) {
	if c == callRefund {
		checkNumber(c, o, bad, wechatRefNo, "WeChat Pay takes 1 to 64 letters, digits and _-|*@")
		return
	}
	checkNumber(c, o, bad, wechatNo, "WeChat Pay takes 1 to 32 letters, digits and _-|*@")
}

func (w *wechatV2) request(ctx context.Context, c call, o *order.Order, _ time.Time) (*http.Request, error) {
	fields := map[string]string{"appid": w.appID, "mch_id": w.mchID, "sub_mch_id": w.subMchID, "nonce_str": rand.Text(), "sign_type": w.signType}
	path := "/pay/orderquery"
	switch fields["out_trade_no"] = o.OrderNo; c {
	case callClose:
		path = "/pay/closeorder"
	case callRefund:
		path = "/pay/refundquery"
		delete(fields, "out_trade_no")
		fields["out_refund_no"] = o.RefNo
	}
	fields["sign"] = wechatSum(fields, w.keys()[0], w.signType)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base.JoinPath(path).String(), strings.NewReader(wechatXML(fields)))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	return req, nil
}

// wechatXML writes fields, sorted by name. Empty ones are left out.
func wechatXML(fields map[string]string) string {
	var b strings.Builder
	b.WriteString("<xml>")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name] == "" {
			continue
		}
		b.WriteString("<" + name + ">")
		xml.EscapeText(&b, []byte(fields[name])) // a Builder takes everything
		b.WriteString("</" + name + ">")
	}
	b.WriteString("</xml>")
	return b.String()
}

// wechatSum signs fields: name=value of all that have a value, sorted by name and joined with &,
// then &key= and the key.
func wechatSum(fields map[string]string, key []byte, signType string) string {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value := fields[name]; value != "" && name != "sign" {
			text = append(append(append(append(text, name...), '='), value...), '&')
		}
	}
	text = append(append(text, "key="...), key...)
	var sum []byte
	if signType == wechatHMAC {
		h := hmac.New(sha256.New, key)
		h.Write(text)
		sum = h.Sum(nil)
	} else {
		s := md5.Sum(text)
		sum = s[:]
	}
	return strings.ToUpper(hex.EncodeToString(sum))
}

// verify says why fields are not WeChat Pay's; nil: they are.
func (w *wechatV2) verify(fields map[string]any) error {
	texts := make(map[string]string, len(fields))
	for name, value := range fields {
		text, is := value.(string)
		if !is {
			return fmt.Errorf("the field %.40q has elements inside, which no signature covers", name)
		}
		texts[name] = text
	}
	signType := wechatMD5
	switch len(texts["sign"]) {
	case 0:
		return errors.New("it is not signed")
	case 2 * sha256.Size:
		signType = wechatHMAC
	}
	if said := texts["sign_type"]; said != "" && said != signType {
		return fmt.Errorf("its sign_type is %.20q, and its signature has another length", said)
	}
	for _, key := range w.keys() {
		if hmac.Equal([]byte(wechatSum(texts, key, signType)), []byte(strings.ToUpper(texts["sign"]))) {
			return nil
		}
	}
	return errors.New("its signature is wrong")
}

// ours says why fields are not for this account; nil: they are.
func (w *wechatV2) ours(fields map[string]any) error {
	for name, want := range map[string]string{"mch_id": w.mchID, "appid": w.appID, "sub_mch_id": w.subMchID} {
		if said := textAt(fields, name); said != want {
			return fmt.Errorf("it is for the %s %.40q: want %.40q", name, said, want)
		}
	}
	return nil
}

func (w *wechatV2) open(c call, o *order.Order, a *order.Answer, _ time.Time) error {
	fields, err := states.ParseXML(a.Body)
	if err != nil {
		return err
	}
	if said := textAt(fields, "return_code"); said != "SUCCESS" {
		return fmt.Errorf("return_code %.20q: %.60q", said, textAt(fields, "return_msg"))
	}
	if err := w.verify(fields); err != nil {
		return fmt.Errorf("the answer cannot be trusted: %w", err)
	}
	if err := w.ours(fields); err != nil {
		return fmt.Errorf("the answer is not for this account: %w", err)
	}
	switch c {
	case callRefund:
		return isAbout("refund", textAt(fields, "out_refund_no_0"), o.RefNo, textAt(fields, "refund_status_0") != "")
	case callClose: // its answer names no order: a signed answer to a query, or a notice, must not pass for it
		if textAt(fields, "trade_state") != "" || textAt(fields, "transaction_id") != "" {
			return errors.New("the answer is not one to closeorder")
		}
	}
	return isAbout("order", textAt(fields, "out_trade_no"), o.OrderNo, c == callQuery && textAt(fields, "trade_state") != "")
}

func (w *wechatV2) notice(raw *order.RawNotice) (t telling, hint string, err error) {
	fields, err := states.ParseXML(raw.Body)
	if err != nil {
		return t, "", err
	}
	if textAt(fields, "req_info") != "" {
		t, err = w.refundNotice(fields)
		return t, "", err
	}
	other := w.ours(fields)
	if err := w.verify(fields); err != nil {
		if other == nil {
			hint = textAt(fields, "out_trade_no")
		}
		return t, hint, err
	}
	if other != nil {
		return t, "", other
	}
	t = telling{id: textAt(fields, "transaction_id"), of: order.OfPayment, orderNo: textAt(fields, "out_trade_no")}
	// A notice is sent of a payment that succeeded. It has no trade_state, which a query's answer
	// has.
	if textAt(fields, "return_code") == "SUCCESS" && textAt(fields, "result_code") == "SUCCESS" {
		fields["trade_state"] = "SUCCESS"
	} else {
		t.ask = fmt.Sprintf("result_code is %.20q: only an answer to a query says what it means", textAt(fields, "result_code"))
	}
	for name := range fields {
		if other := wire.Swallowed(textAt(fields, name), wechatDecisive...); other != "" {
			t.ask = fmt.Sprintf("the value of %.40q holds &%s=, so that the signed text can be read in two ways: only an answer to a query counts", name, other)
		}
	}
	if t.body, err = wire.Marshal(fields); err != nil {
		t.err = err
	}
	return t, "", nil
}

// wechatDecisive are the fields of a notice that say what it is about, and what became of it.
var wechatDecisive = []string{"appid", "mch_id", "sub_mch_id", "out_trade_no", "transaction_id", "return_code", "result_code", "total_fee", "fee_type", "time_end"}

// refundNotice reads the notice of a refund. It is encrypted under the API key and not signed: a
// sender without the key can repeat a notice, or put blocks of notices together (AES-256-ECB), and
// cannot write one. So it decides nothing: it says which refund to query, and its content is for
// people.
func (w *wechatV2) refundNotice(fields map[string]any) (t telling, err error) {
	if err := w.ours(fields); err != nil {
		return t, err
	}
	sealed, err := base64.StdEncoding.DecodeString(textAt(fields, "req_info"))
	if err != nil || len(sealed) == 0 || len(sealed)%aes.BlockSize != 0 {
		return t, errors.New("its req_info is no base64 of whole blocks")
	}
	for _, key := range w.keys() {
		if content, ok := wechatDecrypt(sealed, key); ok {
			info, err := states.ParseXML(content)
			if err != nil {
				return t, fmt.Errorf("its req_info is decrypted and cannot be read: %w", err)
			}
			return telling{id: textAt(info, "refund_id"), of: order.OfRefund, orderNo: textAt(info, "out_trade_no"), refNo: textAt(info, "out_refund_no"),
				outcome: states.Outcome("wechat_v2_refund", textAt(info, "refund_status")), body: content}, nil
		}
	}
	return t, errors.New("its req_info cannot be decrypted with the API key")
}

// wechatDecrypt decrypts req_info: AES-256-ECB with PKCS #7 under the MD5 of the API key, in
// lower-case hex. It returns the document <root> as <xml>. Padding is control characters, which are
// left out like white space: a sender may leave out a block of padding alone
// (wechatpay-axios-plugin).
func wechatDecrypt(sealed, key []byte) (content []byte, ok bool) {
	sum := md5.Sum(key)
	block, err := aes.NewCipher([]byte(hex.EncodeToString(sum[:])))
	if err != nil {
		return nil, false // cannot happen: 32 bytes are a key
	}
	open := make([]byte, len(sealed))
	for i := 0; i < len(sealed); i += aes.BlockSize {
		block.Decrypt(open[i:], sealed[i:])
	}
	text, begins := strings.CutPrefix(strings.TrimFunc(string(open), func(r rune) bool { return r <= ' ' }), "<root>")
	text, ends := strings.CutSuffix(text, "</root>")
	return []byte("<xml>" + text + "</xml>"), begins && ends
}

func (w *wechatV2) answer(accepted bool) order.NoticeAnswer {
	code, message := "FAIL", "ERROR"
	if accepted {
		code, message = "SUCCESS", "OK"
	}
	return order.NoticeAnswer{Status: http.StatusOK, ContentType: "text/xml; charset=utf-8",
		Body: "<xml><return_code><![CDATA[" + code + "]]></return_code><return_msg><![CDATA[" + message + "]]></return_msg></xml>"}
}

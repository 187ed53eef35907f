package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/order/states"
)

// antomPay is Antom (Alipay+), payments of version 1. An order's number is its paymentRequestId, a
// refund's its refundRequestId. Sources:
//
//   - global.alipay.com/docs/ac/ams/digital_signature: the text that is signed, the headers, that a notice is
//     signed as a request is and that the answer to a notice is not signed; SignatureTool and WebhookTool of
//     github.com/alipay/global-open-sdk-java: the signature is base64 and then URL-encoded
//   - docs.antom.com/ac/ams/paymentri (inquiryPayment), paymentc_online (cancel), ir_online (inquiryRefund),
//     paymentrn_online (notifyPayment), notify_refund (notifyRefund)
//   - DefaultAlipayClient of the SDKs: a Client-Id that begins with SANDBOX_ has the paths /ams/sandbox/api
//
// cancel of an order that was paid meanwhile gives the money back
// (docs.antom.com/ac/tokenized/cancel). Amounts have the decimals of ISO 4217
// (docs.antom.com/ac/ref/cc).
type antomPay struct {
	base       *url.URL
	clientID   string
	keyVersion int
	noticePath string
	sign       func(text []byte) (signature string, err error)
	keys       []*sign.RSAVerifier
}

func newAntom(base *url.URL, o ProviderOptions, bad *bellman.Invalid) protocol {
	n := &antomPay{base: base, clientID: o.MerchantID, keyVersion: cmp.Or(o.KeyVersion, 1), noticePath: o.NoticePath}
	if n.clientID == "" {
		bad.Add("client_id", "want the Client-Id")
	}
	if len(o.PublicKeys) == 0 {
		bad.Add("antom_public_keys", "want at least one, for no answer counts unverified")
	}
	var err error
	if n.sign, err = sign.RSASigner(o.PrivateKey); err != nil {
		bad.Note("private_key", err)
	}
	for i, secret := range o.PublicKeys {
		key, err := sign.NewRSAVerifier(secret)
		if err != nil {
			bad.Note(fmt.Sprintf("antom_public_keys[%d]", i), err)
		}
		n.keys = append(n.keys, key)
	}
	return n
}

var antomNo = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

func (n *antomPay) check(c call, o *order.Order, bad *bellman.Invalid) {
	checkNumber(c, o, bad, antomNo, "Antom takes 1 to 64 letters, digits and _-")
}

func (n *antomPay) path(c call) string {
	path := "/ams/api/v1/payments/"
	if strings.HasPrefix(n.clientID, "SANDBOX_") {
		path = "/ams/sandbox/api/v1/payments/"
	}
	return n.base.Path + path + map[call]string{callQuery: "inquiryPayment", callClose: "cancel", callRefund: "inquiryRefund"}[c]
}

// antomText is the text that is signed.
func antomText(path, clientID, at string, body []byte) []byte {
	return append([]byte("POST "+path+"\n"+clientID+"."+at+"."), body...)
}

func (n *antomPay) request(ctx context.Context, c call, o *order.Order, now time.Time) (*http.Request, error) {
	fields := map[string]string{"paymentRequestId": o.OrderNo}
	if c == callRefund {
		fields = map[string]string{"refundRequestId": o.RefNo}
	}
	body, err := wire.Marshal(fields)
	if err != nil {
		return nil, err
	}
	at, path := strconv.FormatInt(now.UnixMilli(), 10), n.path(c)
	signature, err := n.sign(antomText(path, n.clientID, at, body))
	if err != nil {
		return nil, err
	}
	to := *n.base
	to.Path = path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(string(body)))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json; charset=UTF-8")
	req.Header.Set("Client-Id", n.clientID)
	req.Header.Set("Request-Time", at)
	req.Header.Set("Signature", fmt.Sprintf("algorithm=RSA256,keyVersion=%d,signature=%s", n.keyVersion, url.QueryEscape(signature)))
	return req, nil
}

// verify says why a message is not Antom's, or not for this account; nil: it is. header has the
// value of the header Signature.
func (n *antomPay) verify(path, clientID, at, header string, body []byte) error {
	var signature string
	for part := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "algorithm":
			if value != "RSA256" {
				return fmt.Errorf("its algorithm is %.20q: want RSA256", value)
			}
		case "signature":
			signature = value
		}
	}
	switch {
	case signature == "" || at == "":
		return errors.New("it is not signed: it needs a time and Signature: algorithm=RSA256,keyVersion=…,signature=…")
	case clientID != n.clientID:
		return fmt.Errorf("it is for the Client-Id %.60q: want %.60q", clientID, n.clientID)
	}
	if strings.Contains(signature, "%") {
		decoded, err := url.QueryUnescape(signature)
		if err != nil {
			return errors.New("its signature is wrong")
		}
		signature = decoded
	}
	text := antomText(path, clientID, at, body)
	for _, key := range n.keys {
		if key.Verify(text, signature) {
			return nil
		}
	}
	return errors.New("its signature is wrong")
}

func (n *antomPay) open(c call, o *order.Order, a *order.Answer, _ time.Time) error {
	fields, err := states.ParseJSON(a.Body)
	if err != nil {
		return err
	}
	if err := n.verify(n.path(c), a.Header["client-id"], a.Header["response-time"], a.Header["signature"], a.Body); err != nil {
		return fmt.Errorf("the answer cannot be trusted: %w; it says resultCode %.60q", err, textAt(fields, "result", "resultCode"))
	}
	succeeded := textAt(fields, "result", "resultStatus") == "S"
	if c == callRefund {
		return isAbout("refund", textAt(fields, "refundRequestId"), o.RefNo, succeeded)
	}
	// The answer to cancel need not name the order.
	return isAbout("order", textAt(fields, "paymentRequestId"), o.OrderNo, succeeded && c == callQuery)
}

func (n *antomPay) notice(raw *order.RawNotice) (t telling, hint string, err error) {
	fields, err := states.ParseJSON(raw.Body)
	if err != nil {
		return t, "", err
	}
	h := raw.Header
	if err := n.verify(n.noticePath, h.Get("Client-Id"), h.Get("Request-Time"), h.Get("Signature"), raw.Body); err != nil {
		return t, textAt(fields, "paymentRequestId"), err
	}
	kind, result := textAt(fields, "notifyType"), textAt(fields, "result", "resultStatus")
	t = telling{of: order.OfPayment, orderNo: textAt(fields, "paymentRequestId")}
	status := ""
	switch {
	case kind == "PAYMENT_RESULT" && result == "S":
		status = "SUCCESS"
	case kind == "PAYMENT_RESULT" && result == "F":
		status = "FAIL"
	case kind == "PAYMENT_PENDING":
		status = "PENDING"
	case kind == "REFUND_RESULT":
		t.of, t.orderNo, t.refNo = order.OfRefund, "", textAt(fields, "refundRequestId")
		t.outcome = states.Outcome("antom_refund", strings.ToUpper(textAt(fields, "refundStatus")))
	case t.orderNo != "":
		t.ask = fmt.Sprintf("notifyType %.40q, resultStatus %.10q: only an answer to a query says how the order stands", kind, result)
	default:
		t.err, t.other = fmt.Errorf("the notice is of %.60q, and not of a payment or refund", kind), true
	}
	if status != "" { // as the answer to a query of the same payment
		fields = maps.Clone(fields)
		fields["notifyResult"], fields["paymentStatus"] = fields["result"], status
		fields["result"] = map[string]any{"resultStatus": "S", "resultCode": "SUCCESS"}
	}
	if t.body, err = wire.Marshal(fields); err != nil {
		t.err = err
	}
	return t, "", nil
}

// answer is what docs.antom.com/ac/ams/paymentrn_online asks for. It is not signed.
func (n *antomPay) answer(accepted bool) order.NoticeAnswer {
	a := order.NoticeAnswer{Status: http.StatusBadRequest, ContentType: typeJSON, Body: `{"result":{"resultCode":"FAIL","resultStatus":"F","resultMessage":"fail"}}`}
	if accepted {
		a.Status, a.Body = http.StatusOK, `{"result":{"resultCode":"SUCCESS","resultStatus":"S","resultMessage":"success"}}`
	}
	return a
}

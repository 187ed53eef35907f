package wechatpay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/order/states"
)

// An envelope is the body of a notice. Its resource holds the content.
// https://pay.weixin.qq.com/doc/v3/merchant/4012791861
type envelope struct {
	ID        string    `json:"id"`
	EventType string    `json:"event_type"` // TRANSACTION.SUCCESS, REFUND.CLOSED, …
	Resource  *resource `json:"resource"`
}

// readEnvelope reads the body of a notice. A field that is there twice is an error, as in the
// content.
func readEnvelope(body []byte) (*envelope, error) {
	e := new(envelope)
	if wire.UnmarshalStrict(body, e) != nil || e.Resource == nil {
		return nil, errors.New("the notice is not the JSON object that WeChat Pay sends")
	}
	return e, nil
}

// textOf returns the text of a field; empty: there is none.
func textOf(fields map[string]any, name string) string {
	text, _ := fields[name].(string)
	return text
}

// A content is the decrypted content of a notice, whatever it is about.
type content struct {
	text   []byte // as it was encrypted
	fields map[string]any
	unread error // why the fields say nothing of a payment: one is there twice
}

// field returns the text of a field; empty: there is none.
func (n *content) field(name string) string { return textOf(n.fields, name) }

// noticePatience is how long a notice waits for platform certificates: WeChat Pay waits 5 s for its
// answer.
const noticePatience = 3 * time.Second

// ReadNotice reads the notice of a payment (TRANSACTION.*), of a refund (REFUND.*) or of a transfer
// (MCHTRANSFER.*). The content of a payment's notice has the fields of the answer to a query.
// https://pay.weixin.qq.com/doc/v3/merchant/4012791861
func (c *Channel) ReadNotice(raw *order.RawNotice) (items []order.Notice, hint string, err error) {
	if len(c.decrypt) == 0 {
		return nil, "", errors.New("notices cannot be read without api_v3_key")
	}
	if len(raw.Body) > order.MaxBody {
		return nil, "", fmt.Errorf("the notice has more than %d bytes", order.MaxBody)
	}
	signed := verify("notice", raw.Header.Get, raw.Body, raw.At, func(serial string) *sign.RSAVerifier {
		if key := c.keys[serial]; key != nil {
			return key
		}
		ctx, cancel := context.WithTimeout(context.Background(), noticePatience)
		defer cancel()
		return c.key(ctx, serial)
	})
	e, known, err := c.decode(raw.Body)
	switch {
	case signed != nil && err == nil:
		return nil, c.hint(known), signed
	case signed != nil:
		return nil, "", signed
	case err != nil:
		return nil, "", err
	}
	return []order.Notice{c.notice(e, known)}, "", nil
}

// decode decrypts a notice and checks that it is for this account.
func (c *Channel) decode(body []byte) (e *envelope, known *content, err error) {
	if e, err = readEnvelope(body); err != nil {
		return nil, nil, err
	}
	known = new(content)
	if known.text, err = c.open("notice", e.Resource); err != nil {
		return nil, nil, err
	}
	if known.fields, known.unread = states.ParseJSON(known.text); known.unread != nil {
		if json.Unmarshal(known.text, &known.fields) != nil {
			return nil, nil, errors.New("the notice's content is not a JSON object")
		}
	}
	return e, known, c.ours(known)
}

// ours says why a content is not for this account; nil: it is.
func (c *Channel) ours(n *content) error {
	merchant, own := cmp.Or(n.field("mchid"), n.field("mch_id")), c.mchID // mch_id: of a transfer, in some of WeChat Pay's documents
	if c.subMchID != "" {
		merchant, own = n.field("sp_mchid")+"/"+n.field("sub_mchid"), c.mchID+"/"+c.subMchID
	}
	switch {
	case n.field("combine_mchid") != "":
		return errors.New("the notice is about a combined payment (合单), which bellman does not query")
	case merchant != own:
		return fmt.Errorf("the notice is for the merchant %.70q: want %.70q", merchantNamed(cmp.Or(n.field("mchid"), n.field("mch_id")), n.field("sp_mchid"), n.field("sub_mchid")), own)
	case c.appID == "":
		return nil
	}
	apps := []string{n.field("appid"), n.field("sp_appid"), n.field("sub_appid")}
	named := strings.Join(apps, "")
	if slices.Contains(apps, c.appID) {
		return nil
	}
	if named == "" && n.field("trade_state") == "" { // of a refund or transfer, which names no application
		return nil
	}
	return fmt.Errorf("the notice is for the application %.40q: want %.40q", cmp.Or(apps...), c.appID)
}

// hint is the number of the order that a notice names which cannot be trusted. An order that WeChat
// Pay cannot have is not worth a query.
func (c *Channel) hint(n *content) string {
	no := n.field("out_trade_no")
	if c.CheckOrder(&order.Order{OrderNo: no}) != nil {
		return ""
	}
	return no
}

// notice reads a notice that is WeChat Pay's, and for this account.
func (c *Channel) notice(e *envelope, known *content) order.Notice {
	n := order.Notice{ID: e.ID, Answer: order.Answer{Result: bellman.Accepted, Status: http.StatusOK, Body: known.text}}
	kind, _, _ := strings.Cut(e.EventType, ".")
	switch {
	case kind == "TRANSACTION" && (e.Resource.OriginalType == "transaction" || e.Resource.OriginalType == ""):
		n.Of, n.OrderNo = order.OfPayment, known.field("out_trade_no")
		read := c.query.ReadFields(n.Answer, known.fields, known.unread)
		n.Answer, n.Reading, n.Taken = read.Answer, read.Reading, read.Taken
		n.Err = missing("out_trade_no", n.OrderNo)
	case kind == "REFUND":
		n.Of, n.OrderNo, n.RefNo = order.OfRefund, known.field("out_trade_no"), known.field("out_refund_no")
		n.Outcome = states.Outcome("wechat_refund", known.field("refund_status"))
		n.Err = cmp.Or(missing("out_refund_no", n.RefNo), missing("refund_status", known.field("refund_status")))
	case kind == "MCHTRANSFER":
		n.Of, n.RefNo = order.OfTransfer, known.field("out_bill_no")
		n.Outcome = states.Outcome("wechat_transfer", known.field("state"))
		n.Err = cmp.Or(missing("out_bill_no", n.RefNo), missing("state", known.field("state")))
	default: // a notice of profit sharing is TRANSACTION.SUCCESS too, with another original_type
		n.Err, n.Other = fmt.Errorf("the notice is %.60q of a %.40q, which bellman does not read", e.EventType, e.Resource.OriginalType), true
	}
	return n
}

// missing is an error if a field of the content is empty.
func missing(name, value string) error {
	if value == "" {
		return errors.New("the notice has no " + name)
	}
	return nil
}

// AnswerNotice answers 204 to a notice that was accepted, and 500 otherwise. WeChat Pay wants the
// answer within 5 seconds, and sends a notice with another answer again.
func (c *Channel) AnswerNotice(accepted bool, why string) order.NoticeAnswer {
	if accepted {
		return order.NoticeAnswer{Status: http.StatusNoContent}
	}
	const most = 256 // characters of a message
	if runes := []rune(why); len(runes) > most {
		why = string(runes[:most])
	}
	body, err := json.Marshal(map[string]string{"code": "FAIL", "message": why})
	if err != nil {
		body = []byte(`{"code":"FAIL"}`) // cannot happen: it is two texts
	}
	return order.NoticeAnswer{Status: http.StatusInternalServerError, ContentType: "application/json", Body: string(body)}
}

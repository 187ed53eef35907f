package alipay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/wire"
	"github.com/bellmanhq/bellman/order/states"
)

// ReadNotice reads the notice of a trade (异步通知), or the message about a transfer. A refund's notice
// comes to the same address as a payment's, with the same trade_status: it has gmt_refund or
// refund_fee, and out_biz_no is the number of the refund.
//
// A message about a transfer names no seller. With a SellerID it is refused.
//
// A notice may be of any age: Alipay repeats one for 25 hours, and asks for no check of
// notify_time. It is not remembered here either. A replay says the same of the same trade.
// https://opendocs.alipay.com/open/203/105286
func (c *Channel) ReadNotice(raw *order.RawNotice) (items []order.Notice, hint string, err error) {
	if len(raw.Body) > order.MaxBody {
		return nil, "", fmt.Errorf("the notice has more than %d bytes", order.MaxBody)
	}
	form, err := parseForm(raw.Body)
	if err != nil {
		return nil, "", err
	}
	signed, other := c.verifyForm(form), c.ours(form)
	switch {
	case signed != nil && other == nil && c.CheckOrder(&order.Order{OrderNo: form.Get("out_trade_no")}) == nil:
		return nil, form.Get("out_trade_no"), signed
	case signed != nil:
		return nil, "", signed
	case other != nil:
		return nil, "", other
	}
	fields, err := decode(form)
	if err != nil {
		return []order.Notice{{ID: form.Get("notify_id"), Err: err}}, "", nil
	}
	n := c.notice(fields)
	for name, value := range fields {
		if other := wire.Swallowed(value, decisive...); other != "" && n.Of == order.OfPayment {
			n.Reading, n.Taken = order.QueryError, nil
			n.Answer.Result, n.Answer.Error = bellman.Refused, fmt.Sprintf("the value of %.40q holds &%s=, so that the signed text can be read in two ways: only an answer to a query counts", name, other)
		}
	}
	return []order.Notice{n}, "", nil
}

// decisive are the parameters of a notice that say what it is about, and what became of it.
var decisive = []string{"app_id", "seller_id", "out_trade_no", "trade_no", "trade_status", "total_amount", "trans_currency", "gmt_payment", "gmt_refund", "refund_fee"}

// transferMessage is the msg_method of the message about a transfer:
// docs.open.alipay.com/msgapi_60/alipay.fund.trans.order.changed. That its biz_content has the
// fields out_biz_no and status is what public code reads. It causes a query and decides nothing.
const transferMessage = "alipay.fund.trans.order.changed"

// A transferContent is the content of such a message.
type transferContent struct {
	OutBizNo string `json:"out_biz_no"`
	Status   string `json:"status"`
}

// notice reads the fields of a notice that is Alipay's, and for this application.
func (c *Channel) notice(fields map[string]string) order.Notice {
	n := order.Notice{ID: fields["notify_id"], Answer: order.Answer{Result: bellman.Accepted, Status: http.StatusOK, Body: asAnswer(fields)}}
	if fields["msg_method"] == transferMessage {
		var message transferContent
		if json.Unmarshal([]byte(fields["biz_content"]), &message) != nil {
			message = transferContent{}
		}
		n.Of, n.RefNo, n.Outcome = order.OfTransfer, message.OutBizNo, states.Outcome("alipay_transfer", message.Status)
		if n.RefNo == "" {
			n.Err = errors.New("the notice has no out_biz_no")
		}
		return n
	}
	if fields["trade_status"] == "" {
		n.Other, n.Err = true, fmt.Errorf("the notice is of %.60q, and not of a trade", cmp.Or(fields["msg_method"], fields["notify_type"]))
		return n
	}
	n.Of, n.OrderNo = order.OfPayment, fields["out_trade_no"]
	if n.OrderNo == "" {
		n.Err = errors.New("the notice has no out_trade_no")
	}
	if fields["gmt_refund"] != "" || strings.Trim(fields["refund_fee"], "0.") != "" {
		// A refund that was asked for without a number has the order's.
		n.Of, n.RefNo = order.OfRefund, cmp.Or(fields["out_biz_no"], fields["out_trade_no"])
		return n
	}
	read := c.query.Read(n.Answer, 0)
	n.Answer, n.Reading, n.Taken = read.Answer, read.Reading, read.Taken
	return n
}

// asAnswer writes the fields of a notice as the answer to a query of the same trade, so that the
// same rules and expressions read both. What a query calls send_pay_date, a notice calls
// gmt_payment.
func asAnswer(fields map[string]string) []byte {
	trade := map[string]string{"code": "10000", "msg": "Success"}
	for name, value := range fields {
		if name != "code" && name != "msg" {
			trade[name] = value
		}
	}
	if at := fields["gmt_payment"]; at != "" {
		trade["send_pay_date"] = at
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{strings.ReplaceAll(queryMethod, ".", "_") + "_response": trade}); err != nil {
		return nil // cannot happen: it is texts
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// AnswerNotice answers the text that Alipay wants: success, or anything else, after which Alipay
// sends the notice again.
func (c *Channel) AnswerNotice(accepted bool, _ string) order.NoticeAnswer {
	a := order.NoticeAnswer{Status: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: "fail"}
	if accepted {
		a.Body = "success"
	}
	return a
}

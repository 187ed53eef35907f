package alipay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
)

// The methods of Alipay's gateway for refunds and transfers.
const (
	refundMethod        = "alipay.trade.refund"
	refundQueryMethod   = "alipay.trade.fastpay.refund.query"
	transferQueryMethod = "alipay.fund.trans.common.query"
)

// A Poll queries refunds or transfers of one application, by the merchant's own number of them. It
// is safe for concurrent use.
type Poll struct {
	channel *Channel
	of      order.NoticeOf
	states  *states.Poll
}

// Refunds is a Poll of refunds, which it can also request.
type Refunds struct{ *Poll }

var (
	_ poll.Channel    = (*Poll)(nil)
	_ poll.RefChecker = (*Poll)(nil)
	_ poll.Requester  = Refunds{}
)

// NewPoll returns the channel of one application for what it queries: refund or transfer. For
// refunds it is a Refunds.
func NewPoll(of order.NoticeOf, o Options) (poll.Channel, error) {
	if of != order.OfRefund && of != order.OfTransfer {
		return nil, fmt.Errorf("alipay: %w", bellman.InvalidField("of", fmt.Sprintf("%q: want refund or transfer", of)))
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	p := &Poll{channel: c, of: of}
	if p.states, err = states.CompilePoll("alipay_" + string(of)); err != nil {
		return nil, fmt.Errorf("alipay: %w", err)
	}
	if of == order.OfRefund {
		return Refunds{p}, nil
	}
	return p, nil
}

// Certificates returns what [Channel.Certificates] returns.
func (p *Poll) Certificates() map[string]time.Time { return p.channel.Certificates() }

// Query calls alipay.trade.fastpay.refund.query or alipay.fund.trans.common.query. For a transfer,
// vars.product_code and vars.biz_scene override TRANS_ACCOUNT_NO_PWD and DIRECT_TRANSFER.
func (p *Poll) Query(ctx context.Context, o *order.Order) poll.Answer {
	if err := p.CheckRef(o, false); err != nil {
		return poll.Answer{Answer: exchange.Unread(order.Answer{Result: bellman.Blocked}, err)}
	}
	method := refundQueryMethod
	fields := payment(o)
	fields["out_request_no"], fields["query_options"] = o.RefNo, []string{"gmt_refund_pay"}
	if p.of == order.OfTransfer {
		method = transferQueryMethod
		fields = map[string]any{"out_biz_no": o.RefNo, "product_code": cmp.Or(o.Vars["product_code"], "TRANS_ACCOUNT_NO_PWD"),
			"biz_scene": cmp.Or(o.Vars["biz_scene"], "DIRECT_TRANSFER")}
	}
	a, text, err := p.channel.call(ctx, method, fields)
	var t named
	if err == nil && text != nil {
		t, err = p.about(o, text)
	}
	read := p.states.Read(a)
	if err != nil { // an unsigned word can slow us down and not decide
		a.Throttled = read.Throttled
		return poll.Undecided(exchange.Unread(a, err), err)
	}
	if _, said := read.Taken["currency"]; said && p.of == order.OfRefund { // the answer does not say it
		read.Taken["currency"] = currencyOf(o)
		if read.Taken["amount"], said = money.Parse(t.RefundAmount.String(), currencyOf(o)); !said {
			delete(read.Taken, "amount")
		}
	}
	return read
}

// payment returns the fields that name the payment of a refund: Alipay's number in
// vars.transaction_id, or else the order's.
func payment(o *order.Order) map[string]any {
	if no := o.Vars["transaction_id"]; no != "" {
		return map[string]any{"trade_no": no}
	}
	return map[string]any{"out_trade_no": o.OrderNo}
}

// Request calls alipay.trade.refund for vars.amount, in the smallest unit. Alipay treats requests
// with the same out_request_no as one. https://docs.open.alipay.com/api_1/alipay.trade.refund
func (r Refunds) Request(ctx context.Context, o *order.Order) poll.RequestAnswer {
	if err := r.CheckRef(o, true); err != nil {
		return poll.RequestAnswer{Answer: exchange.Unread(order.Answer{Result: bellman.Blocked}, err)}
	}
	fields := payment(o)
	fields["out_request_no"], fields["refund_amount"] = o.RefNo, whole(o)
	if reason := o.Vars["reason"]; reason != "" {
		fields["refund_reason"] = reason
	}
	a, text, err := r.channel.call(ctx, refundMethod, fields)
	var t named
	if err == nil && text != nil {
		t, err = r.about(o, text)
	}
	switch {
	case err != nil:
		return poll.RequestAnswer{Answer: exchange.Unread(a, err)}
	case t.Code == "10000":
		return poll.RequestAnswer{Answer: a, Reading: poll.RequestAccepted}
	case t.Code == "40004" && !strings.HasSuffix(t.SubCode, "SYSTEM_ERROR"):
		a.Result, a.Error = bellman.Refused, fmt.Sprintf("code %q, sub_code %.60q", t.Code, t.SubCode)
		return poll.RequestAnswer{Answer: a, Reading: poll.RequestRefused}
	}
	if text != nil {
		a.Result, a.Error = bellman.Refused, fmt.Sprintf("code %.20q, sub_code %.60q: it is not known what became of the request", t.Code, t.SubCode)
	}
	return poll.RequestAnswer{Answer: a}
}

// named is what of an answer says what it is about.
type named struct {
	Code         string      `json:"code"`
	SubCode      string      `json:"sub_code"`
	OutTradeNo   string      `json:"out_trade_no"`
	TradeNo      string      `json:"trade_no"`
	OutRequestNo string      `json:"out_request_no"`
	OutBizNo     string      `json:"out_biz_no"`
	RefundStatus string      `json:"refund_status"`
	RefundAmount json.Number `json:"refund_amount"`
}

// about returns an error if an answer is about something else.
func (p *Poll) about(o *order.Order, text []byte) (named, error) {
	var t named
	if err := json.Unmarshal(text, &t); err != nil {
		return t, errors.New("the answer does not describe a " + string(p.of))
	}
	transaction := o.Vars["transaction_id"]
	switch {
	case p.of == order.OfTransfer && t.OutBizNo != o.RefNo && (t.Code == "10000" || t.OutBizNo != ""):
		return t, fmt.Errorf("the answer is about the transfer %.70q", t.OutBizNo)
	case p.of == order.OfTransfer:
	case transaction != "" && t.TradeNo != transaction && (t.RefundStatus != "" || t.TradeNo != ""):
		return t, fmt.Errorf("the answer is about the payment %.70q", t.TradeNo)
	case transaction == "" && t.OutTradeNo != o.OrderNo && (t.RefundStatus != "" || t.OutTradeNo != ""):
		return t, fmt.Errorf("the answer is about a refund of the order %.70q", t.OutTradeNo)
	case t.OutRequestNo != o.RefNo && (t.RefundStatus != "" || t.OutRequestNo != ""):
		return t, fmt.Errorf("the answer is about the refund %.70q", t.OutRequestNo)
	case t.RefundStatus != "" && o.Vars["amount"] != "" && !sameAmount(t.RefundAmount.String(), o):
		return t, poll.OtherAmount(fmt.Sprintf("the answer is about a refund of %.20q, not of %s", t.RefundAmount, whole(o)))
	}
	return t, nil
}

// sameAmount reports whether an answer's amount is vars.amount of a refund: 12.3 and 1230.
func sameAmount(said string, o *order.Order) bool {
	want, err := poll.AmountVar(o, "amount")
	is, ok := money.Parse(said, currencyOf(o))
	return err == nil && ok && is == want
}

// currencyOf returns the currency of a refund: that of its payment, which is another than CNY in
// cross-border trade alone.
func currencyOf(o *order.Order) string { return cmp.Or(money.Code(o.Vars["currency"]), "CNY") }

// whole writes the amount of a refund, which CheckRef accepted, as Alipay does: 12.30.
func whole(o *order.Order) string {
	amount, _ := poll.AmountVar(o, "amount")
	return money.Whole(amount, currencyOf(o))
}

// Currency returns the currency of an amount that names none; see [poll.Channel].
func (p *Poll) Currency() string { return "CNY" }

// CheckRef returns an *[bellman.Invalid] if Alipay cannot have such a number, or if a variable is
// missing or wrong.
func (p *Poll) CheckRef(o *order.Order, request bool) error {
	bad := new(bellman.Invalid)
	check := func(field, no string) {
		if n := len(no); n < 1 || n > 64 || strings.ContainsFunc(no, func(r rune) bool { return r <= ' ' || r > '~' }) {
			bad.Add(field, "Alipay takes 1 to 64 letters, digits and signs of ASCII, without white space")
		}
	}
	check("ref_no", o.RefNo)
	if p.of == order.OfRefund {
		if transaction := o.Vars["transaction_id"]; transaction != "" {
			check("vars.transaction_id", transaction)
		} else {
			check("order_no", o.OrderNo)
		}
		if currency := o.Vars["currency"]; request && currency != "" && money.Code(currency) == "" {
			bad.Add("vars.currency", fmt.Sprintf("there is no currency %.10q: want an ISO 4217 code, such as CNY", currency))
		}
		if _, err := poll.AmountVar(o, "amount"); err != nil && (request || o.Vars["amount"] != "") {
			bad.Add("vars.amount", err.Error())
		}
	}
	return bad.Err()
}

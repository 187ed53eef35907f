package wechatpay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/money"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/poll"
	"github.com/bellmanhq/bellman/order/states"
)

// A Poll queries refunds, transfers or profit sharings of one account, by the merchant's own number
// of them. It is safe for concurrent use.
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

// NewPoll returns the channel of one account for what it queries: refund, transfer or
// profitsharing. For refunds it is a Refunds.
func NewPoll(of order.NoticeOf, o Options) (poll.Channel, error) {
	if of != order.OfRefund && of != order.OfTransfer && of != poll.OfProfitSharing {
		return nil, fmt.Errorf("wechatpay: %w", bellman.InvalidField("of", fmt.Sprintf("%q: want refund, transfer or profitsharing", of)))
	}
	if of == order.OfTransfer && o.SubMchID != "" {
		return nil, fmt.Errorf("wechatpay: %w", bellman.InvalidField("sub_mch_id", "a transfer is of the merchant itself: leave it out"))
	}
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	p := &Poll{channel: c, of: of}
	if p.states, err = states.CompilePoll("wechat_" + string(of)); err != nil {
		return nil, fmt.Errorf("wechatpay: %w", err)
	}
	if of == order.OfRefund {
		return Refunds{p}, nil
	}
	return p, nil
}

// Certificates returns what [Channel.Certificates] returns.
func (p *Poll) Certificates() map[string]time.Time { return p.channel.Certificates() }

// Renew does what [Channel.Renew] does.
func (p *Poll) Renew(ctx context.Context) error { return p.channel.Renew(ctx) }

// refundsPath is where refunds are requested and queried.
// https://pay.weixin.qq.com/doc/v3/merchant/4013071036, …/4013071041
const refundsPath = "/v3/refund/domestic/refunds"

// Query asks how a refund, transfer or profit sharing stands. The paths of transfers and profit
// sharings are those of public SDKs; they were not compared with WeChat Pay's documents.
func (p *Poll) Query(ctx context.Context, o *order.Order) poll.Answer {
	if err := p.CheckRef(o, false); err != nil {
		return poll.Answer{Answer: unread(order.Answer{Result: bellman.Blocked}, err)}
	}
	query := url.Values{}
	if p.channel.subMchID != "" {
		query.Set("sub_mchid", p.channel.subMchID)
	}
	var path string
	switch p.of {
	case order.OfTransfer:
		path = "/v3/fund-app/mch-transfer/transfer-bills/out-bill-no"
	case poll.OfProfitSharing:
		path = "/v3/profitsharing/orders"
		query.Set("transaction_id", o.Vars["transaction_id"])
	default:
		path = refundsPath
	}
	uri := path + "/" + url.PathEscape(o.RefNo)
	if len(query) > 0 {
		uri += "?" + query.Encode()
	}
	a, err := p.channel.send(ctx, http.MethodGet, uri, nil)
	if err == nil && a.Status != 0 {
		err = p.about(o, &a)
	}
	if err != nil {
		return poll.Undecided(unread(a, err), err)
	}
	return p.states.Read(a)
}

// Request asks for a refund of vars.amount of the order's vars.total, both in the smallest unit.
// WeChat Pay treats requests with the same number and content as one.
// https://pay.weixin.qq.com/doc/v3/merchant/4013071036
func (r Refunds) Request(ctx context.Context, o *order.Order) poll.RequestAnswer {
	err := r.CheckRef(o, true)
	a := order.Answer{Result: bellman.Blocked}
	if err == nil {
		var body []byte
		if body, err = r.refund(o); err == nil {
			a, err = r.channel.send(ctx, http.MethodPost, refundsPath, body)
		}
	}
	if err == nil && a.Status == http.StatusOK {
		err = r.about(o, &a)
	}
	if err != nil {
		return poll.RequestAnswer{Answer: unread(a, err)}
	}
	return poll.ReadRequest(a)
}

// refund returns the body of a request, the same for each request of one refund.
func (r Refunds) refund(o *order.Order) ([]byte, error) {
	amount, err := poll.AmountVar(o, "amount")
	total, err2 := poll.AmountVar(o, "total")
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	fields := map[string]any{
		"out_refund_no": o.RefNo,
		"amount":        map[string]any{"refund": amount, "total": total, "currency": cmp.Or(money.Code(o.Vars["currency"]), o.Vars["currency"], "CNY")},
	}
	if o.Vars["transaction_id"] == "" {
		fields["out_trade_no"] = o.OrderNo
	}
	for _, name := range []string{"transaction_id", "reason", "notify_url"} {
		if value := o.Vars[name]; value != "" {
			fields[name] = value
		}
	}
	if r.channel.subMchID != "" {
		fields["sub_mchid"] = r.channel.subMchID
	}
	return json.Marshal(fields)
}

// about says that an answer is about something else; nil: it is not. An answer that describes
// nothing names nothing.
func (p *Poll) about(o *order.Order, a *order.Answer) error {
	var t struct {
		OutRefundNo   string `json:"out_refund_no"`
		OutTradeNo    string `json:"out_trade_no"`
		OutBillNo     string `json:"out_bill_no"`
		OutOrderNo    string `json:"out_order_no"`
		TransactionID string `json:"transaction_id"`
		MchID         string `json:"mch_id"`
		Status        string `json:"status"`
		State         string `json:"state"`
		Amount        struct {
			Refund json.Number `json:"refund"`
		} `json:"amount"`
	}
	err := json.Unmarshal(a.Body, &t)
	if a.Status != http.StatusOK && t.Status == "" && t.State == "" {
		return nil
	}
	if err != nil {
		return errors.New("the answer is not the JSON object that describes it")
	}
	no := map[order.NoticeOf]string{order.OfRefund: t.OutRefundNo, order.OfTransfer: t.OutBillNo, poll.OfProfitSharing: t.OutOrderNo}[p.of]
	transaction, amount := o.Vars["transaction_id"], o.Vars["amount"]
	refunded := strings.TrimSuffix(t.Amount.Refund.String(), ".0") // a float, as some programs write it
	switch {
	case no != o.RefNo:
		return fmt.Errorf("the answer is about the %s %.70q", p.of, no)
	case p.of == order.OfRefund && o.OrderNo != "" && transaction == "" && t.OutTradeNo != o.OrderNo:
		return fmt.Errorf("the answer is about a refund of the order %.40q", t.OutTradeNo)
	case p.of != order.OfTransfer && transaction != "" && t.TransactionID != transaction:
		return fmt.Errorf("the answer is about the payment %.40q", t.TransactionID)
	case p.of == order.OfTransfer && t.MchID != p.channel.mchID:
		return fmt.Errorf("the answer is about a transfer of the merchant %.40q", t.MchID)
	case p.of == order.OfRefund && amount != "" && refunded != amount:
		currency := cmp.Or(o.Vars["currency"], "CNY")
		return poll.OtherAmount(fmt.Sprintf("the answer is about a refund of %s, not of %s", money.Shown(refunded, currency), money.Shown(amount, currency)))
	}
	return nil
}

// Currency returns the currency of an amount that names none; see [poll.Channel].
func (p *Poll) Currency() string { return "CNY" }

// CheckRef returns an *[bellman.Invalid] if WeChat Pay cannot have such a number, or if a variable
// is missing. A refund's and a profit sharing's number has at most 64 characters, a transfer's 5 to
// 32 letters and digits.
func (p *Poll) CheckRef(o *order.Order, request bool) error {
	bad := new(bellman.Invalid)
	n := len(o.RefNo)
	switch {
	case p.of == order.OfTransfer && (n < 5 || n > 32 || strings.ContainsFunc(o.RefNo, func(r rune) bool { return outside(r) || strings.ContainsRune("_-|*", r) })):
		bad.Add("ref_no", "WeChat Pay takes 5 to 32 letters and digits for a transfer")
	case n < 1 || n > 64 || strings.ContainsFunc(o.RefNo, func(r rune) bool { return outside(r) && r != '@' }):
		bad.Add("ref_no", "WeChat Pay takes 1 to 64 letters, digits and _-|*@")
	}
	transaction := o.Vars["transaction_id"]
	switch {
	case p.of == poll.OfProfitSharing && transaction == "":
		bad.Add("vars.transaction_id", "is missing: WeChat Pay asks for the number of its payment")
	case p.of == order.OfRefund && transaction == "" && o.OrderNo == "":
		bad.Add("order_no", "is missing: a refund belongs to an order")
	}
	if p.of == order.OfRefund && (request || o.Vars["amount"] != "") {
		amount, err := poll.AmountVar(o, "amount")
		if err != nil {
			bad.Add("vars.amount", err.Error())
		}
		if total, err2 := poll.AmountVar(o, "total"); request && err2 != nil {
			bad.Add("vars.total", err2.Error())
		} else if request && err == nil && amount > total {
			bad.Add("vars.amount", "is more than vars.total")
		}
		if currency := o.Vars["currency"]; request && currency != "" && money.Code(currency) == "" {
			bad.Add("vars.currency", fmt.Sprintf("there is no currency %.10q: want an ISO 4217 code, such as CNY", currency))
		}
	}
	return bad.Err()
}

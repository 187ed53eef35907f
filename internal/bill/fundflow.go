package bill

import (
	"fmt"
	"io"
	"iter"

	"github.com/bellmanhq/bellman/internal/money"
)

// ReadWeChatFundFlow yields the payments and refunds of WeChat Pay's fund flow bill (资金账单). Lines
// about other movements of money, such as fees and withdrawals, count for the totals and are not
// yielded.
// https://pay.weixin.qq.com/docs/merchant/products/bill-download/format-fundflow.html
//
// The bill states what reached the account: if a coupon was taken off, less than the order's
// amount. The money of a refund leaves when the refund is accepted. If it comes back because the
// refund was closed (退款关闭), the bill of that day has a second line, which is yielded as a refund
// that failed. That this line has the refund's number as 业务凭证号 could not be confirmed; one with
// another number says nothing.
//
// No column says whose bill it is. A refund names itself (业务凭证号), and not its order: see
// [Options.Received]. That 业务凭证号 is the order's number for payments and the refund's for refunds is
// what published examples show; WeChat Pay says "usually".
func ReadWeChatFundFlow(r io.Reader) iter.Seq2[Line, error] {
	return read(r, fundFlow)
}

var fundFlow = sheet{
	name:    "fund flow bill",
	columns: []string{"记账时间", "微信支付业务单号", "业务类型", "收支类型", "收支金额(元)", "业务凭证号"},
	free:    "备注",
	totals:  "资金流水总笔数",
	sums: []sum{
		{total: []string{"资金流水总笔数"}},
		{total: []string{"收入笔数"}, kind: []string{"收支类型", "收入"}},
		{total: []string{"收入金额"}, kind: []string{"收支类型", "收入"}, column: []string{"收支金额(元)"}},
		{total: []string{"支出笔数"}, kind: []string{"收支类型", "支出"}},
		{total: []string{"支出金额"}, kind: []string{"收支类型", "支出"}, column: []string{"收支金额(元)"}},
	},
	new: newFundFlow,
}

// newFundFlow returns the reader of a fund flow bill's lines.
func newFundFlow(t *table) func([]string) (Line, bool, error) {
	var (
		at      = t.column("记账时间")
		id      = t.column("微信支付业务单号")
		kind    = t.column("业务类型")
		way     = t.column("收支类型")
		amount  = t.column("收支金额(元)")
		voucher = t.column("业务凭证号")
	)
	return func(values []string) (l Line, keep bool, err error) {
		l = Line{Currency: "CNY", State: cell(values, kind)}
		if l.Time, err = chinaTime(cell(values, at)); err != nil {
			return Line{}, false, err
		}
		n, err := yuan(t, values, amount)
		if err != nil {
			return Line{}, false, err
		}
		in := cell(values, way)
		if in != "收入" && in != "支出" || n < 0 {
			return Line{}, false, fmt.Errorf("收支类型 is %.40q with %s: want 收入 or 支出, and no negative amount", in, money.Format(n, "CNY"))
		}
		switch l.State + in {
		case "交易收入":
			l.Amount, l.ChannelOrderNo, l.TransactionID = n, cell(values, voucher), cell(values, id)
			return l, true, nil
		case "退款支出":
			l.Kind, l.RefundAmount, l.RefundNo = Refund, n, cell(values, voucher)
			return l, true, nil
		case "退款关闭收入":
			l.Kind, l.RefundAmount, l.RefundNo, l.Failed = Refund, n, cell(values, voucher), true
			return l, true, nil
		}
		return Line{}, false, nil
	}
}

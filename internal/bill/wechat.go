package bill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman/internal/money"
)

// ReadWeChatTrade yields the lines of WeChat Pay's trade bill (交易账单) of any type: ALL, SUCCESS or
// REFUND, in the present and in the older form. The bill is CSV in UTF-8; every value begins with a
// backquote. The number of lines and the sums of amounts must agree with the bill's own.
// The columns 商户号 and 特约商户号 say whose line it is.
// https://pay.weixin.qq.com/docs/merchant/products/bill-download/format-trade.html
//
// A refund's state is its state when the bill was made; WeChat Pay does not bring it up to date. A
// payment that was reversed (REVOKED) stands in the bill a second time and is yielded as a refund.
// That its amount stands in the columns of refunds could not be confirmed; if it does not, it is
// taken from those of the order.
func ReadWeChatTrade(r io.Reader) iter.Seq2[Line, error] {
	return read(r, trade)
}

// A sheet is a form of WeChat Pay's bills: a header, lines, the header of the totals, the totals.
type sheet struct {
	name    string   // for errors
	columns []string // some that the header must have
	free    string   // the first column with a text that anybody can choose
	totals  string   // the first column of the totals: the number of lines
	sums    []sum
	new     func(*table) func(values []string) (l Line, keep bool, err error) // reads a line; its Number is set later
}

// A sum says which lines a total counts. Several totals may be made of one column.
type sum struct {
	total  []string // names of the total in the forms of the bill
	column []string // names of the column that is added up; nil: lines are counted
	kind   []string // of the lines that count, a column and its value; nil: all
}

var trade = sheet{
	name:    "trade bill",
	columns: []string{"交易时间", "微信订单号", "商户订单号", "交易状态"},
	free:    "商品名称", // and 商户数据包 behind it
	totals:  "总交易单数",
	// The sum of the fees is not checked: bellman does not use fees.
	sums: []sum{
		{total: []string{"总交易单数"}},
		{total: []string{"应结订单总金额"}, column: []string{"应结订单金额"}},
		{total: []string{"总交易额"}, column: []string{"总金额"}},
		{total: []string{"订单总金额"}, column: []string{"订单金额"}},
		{total: []string{"退款总金额", "总退款金额"}, column: []string{"退款金额"}},
		{total: []string{"申请退款总金额"}, column: []string{"申请退款金额"}},
	},
	new: newTrade,
}

// newTrade returns the reader of a trade bill's lines.
func newTrade(t *table) func([]string) (Line, bool, error) {
	var (
		at       = t.column("交易时间")
		id       = t.column("微信订单号")
		order    = t.column("商户订单号")
		state    = t.column("交易状态")
		currency = t.column("货币种类")
		amount   = t.column("订单金额", "总金额", "应结订单金额") // what the payer was asked for, without coupons taken off
		refundNo = t.column("商户退款单号")
		refunded = t.column("申请退款金额", "退款金额")
		refund   = t.column("退款状态")
		accepted = t.column("退款申请时间") // in the bill of type REFUND, where 交易时间 is that of the payment
		mch      = t.column("商户号")
		sub      = t.column("特约商户号", "子商户号") // 0 or empty if there is none
	)
	return func(values []string) (l Line, keep bool, err error) {
		l = Line{
			ChannelOrderNo: cell(values, order), TransactionID: cell(values, id),
			Currency: cell(values, currency), State: cell(values, state), Owner: Owner{number(values, mch), number(values, sub)},
		}
		when := cell(values, at)
		column, unit := amount, cmp.Or(l.Currency, "CNY")
		switch l.State {
		case "SUCCESS":
			if l.Amount, err = amountOf(t, values, column, unit); err != nil {
				return Line{}, false, err
			}
		case "REFUND", "REVOKED":
			l.Kind, l.RefundNo = Refund, number(values, refundNo)
			if l.RefundAmount, err = amountOf(t, values, refunded, unit); err == nil && l.RefundAmount == 0 && l.State == "REVOKED" {
				l.RefundAmount, err = amountOf(t, values, column, unit)
			}
			if err != nil {
				return Line{}, false, err
			}
			l.RefundAmount = abs(l.RefundAmount) // older bills had a sign
			if s := cell(values, refund); s != "" && l.State == "REFUND" {
				l.State = s
			}
			l.Failed = slices.Contains([]string{"FAIL", "CHANGE", "CLOSED", "REFUNDCLOSE", "ABNORMAL"}, l.State)
			if s := cell(values, accepted); s != "" {
				when = s
			}
		default:
			return Line{}, false, fmt.Errorf("交易状态 is %.40q: want SUCCESS, REFUND or REVOKED", l.State)
		}
		l.Time, err = chinaTime(when)
		return l, true, err
	}
}

// read yields the lines of a sheet.
func read(r io.Reader, s sheet) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := newText(r)
		err := s.read(in, func(l Line) bool { return yield(l, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(Line{}, fmt.Errorf("%s of WeChat Pay: %w", s.name, err))
		}
	}
}

// errStopped says that the consumer of a sequence wants no more.
var errStopped = errors.New("stopped")

func (s sheet) read(in *text, yield func(Line) bool) error {
	header, err := in.next()
	if err != nil {
		return begins(err)
	}
	t := newTable(strings.Split(header, ","))
	if name := t.missing(s.columns...); name != "" {
		return in.wrong(fmt.Errorf("is %.80q: want the header, with the column %s", header, name))
	}
	line, check, free := s.new(t), newTotals(t, s.sums), t.column(s.free)
	for {
		row, err := in.next()
		if err != nil {
			return ends(err)
		}
		if strings.HasPrefix(clean(row), s.totals) {
			return s.end(in, row, check)
		}
		values, err := backquoted(row, len(t.names), free)
		if err != nil {
			return in.wrong(err)
		}
		l, keep, err := line(values)
		if err == nil {
			err = check.add(values)
		}
		if err != nil {
			return in.wrong(err)
		}
		if l.Number = in.n; keep && !yield(l) {
			return errStopped
		}
	}
}

// end reads the totals and compares them with the lines.
func (s sheet) end(in *text, header string, check *totals) error {
	row, err := in.next()
	if err != nil {
		return ends(err)
	}
	names := newTable(strings.Split(header, ","))
	values, err := backquoted(row, len(names.names), -1)
	if err == nil {
		err = check.compare(names, values)
	}
	if err != nil {
		return in.wrong(err)
	}
	if _, err = in.next(); err == nil {
		return in.wrong(errors.New("follows the totals: want the end of the bill"))
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// begins and ends explain the end of a file at its beginning, and before its totals.
func begins(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	return err
}

func ends(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("ends without its totals, so that lines may be missing: download it again")
	}
	return err
}

// backquoted splits a line of n values at commas that a backquote follows: a value may contain
// commas. Such a comma with its backquote may also stand in the text of the column free; -1: in
// none.
func backquoted(row string, n, free int) ([]string, error) {
	first, ok := strings.CutPrefix(row, "`")
	if !ok {
		return nil, fmt.Errorf("is %.80q: want values that begin with a backquote", row)
	}
	values := strings.Split(first, ",`")
	if more := len(values) - n; more > 0 && free >= 0 {
		values = slices.Replace(values, free, free+more+1, strings.Join(values[free:free+more+1], ",`"))
	}
	if len(values) != n {
		return nil, fmt.Errorf("has %d values: want %d, as the header has", len(values), n)
	}
	return values, nil
}

// totals add up the lines of a sheet.
type totals struct {
	header *table
	sums   []sum
	is     []int64
}

func newTotals(t *table, sums []sum) *totals {
	return &totals{header: t, sums: sums, is: make([]int64, len(sums))}
}

func (c *totals) add(values []string) error {
	for i, s := range c.sums {
		if s.kind != nil && cell(values, c.header.column(s.kind[0])) != s.kind[1] {
			continue
		}
		n := int64(1)
		if s.column != nil {
			var err error
			if n, err = yuan(c.header, values, c.header.column(s.column...)); err != nil {
				return err
			}
		}
		if err := add(&c.is[i], n); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error if a total is not what the lines add up to.
func (c *totals) compare(names *table, values []string) error {
	for i, s := range c.sums {
		column := names.column(s.total...)
		if column < 0 || s.column != nil && c.header.column(s.column...) < 0 {
			continue // not in this form of the bill
		}
		want, err := yuan(names, values, column)
		if err != nil {
			return err
		}
		is := c.is[i]
		if s.column == nil {
			is *= 100 // numbers of lines are read as if they were yuan: examples have 20.0
		}
		if is != want {
			shown := func(n int64) string { return money.Format(n, "CNY") }
			if s.column == nil {
				shown = func(n int64) string { return strconv.FormatInt(n/100, 10) }
			}
			return fmt.Errorf("%s is %s, and the lines add up to %s: the bill is not complete, download it again",
				names.names[column], shown(want), shown(is))
		}
	}
	return nil
}

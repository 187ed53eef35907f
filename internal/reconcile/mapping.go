package reconcile

import (
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/bill"
	"github.com/bellmanhq/bellman/internal/coded"
)

// columns are the fields of a mapping that name a column.
var columns = map[string]func(*bill.Mapping) *string{
	"channel_order_no": func(m *bill.Mapping) *string { return &m.ChannelOrderNo },
	"transaction_id":   func(m *bill.Mapping) *string { return &m.TransactionID },
	"amount":           func(m *bill.Mapping) *string { return &m.Amount },
	"currency":         func(m *bill.Mapping) *string { return &m.Currency },
	"state":            func(m *bill.Mapping) *string { return &m.State },
	"refund_no":        func(m *bill.Mapping) *string { return &m.RefundNo },
	"refund_amount":    func(m *bill.Mapping) *string { return &m.RefundAmount },
	"mch_id":           func(m *bill.Mapping) *string { return &m.MchID },
	"time":             func(m *bill.Mapping) *string { return &m.Time },
	"time_format":      func(m *bill.Mapping) *string { return &m.TimeFormat },
	"default_currency": func(m *bill.Mapping) *string { return &m.DefaultCurrency },
}

// ParseMapping reads a mapping such as
// "channel_order_no=order,amount=fee,units=main,paid=OK|SUCCESS". Empty text is no mapping: nil.
// The names are those of the fields of bill.Mapping, and header=no, units=main, encoding=gbk,
// delimiter=CHARACTER or tab, zone=Asia/Shanghai and paid. An error is a *bellman.Invalid.
func ParseMapping(text string) (*bill.Mapping, error) {
	if text == "" {
		return nil, nil
	}
	m := &bill.Mapping{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		known := found && value != ""
		if to := columns[name]; to != nil && known {
			*to(m) = value
			continue
		}
		switch letters := []rune(value); {
		case !known:
		case name == "header":
			m.NoHeader, known = value == "no", value == "no" || value == "yes"
		case name == "units":
			m.MainUnits, known = value == "main", value == "main" || value == "smallest"
		case name == "encoding":
			m.GBK, known = value == "gbk", value == "gbk" || value == "utf-8"
		case name == "delimiter" && value == "tab":
			m.Delimiter = '\t'
		case name == "delimiter" && len(letters) == 1:
			m.Delimiter = letters[0]
		case name == "paid":
			m.Paid = strings.Split(value, "|")
		case name == "zone":
			var err error
			m.Zone, err = time.LoadLocation(value)
			known = err == nil
		default:
			known = false
		}
		if !known {
			return nil, invalid("map", coded.Errorf("reconcile.map", "%.60q is wrong: want FIELD=COLUMN, such as channel_order_no=order, or header=no, units=main, encoding=gbk, delimiter=tab, time_format=…, zone=Asia/Shanghai, default_currency=CNY, paid=SUCCESS|REFUND", part))
		}
	}
	if m.ChannelOrderNo == "" || m.Amount == "" {
		return nil, invalid("map", coded.Errorf("reconcile.map_needs", "lacks channel_order_no or amount: want the columns of both"))
	}
	return m, nil
}

package bill

import "time"

// A Kind says what a line of a bill, or a [Decided], is about.
type Kind uint8

// The kinds of lines.
const (
	Payment Kind = iota
	Refund       // of a payment, in part or whole; a payment that was reversed, too
)

func (k Kind) String() string {
	if k == Refund {
		return "refund"
	}
	return "payment"
}

// A Line is one line of a bill. Amounts are in the currency's smallest unit and never negative.
type Line struct {
	ChannelOrderNo string // the order's number at the channel (out_trade_no); empty: the bill does not say
	TransactionID  string // the channel's number of the payment; empty: the bill does not say
	RefundNo       string // the refund's number (out_refund_no); empty: a payment, or the bill does not say

	Kind         Kind
	Amount       int64  // of a payment; of a refund 0
	RefundAmount int64  // of a refund; of a payment 0
	Currency     string // ISO 4217; empty: the bill does not say
	State        string // the channel's word for the state, such as SUCCESS or PROCESSING; may be empty
	Failed       bool   // no money moved, as the state says: the line states a payment or refund that failed

	Time   time.Time // of the payment, or when the refund was accepted, in UTC; zero: the bill does not say
	Number int       // line in the file, from 1
	Owner  Owner     `json:"-"` // whose line it is; Compare checks it, and does not report it
}

// Sum returns the amount of the payment or refund.
func (l *Line) Sum() int64 { return l.Amount + l.RefundAmount } // one of the two is 0

// An Owner is a merchant by the channel's numbers. The zero Owner is not known.
type Owner struct {
	No  string // of the merchant: 商户号, or the seller's number at Alipay
	Sub string // of the sub-merchant for which the merchant acts (特约商户号); empty: none
}

func (o Owner) String() string {
	if o.Sub == "" {
		return o.No
	}
	return o.No + ":" + o.Sub
}

// owns reports whether a line of another Owner may be the account's: always if either is not known.
// A sub-merchant's own bill may name it alone, or after the merchant that acts for it.
func (o Owner) owns(line Owner) bool {
	switch {
	case o.No == "" || line.No == "" || line == o:
		return true
	case o.Sub == "":
		return line.Sub == o.No
	}
	return line == Owner{No: o.Sub}
}

// A Decided is an order or a refund as bellman knows it. An order that bellman still watches is one
// too: its Paid is false.
type Decided struct {
	Account        string // whose bill has it, as in [Bill]; empty if one bill alone is compared
	ChannelOrderNo string // as in [Line]
	MerchantNo     string
	OrderNo        string // the merchant's number
	TaskID         string // two items with one TaskID are the same item
	RefundNo       string // not empty: the item is a refund of the order

	State         string // bellman's word for the state, for people: PAID, CLOSED, UNKNOWN
	Paid          bool   // an order: somebody paid, even if late; a refund: the channel accepted it, and it did not fail
	Amount        int64  // in the smallest unit: of the order, or of the refund; 0: unknown, not compared
	Currency      string // ISO 4217; empty: unknown, not compared
	TransactionID string // empty: unknown

	// PaidAt is the channel's time of the payment, or when the channel accepted the refund. If the
	// channel said none, it is the time of the decision. Zero: the item is never missing there.
	PaidAt time.Time

	// Refunded is what the order itself says was refunded so far, in the smallest unit. Lines of
	// refunds without an item are no difference up to this sum, less the refunds that are items.
	Refunded int64
}

// key is what the lines and items of one order have in common.
func (l *Line) key() string { return keyOf(l.ChannelOrderNo, l.RefundNo, l.TransactionID) }

func (d *Decided) key() string { return keyOf(d.ChannelOrderNo, d.RefundNo, d.TransactionID) }

// keyOf marks substitutes for an order number with a byte that no number begins with.
func keyOf(channelOrderNo, refundNo, transactionID string) string {
	switch {
	case channelOrderNo != "":
		return channelOrderNo
	case refundNo != "":
		return "\x01" + refundNo
	}
	return "\x02" + transactionID
}

// Zone is the time zone of the bills of WeChat Pay and Alipay, UTC+8. It has no summer time.
var Zone = time.FixedZone("UTC+8", 8*60*60)

// Day returns the period of a daily bill: from midnight to the next midnight of a date such as
// 2026-11-21 in Zone.
func Day(date string) (from, to time.Time, err error) {
	from, err = time.ParseInLocation(time.DateOnly, date, Zone)
	return from, from.AddDate(0, 0, 1), err
}

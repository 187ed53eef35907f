package bill

import (
	"encoding/binary"
	"errors"

	"github.com/bellmanhq/bellman/internal/pack"
)

// The sources of records, which are the first byte of a record's value.
const (
	ofBefore  = iota // a line of the bill of the period before
	ofBill           // a line of the bill
	ofDecided        // an item of bellman
)

var errRecord = errors.New("temporary file: a record cannot be read: did something change the file?")

// encode appends a line of a source.
func (l *Line) encode(source byte, b []byte) []byte {
	b = append(b, source)
	for _, s := range [...]string{l.ChannelOrderNo, l.TransactionID, l.RefundNo, l.Currency, l.State} {
		b = pack.Text(b, s)
	}
	for _, n := range [...]int64{int64(l.Kind), l.Amount, l.RefundAmount, int64(l.Number)} {
		b = binary.AppendVarint(b, n)
	}
	return pack.Time(append(b, pack.Bit(l.Failed)), l.Time, 0)
}

// decodeLine reads the fields of a line, without its source.
func decodeLine(value []byte) (Line, error) {
	r := pack.Read(value)
	l := Line{
		ChannelOrderNo: r.Text(), TransactionID: r.Text(), RefundNo: r.Text(), Currency: r.Text(), State: r.Text(),
		Kind: Kind(r.Varint()), Amount: r.Varint(), RefundAmount: r.Varint(), Number: int(r.Varint()),
		Failed: r.Byte() != 0, Time: r.Time(0),
	}
	if r.End() != nil {
		return Line{}, errRecord
	}
	return l, nil
}

// encode appends an item of bellman.
func (d *Decided) encode(b []byte) []byte {
	b = append(b, ofDecided)
	for _, s := range [...]string{d.ChannelOrderNo, d.MerchantNo, d.OrderNo, d.TaskID, d.RefundNo, d.State, d.Currency, d.TransactionID} {
		b = pack.Text(b, s)
	}
	b = binary.AppendVarint(binary.AppendVarint(b, d.Amount), d.Refunded)
	return pack.Time(append(b, pack.Bit(d.Paid)), d.PaidAt, 0)
}

func decodeDecided(value []byte) (Decided, error) {
	r := pack.Read(value)
	d := Decided{
		ChannelOrderNo: r.Text(), MerchantNo: r.Text(), OrderNo: r.Text(), TaskID: r.Text(), RefundNo: r.Text(), State: r.Text(),
		Currency: r.Text(), TransactionID: r.Text(), Amount: r.Varint(), Refunded: r.Varint(), Paid: r.Byte() != 0, PaidAt: r.Time(0),
	}
	if r.End() != nil {
		return Decided{}, errRecord
	}
	return d, nil
}

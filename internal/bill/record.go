package bill

import (
	"encoding/binary"
	"errors"
	"time"
)

// The sources of records, which are the first byte of a record's value.
const (
	ofBefore  = iota // a line of the bill of the period before
	ofBill           // a line of the bill
	ofDecided        // an item of bellman
)

var errRecord = errors.New("temporary file: a record cannot be read: did something change the file?")

// A coder writes fields one after another.
type coder []byte

func (c *coder) text(s string) {
	*c = binary.AppendUvarint(*c, uint64(len(s)))
	*c = append(*c, s...)
}

func (c *coder) number(n int64) { *c = binary.AppendVarint(*c, n) }

func (c *coder) flag(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	c.number(n)
}

func (c *coder) time(t time.Time) {
	c.flag(t.IsZero())
	if !t.IsZero() {
		c.number(t.UnixMilli())
	}
}

// A decoder reads what a coder wrote. After an error all fields are zero.
type decoder struct {
	in  []byte
	bad bool
}

func (d *decoder) number() int64 {
	n, used := binary.Varint(d.in)
	if used <= 0 {
		d.in, d.bad = nil, true
		return 0
	}
	d.in = d.in[used:]
	return n
}

func (d *decoder) flag() bool { return d.number() != 0 }

func (d *decoder) text() string {
	n, used := binary.Uvarint(d.in)
	if used <= 0 || n > uint64(len(d.in)-used) {
		d.in, d.bad = nil, true
		return ""
	}
	s := string(d.in[used : used+int(n)])
	d.in = d.in[used+int(n):]
	return s
}

func (d *decoder) time() time.Time {
	if d.flag() || d.bad {
		return time.Time{}
	}
	return time.UnixMilli(d.number()).UTC()
}

// encode writes a line of a source.
func (l *Line) encode(source byte, c coder) coder {
	c = append(c, source)
	c.text(l.ChannelOrderNo)
	c.text(l.TransactionID)
	c.text(l.RefundNo)
	c.number(int64(l.Kind))
	c.number(l.Amount)
	c.number(l.RefundAmount)
	c.text(l.Currency)
	c.text(l.State)
	c.flag(l.Failed)
	c.time(l.Time)
	c.number(int64(l.Number))
	return c
}

// decodeLine reads the fields of a line, without its source.
func decodeLine(value []byte) (Line, error) {
	d := decoder{in: value}
	l := Line{
		ChannelOrderNo: d.text(), TransactionID: d.text(), RefundNo: d.text(),
		Kind: Kind(d.number()), Amount: d.number(), RefundAmount: d.number(),
		Currency: d.text(), State: d.text(), Failed: d.flag(), Time: d.time(), Number: int(d.number()),
	}
	if d.bad || len(d.in) > 0 {
		return Line{}, errRecord
	}
	return l, nil
}

func (d *Decided) encode(c coder) coder {
	c = append(c, ofDecided)
	c.text(d.ChannelOrderNo)
	c.text(d.MerchantNo)
	c.text(d.OrderNo)
	c.text(d.TaskID)
	c.text(d.RefundNo)
	c.text(d.State)
	c.flag(d.Paid)
	c.number(d.Amount)
	c.text(d.Currency)
	c.text(d.TransactionID)
	c.time(d.PaidAt)
	c.number(d.Refunded)
	return c
}

func decodeDecided(value []byte) (Decided, error) {
	d := decoder{in: value}
	o := Decided{
		ChannelOrderNo: d.text(), MerchantNo: d.text(), OrderNo: d.text(), TaskID: d.text(), RefundNo: d.text(),
		State: d.text(), Paid: d.flag(), Amount: d.number(), Currency: d.text(), TransactionID: d.text(),
		PaidAt: d.time(), Refunded: d.number(),
	}
	if d.bad || len(d.in) > 0 {
		return Decided{}, errRecord
	}
	return o, nil
}

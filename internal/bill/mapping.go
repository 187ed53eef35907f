package bill

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/bellmanhq/bellman/internal/money"
)

// A Mapping says where a CSV file has the fields of a [Line]. A column is the name that the first
// line gives it, or its number from 1. Empty: the file has no such column. ChannelOrderNo and
// Amount are needed.
type Mapping struct {
	ChannelOrderNo string
	TransactionID  string
	Amount         string // of the payment; negative: a refund
	Currency       string // ISO 4217, of letters or digits; empty: DefaultCurrency
	State          string
	RefundNo       string // not empty or 0 in a line: the line is a refund
	RefundAmount   string // of the refund; of a line without RefundNo: how much of the payment was refunded
	Time           string
	MchID          string // the merchant whose line it is: either number of an [Owner]

	NoHeader        bool   // the first line is data; columns are numbers then
	DefaultCurrency string // for lines without one; default CNY
	MainUnits       bool   // amounts such as 88.80; otherwise whole numbers of the smallest unit, such as 8880
	Delimiter       rune   // default comma
	GBK             bool   // the file is in GBK; otherwise in UTF-8

	// TimeFormat is a layout of package time, "unix" or "unix_ms"; default 2006-01-02 15:04:05.
	// Zone is of times whose text says none; default UTC+8.
	TimeFormat string
	Zone       *time.Location

	// Paid are the values of State of payments and refunds that moved money. Lines with another
	// state are Failed. Empty: no line is.
	Paid []string

	// RefundNoAlone says that the line of a refund may lack ChannelOrderNo: refunds are not
	// compared, or by RefundNo. Otherwise such a line is an error, because a refund is compared
	// under the number of its order.
	RefundNoAlone bool
}

// ReadCSV yields the lines of a file in a form of one's own. Values may be quoted as in RFC 4180.
// White space around a value and a backquote in front of it are removed. A line that has both an
// amount and a refunded amount, and no RefundNo, is yielded as a payment and a refund.
func ReadCSV(r io.Reader, m Mapping) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		err := m.read(r, func(l Line) bool { return yield(l, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(Line{}, fmt.Errorf("CSV: %w", err))
		}
	}
}

// A mapped is a Mapping whose columns were found; -1: there is none.
type mapped struct {
	Mapping
	order, id, amount, currency, state, refundNo, refunded, at, mch int
}

func (m Mapping) read(r io.Reader, yield func(Line) bool) error {
	if m.GBK {
		r = simplifiedchinese.GB18030.NewDecoder().Reader(r)
	}
	unmarked := bufio.NewReader(r)
	if mark, _ := unmarked.Peek(3); string(mark) == "\ufeff" {
		unmarked.Discard(len(mark))
	}
	limited := &recordReader{r: unmarked}
	in := csv.NewReader(limited)
	in.ReuseRecord, in.FieldsPerRecord = true, 0
	if m.Delimiter != 0 {
		in.Comma = m.Delimiter
	}
	var columns *mapped
	for {
		limited.next(in.InputOffset())
		values, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && columns == nil:
			return begins(err)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err // names its line
		}
		n, _ := in.FieldPos(0)
		if columns == nil {
			if columns, err = m.find(values); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			if !m.NoHeader {
				continue
			}
		}
		lines, err := columns.lines(values)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		for _, l := range lines {
			if l.Number = n; !yield(l) {
				return errStopped
			}
		}
	}
}

// find finds the columns by the first line.
func (m Mapping) find(first []string) (*mapped, error) {
	if m.ChannelOrderNo == "" || m.Amount == "" {
		return nil, errors.New("the mapping names no column of channel_order_no or of amount")
	}
	width := len(first)
	t := newTable(nil)
	if !m.NoHeader {
		t = newTable(slices.Clone(first))
	}
	c := &mapped{Mapping: m}
	for at, name := range map[*int]string{
		&c.order: m.ChannelOrderNo, &c.id: m.TransactionID, &c.amount: m.Amount, &c.currency: m.Currency,
		&c.state: m.State, &c.refundNo: m.RefundNo, &c.refunded: m.RefundAmount, &c.at: m.Time, &c.mch: m.MchID,
	} {
		if *at = -1; name == "" {
			continue
		}
		if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= width {
			*at = n - 1
		} else if *at = t.column(newTable([]string{name}).names[0]); *at < 0 {
			return nil, fmt.Errorf("there is no column %.40q: the first line has %.200q", name, strings.Join(first, ", "))
		}
	}
	return c, nil
}

// lines returns the payment and the refund that one line of the file states.
func (m *mapped) lines(values []string) ([]Line, error) {
	l := Line{
		ChannelOrderNo: cell(values, m.order),
		TransactionID:  cell(values, m.id),
		RefundNo:       number(values, m.refundNo),
		Currency:       cmp.Or(cell(values, m.currency), m.DefaultCurrency, "CNY"),
		State:          cell(values, m.state),
		Owner:          Owner{No: cell(values, m.mch)},
	}
	code := money.Code(l.Currency)
	if code == "" {
		return nil, fmt.Errorf("there is no currency %.10q", l.Currency)
	}
	l.Currency = code
	switch {
	case l.ChannelOrderNo != "":
	case l.RefundNo == "":
		return nil, errors.New("has no channel_order_no")
	case !m.RefundNoAlone:
		return nil, fmt.Errorf("channel_order_no is missing for the refund %.70q: want the number of its order at the channel", l.RefundNo)
	}
	if !utf8.ValidString(l.ChannelOrderNo) || strings.ContainsRune(l.ChannelOrderNo, '\ufffd') {
		return nil, errors.New("channel_order_no is in another encoding than the mapping says")
	}
	l.Failed = len(m.Paid) > 0 && !slices.Contains(m.Paid, l.State)
	var err error
	if l.Time, err = m.time(cell(values, m.at)); err != nil {
		return nil, err
	}
	amount, err := m.money(values, m.amount, l.Currency)
	if err != nil {
		return nil, fmt.Errorf("amount: %w", err)
	}
	refunded, err := m.money(values, m.refunded, l.Currency)
	if err != nil {
		return nil, fmt.Errorf("refund_amount: %w", err)
	}
	refunded = abs(refunded)
	refund := l
	refund.Kind, refund.RefundAmount = Refund, refunded
	switch {
	case l.RefundNo != "" || amount < 0:
		if refunded == 0 {
			refund.RefundAmount = abs(amount)
		}
		return []Line{refund}, nil
	case refunded > 0 && amount == 0:
		return []Line{refund}, nil
	case refunded > 0:
		l.Amount = amount
		return []Line{l, refund}, nil
	}
	l.Amount = amount
	return []Line{l}, nil
}

func (m *mapped) money(values []string, column int, currency string) (int64, error) {
	s := cell(values, column)
	if s == "" {
		return 0, nil
	}
	n, err := parseWhole(s)
	if err != nil && strings.Contains(s, ".") {
		err = fmt.Errorf("%w, or units=main for amounts such as 88.80", err)
	}
	if m.MainUnits {
		n, err = parseAmount(s, currency)
	}
	if err != nil {
		return 0, fmt.Errorf("%.40q: %w", s, err)
	}
	return n, nil
}

func (m *mapped) time(s string) (t time.Time, err error) {
	layout, zone := m.TimeFormat, m.Zone
	layout = cmp.Or(layout, time.DateTime)
	zone = cmp.Or(zone, Zone)
	switch {
	case s == "":
		return time.Time{}, nil
	case layout == "unix" || layout == "unix_ms":
		n, err := strconv.ParseInt(s, 10, 64)
		t = time.UnixMilli(n)
		if layout == "unix" {
			t = time.Unix(n, 0)
		}
		if err != nil || !writable(t) {
			return time.Time{}, fmt.Errorf("time: %.40q is not in the form %s", s, layout)
		}
		return t.UTC(), nil
	}
	if t, err = time.ParseInLocation(layout, s, zone); err != nil || !writable(t) {
		return time.Time{}, fmt.Errorf("time: %.40q is not in the form %s", s, layout)
	}
	return t.UTC(), nil
}

// writable reports whether a time can be written as JSON: 0000-01-01 in UTC+8 is in the year
// before.
func writable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }

// A recordReader bounds the bytes of one record: a quote that is never closed would make the whole
// file one record.
type recordReader struct {
	r         io.Reader
	at, limit int64
}

// next begins a record at an offset.
func (r *recordReader) next(offset int64) { r.limit = offset + maxLine }

func (r *recordReader) Read(p []byte) (int, error) {
	if r.at >= r.limit {
		return 0, fmt.Errorf("a line is longer than %d bytes: is a quote not closed?", maxLine)
	}
	n, err := r.r.Read(p)
	r.at += int64(n)
	return n, err
}

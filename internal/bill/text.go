package bill

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// maxLine bounds the bytes of a line.
const maxLine = 64 << 10

// A text reads the lines of a file.
type text struct {
	r *bufio.Reader
	n int // number of the line that next returned last
}

func newText(r io.Reader) *text { return &text{r: bufio.NewReaderSize(r, maxLine)} }

// next returns the next line that is not empty, without its end. After the last line the error is
// io.EOF.
func (t *text) next() (string, error) {
	for {
		line, err := t.r.ReadSlice('\n')
		t.n++
		if errors.Is(err, bufio.ErrBufferFull) {
			return "", t.wrong(fmt.Errorf("the line is longer than %d bytes", maxLine))
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
			return "", err
		}
		s := strings.TrimRight(string(line), "\r\n")
		if t.n == 1 {
			s = strings.TrimPrefix(s, "\ufeff")
		}
		if s != "" {
			return s, nil
		}
	}
}

// wrong says which line an error is about.
func (t *text) wrong(err error) error { return fmt.Errorf("line %d: %w", t.n, err) }

// A table is the header of a file: where each column is.
type table struct {
	names []string
	at    map[string]int
}

// newTable reads a header. Channels write parentheses in either width.
func newTable(names []string) *table {
	t := &table{names: names, at: make(map[string]int, len(names))}
	for i, name := range names {
		names[i] = strings.NewReplacer("（", "(", "）", ")").Replace(clean(name))
		if _, twice := t.at[names[i]]; !twice {
			t.at[names[i]] = i
		}
	}
	return t
}

// column returns where the first of names is; -1: nowhere.
func (t *table) column(names ...string) int {
	for _, name := range names {
		if i, ok := t.at[name]; ok {
			return i
		}
	}
	return -1
}

// missing returns the first of names that is no column; empty: each is.
func (t *table) missing(names ...string) string {
	for _, name := range names {
		if t.column(name) < 0 {
			return name
		}
	}
	return ""
}

// clean removes what channels put around a value so that a spreadsheet does not take it for a
// number.
func clean(value string) string {
	value = strings.TrimLeftFunc(value, func(r rune) bool { return r == '`' || unicode.IsSpace(r) })
	return strings.TrimRightFunc(value, unicode.IsSpace)
}

// cell returns a value of a line; column -1: empty.
func cell(values []string, column int) string {
	if column < 0 {
		return ""
	}
	return clean(values[column])
}

// number returns a number of an order or a refund. WeChat Pay writes 0 for none.
func number(values []string, column int) string {
	if s := cell(values, column); s != "0" {
		return s
	}
	return ""
}

// yuan returns an amount of a line in fen; column -1: 0.
func yuan(t *table, values []string, column int) (int64, error) {
	return amountOf(t, values, column, "CNY")
}

// amountOf returns an amount of a line in the smallest unit of its currency; column -1: 0.
func amountOf(t *table, values []string, column int, currency string) (int64, error) {
	s := cell(values, column)
	if s == "" {
		return 0, nil
	}
	n, err := parseAmount(s, currency)
	if err != nil {
		return 0, fmt.Errorf("%s %.40q: %w", t.names[column], s, err)
	}
	return n, nil
}

// chinaTime reads a time of a Chinese channel's bill.
func chinaTime(s string) (time.Time, error) {
	t, err := time.ParseInLocation(time.DateTime, s, Zone)
	if err != nil || !writable(t) {
		return time.Time{}, fmt.Errorf("%.40q is no time: want one such as 2026-11-21 18:00:00", s)
	}
	return t.UTC(), nil
}

package sqlstore

import (
	"encoding/binary"
	"errors"
	"time"
)

// format begins each packed column, which may one day be written differently.
const format = 1

// errCorrupt is what a packed column says that cannot be read back.
var errCorrupt = errors.New("row is cut short or of an unknown format")

// A parser reads what the append functions wrote. After the first mistake it
// reads zeros, and err says so.
type parser struct {
	b   []byte
	err error
}

func parse(b []byte) *parser {
	p := &parser{b: b}
	if p.byte() != format {
		p.fail()
	}
	return p
}

func (p *parser) fail() { p.b, p.err = nil, errCorrupt }

func (p *parser) byte() byte {
	if len(p.b) < 1 {
		p.fail()
		return 0
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c
}

func (p *parser) uvarint() uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) varint() int64 {
	n, size := binary.Varint(p.b)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[size:]
	return n
}

// bytes reads a length and as many bytes, which are part of the column.
func (p *parser) bytes() []byte {
	n := p.uvarint()
	if n > uint64(len(p.b)) {
		p.fail()
		return nil
	}
	b := p.b[:n:n]
	p.b = p.b[n:]
	return b
}

func (p *parser) string() string { return string(p.bytes()) }

func (p *parser) time() time.Time {
	if p.byte() == 0 {
		return time.Time{}
	}
	return fromMilli(p.varint())
}

// end is the error of the whole column: bytes left over are a mistake too.
func (p *parser) end() error {
	if p.err == nil && len(p.b) > 0 {
		p.fail()
	}
	return p.err
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), t.UnixMilli())
}

// fromMilli is the reverse of UnixMilli, for the zero time too.
func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Words keep the texts of many rows together, as bytes.
type words struct {
	b    []byte
	more int // bytes to make room for at once
}

// newWords makes room for so many rows.
func newWords(rows int) words { return words{more: min(max(rows, 1)*128, 64<<10)} }

func (w *words) bytes(text string) []byte {
	if cap(w.b)-len(w.b) < len(text) || w.b == nil {
		w.b = make([]byte, 0, max(w.more, len(text)))
	}
	begin := len(w.b)
	w.b = append(w.b, text...)
	return w.b[begin:len(w.b):len(w.b)]
}

// orNull is text as a column that is NULL when it is empty.
func (w *words) orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return w.bytes(text)
}

// orNull is text as a column that is NULL when it is empty.
func orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

package pebble

import (
	"encoding/binary"
	"errors"
	"time"
)

// errCorrupt is what a row says that cannot be read back.
var errCorrupt = errors.New("row is cut short or of an unknown format")

// A parser reads what the append functions wrote. After the first mistake it
// reads zeros, and err says so.
type parser struct {
	b   []byte
	err error
}

func (p *parser) fail() {
	p.b, p.err = nil, errCorrupt
}

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
	if len(p.b) > 0 && p.b[0] < 0x80 { // most numbers are small
		n := p.b[0]
		p.b = p.b[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) varint() int64 {
	n := p.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (p *parser) uint16() uint16 {
	if len(p.b) < 2 {
		p.fail()
		return 0
	}
	n := binary.LittleEndian.Uint16(p.b)
	p.b = p.b[2:]
	return n
}

func (p *parser) uint64() uint64 {
	if len(p.b) < 8 {
		p.fail()
		return 0
	}
	n := binary.LittleEndian.Uint64(p.b)
	p.b = p.b[8:]
	return n
}

// bytes reads a length and as many bytes, which are part of the row.
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

// time reads milliseconds since base.
func (p *parser) time(base int64) time.Time { return fromMilli(base + p.varint()) }

// end is the error of the whole row: bytes left over are a mistake too.
func (p *parser) end() error {
	if p.err == nil && len(p.b) > 0 {
		p.fail()
	}
	return p.err
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func fromMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// milli is t in Unix milliseconds, and 0 for the zero time.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// cut is t as it comes back from the store: whole milliseconds, UTC.
func cut(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return fromMilli(t.UnixMilli())
}

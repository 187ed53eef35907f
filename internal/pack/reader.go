package pack

import (
	"encoding/binary"
	"time"
)

// A Reader decodes the fields of a row in order. After the first error all methods return zero
// values, and Err returns the error.
type Reader struct {
	b   []byte
	all string // the bytes up to the end of b, if texts share one string
	err error
}

// Read returns a Reader of a row. Results of Bytes and Take alias the row.
func Read(row []byte) Reader { return Reader{b: row} }

// Fail marks the row as corrupt.
func (r *Reader) Fail() { r.b, r.err = nil, ErrCorrupt }

// Err returns ErrCorrupt after an error, otherwise nil.
func (r *Reader) Err() error { return r.err }

// End returns Err, and ErrCorrupt if bytes are left over.
func (r *Reader) End() error {
	if r.err == nil && len(r.b) > 0 {
		r.Fail()
	}
	return r.err
}

// Left returns the unread bytes.
func (r *Reader) Left() []byte { return r.b }

// Cut removes the last n unread bytes and returns them.
func (r *Reader) Cut(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.Fail()
		return nil
	}
	at := len(r.b) - int(n)
	last := r.b[at:]
	r.b = r.b[:at]
	return last
}

// Take reads n bytes.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.Fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.b) < 1 {
		r.Fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// Uint16 reads two bytes, the lower first.
func (r *Reader) Uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// Uint64 reads eight bytes, the lowest first.
func (r *Reader) Uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Uvarint reads what binary.AppendUvarint wrote.
func (r *Reader) Uvarint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 { // most numbers are small
		n := r.b[0]
		r.b = r.b[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

// Varint reads what binary.AppendVarint wrote.
func (r *Reader) Varint() int64 {
	n := r.Uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

// Duration reads the nanoseconds that binary.AppendVarint wrote.
func (r *Reader) Duration() time.Duration { return time.Duration(r.Varint()) }

// Bytes reads what Text wrote.
func (r *Reader) Bytes() []byte { return r.Take(r.Uvarint()) }

// Text reads what Text wrote.
func (r *Reader) Text() string { return r.text(r.Bytes()) }

// Like reads what Text wrote. It returns other, and allocates nothing, if the text is equal to it.
func (r *Reader) Like(other string) string {
	b := r.Bytes()
	if string(b) == other {
		return other
	}
	return r.text(b)
}

// ShareTexts lets all further texts share one string, so that they need one allocation.
func (r *Reader) ShareTexts() { r.all = string(r.b) }

// text returns bytes that were just read as a string.
func (r *Reader) text(b []byte) string {
	if r.all == "" {
		return string(b)
	}
	end := len(r.all) - len(r.b)
	return r.all[end-len(b) : end]
}

// Time reads what Time wrote with this base.
func (r *Reader) Time(base int64) time.Time {
	if r.Byte() == 0 {
		return time.Time{}
	}
	return FromMilli(base + r.Varint())
}

package pack_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellmanhq/bellman/internal/pack"
)

// A row that was written is read again. A row that is cut short anywhere, or longer, is an error,
// never a panic.
func TestReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		n, m := rapid.Uint64().Draw(t, "n"), rapid.Int64().Draw(t, "m")
		base := rapid.Int64Range(0, 1<<42).Draw(t, "base")
		var at time.Time
		if rapid.Bool().Draw(t, "has time") {
			at = time.UnixMilli(rapid.Int64Range(-1<<42, 1<<42).Draw(t, "at")).UTC()
		}
		b := binary.AppendVarint(binary.AppendUvarint([]byte{7}, n), m)
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint16(b, uint16(n)), n)
		b = pack.Text(pack.Time(pack.Text(b, text), at, base), string(text))
		read := func(row []byte) (same bool, err error) {
			r := pack.Read(row)
			same = r.Byte() == 7 && r.Uvarint() == n && r.Varint() == m && r.Uint16() == uint16(n) && r.Uint64() == n &&
				bytes.Equal(r.Bytes(), text) && r.Time(base).Equal(at) && r.Text() == string(text)
			return same, r.End()
		}
		if same, err := read(b); !same || err != nil {
			t.Errorf("%x: read the same %t, %v", b, same, err)
		}
		short := rapid.IntRange(0, len(b)-1).Draw(t, "short")
		for _, row := range [][]byte{b[:short], append(bytes.Clone(b), 0)} {
			if _, err := read(row); !errors.Is(err, pack.ErrCorrupt) {
				t.Errorf("%x of %x: %v, want %v", row, b, err, pack.ErrCorrupt)
			}
		}
	})
}

// After a mistake there is nothing left to read.
func TestNothingAfterAMistake(t *testing.T) {
	for name, take := range map[string]func(*pack.Reader){
		"take":    func(r *pack.Reader) { r.Take(4) },
		"cut":     func(r *pack.Reader) { r.Cut(4) },
		"text":    func(r *pack.Reader) { r.Text() }, // of 9 bytes
		"fail":    func(r *pack.Reader) { r.Fail() },
		"uint64":  func(r *pack.Reader) { r.Uint64() },
		"uvarint": func(r *pack.Reader) { r.Byte(); r.Uvarint() }, // which goes on
	} {
		r := pack.Read([]byte{9, 0x80, 0x80})
		take(&r)
		if len(r.Left()) > 0 || r.Byte() != 0 || r.Err() == nil || r.End() == nil {
			t.Errorf("%s: %x is left, %v", name, r.Left(), r.Err())
		}
	}
}

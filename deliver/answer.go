package deliver

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/rule"
)

const maxAnswer = rule.MaxBody // bytes of an answer's body that are read

// buffers hold answers while they are judged. Most answers are short, so a buffer starts with 1
// KiB.
var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 1<<10)} }}

type buffer struct{ b []byte }

// read reads an answer up to maxAnswer bytes, and closes it. The connection is
// kept if the whole body was read, and closed otherwise.
func (f *buffer) read(resp *http.Response) error {
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil // another protocol follows
	}
	for len(f.b) < maxAnswer {
		if len(f.b) == cap(f.b) {
			grown := make([]byte, len(f.b), min(8*cap(f.b), maxAnswer))
			copy(grown, f.b)
			f.b = grown
		}
		n, err := resp.Body.Read(f.b[len(f.b):cap(f.b)])
		f.b = f.b[:len(f.b)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// free returns the buffer to the pool. Do not use its bytes after that.
func (f *buffer) free() {
	f.b = f.b[:0]
	buffers.Put(f)
}

// excerpt returns the first 600 characters of an answer as valid UTF-8. U+FFFD
// replaces each invalid byte, and NUL, which some databases cannot keep.
func excerpt(b []byte) string {
	clean, ascii := true, true
	n, end := 0, 0
	for ; end < len(b) && n < bellman.MaxResponse; n++ {
		c := b[end]
		if c < utf8.RuneSelf {
			clean = clean && c != 0
			end++
			continue
		}
		ascii = false
		_, size := utf8.DecodeRune(b[end:])
		clean = clean && size > 1
		end += size
	}
	s := string(b[:end])
	if clean {
		return s
	}
	if !ascii {
		s = each(s)
	}
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// each replaces every invalid byte by one U+FFFD: excerpt counted each such byte
// as one character.
func each(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// Package lines reads files of merchants, one JSON a line, for all that import them, and
// says what is wrong with which line. Which values a merchant may have is the registry's.
package lines

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"

	"github.com/bellmanhq/bellman/client"
)

// maxLine bounds the bytes of a line.
const maxLine = 8 << 20

// A Line is one that has something.
type Line struct {
	N        int                // 1 for the first of the file, empty ones counted
	Merchant client.PutMerchant // as far as it could be read
	Wrong    error              // why it cannot be imported, in English, the field first; nil: it may be
}

// An AgainError says that a merchant stands in an earlier line, which is the one to import.
type AgainError struct {
	MerchantNo string
	First      int // line
}

func (e *AgainError) Error() string {
	return fmt.Sprintf("merchant_no: %q stands in line %d already: want each once", e.MerchantNo, e.First)
}

// Read returns the lines of a file in order; one that cannot be read further ends with an
// error, which names the line.
func Read(in io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		s := bufio.NewScanner(in)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		first := map[string]int{} // the line of each merchant
		n := 0
		for s.Scan() {
			n++
			text := s.Bytes()
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff")) // as some editors begin a file
			}
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			l := Line{N: n}
			l.Merchant, l.Wrong = parse(string(text))
			if no := l.Merchant.MerchantNo; l.Wrong == nil && no != "" {
				if at, again := first[no]; again {
					l.Wrong = &AgainError{no, at}
				} else {
					first[no] = n
				}
			}
			if !yield(l, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(Line{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

package schedule

import (
	"math"
	"unsafe"

	"github.com/bellmanhq/bellman/internal/memo"
)

// A Cache parses each text once and keeps the schedules of the texts used last: tasks carry their
// schedule as text, and most of them the same few. It holds at most 8 MiB, because callers choose
// the texts. The zero Cache is ready, and safe for concurrent use.
type Cache struct{ schedules memo.Cache[*Schedule] }

// maxCost bounds the memory that a Cache holds, in bytes.
const maxCost = 8 << 20

// Parse returns the result of the function [Parse] for text. Errors are kept too.
func (c *Cache) Parse(text string) (*Schedule, error) {
	if len(text) > maxText {
		return Parse(text) // an error; not worth keeping
	}
	return c.schedules.Get(text, memo.Limits{Texts: math.MaxInt - 1, Bytes: maxCost}, func(text string) (*Schedule, int, error) {
		s, err := Parse(text)
		if err != nil {
			return nil, 0, err
		}
		return s, int(unsafe.Sizeof(*s)) + len(s.text) + cap(s.runs)*int(unsafe.Sizeof(run{})), nil
	})
}

// Drop forgets every schedule, to free memory.
func (c *Cache) Drop() { c.schedules.Drop() }

package rule

import "github.com/bellmanhq/bellman/internal/memo"

// A Cache compiles each text once and keeps the rules of the texts used last: every task carries
// its own text, and most tasks carry one of a few. It holds at most 8 MiB, because callers choose
// the texts. The zero Cache is ready, and safe for concurrent use.
type Cache struct{ rules memo.Cache[*Rule] }

// kept bounds a Cache: 256 texts, wrong ones included, and 8 MiB.
var kept = memo.Limits{Texts: 256, Bytes: 8 << 20}

// The memory of a compiled rule in bytes, measured with rules of 10 to 1,900 bytes: a fixed part, a
// part for each byte of the text, and a part for each instruction of its patterns.
const (
	costRule        = 1 << 10
	costByte        = 24
	costInstruction = 48
)

// Compile returns the result of the function [Compile] for text. Errors are kept too.
func (c *Cache) Compile(text string) (*Rule, error) {
	if len(text) > MaxText {
		return Compile(text) // an error; not worth keeping
	}
	return c.rules.Get(text, kept, func(text string) (*Rule, int, error) {
		r, err := Compile(text)
		if err != nil {
			return nil, costRule, err
		}
		return r, costRule + costByte*len(text) + costInstruction*r.instructions, nil
	})
}

// Drop forgets every rule, to free memory.
func (c *Cache) Drop() { c.rules.Drop() }

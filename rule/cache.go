package rule

import "sync"

// A Cache compiles each text once and keeps the rules of the texts used last:
// every task carries its own text, and most tasks carry one of a few. The zero
// Cache is ready, and safe for concurrent use.
type Cache struct {
	// Max is how many texts are kept at most, wrong ones included; 0: 256.
	Max int

	// A text is found in young, or moves there from old. When young is full it
	// becomes old, and what old held is forgotten.
	mu         sync.Mutex
	young, old map[string]*entry
}

type entry struct {
	once sync.Once
	rule *Rule
	err  error
}

// Compile returns what the function Compile does for text.
func (c *Cache) Compile(text string) (*Rule, error) {
	if len(text) > MaxText {
		return Compile(text) // refused; not worth keeping
	}
	e := c.entry(text)
	e.once.Do(func() { e.rule, e.err = Compile(text) })
	return e.rule, e.err
}

func (c *Cache) entry(text string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.young[text]; e != nil {
		return e
	}
	e := c.old[text]
	if e == nil {
		e = &entry{}
	}
	half := 128
	if c.Max > 0 {
		half = (c.Max + 1) / 2
	}
	if c.young == nil || len(c.young) >= half {
		c.old, c.young = c.young, make(map[string]*entry)
	}
	c.young[text] = e
	return e
}

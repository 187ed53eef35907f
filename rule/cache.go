package rule

import "sync"

// A Cache compiles each text once and keeps the rules of the texts used last:
// every task carries its own text, and most tasks carry one of a few. It holds at
// most 8 MiB, because callers choose the texts. The zero Cache is ready, and safe
// for concurrent use.
type Cache struct {
	// Max is how many texts are kept at most, wrong ones included; 0: 256.
	Max int

	// A text is found in young, or moves there from old. When young is full it
	// becomes old, and the rules of the old one are forgotten.
	mu         sync.Mutex
	young, old map[string]*entry
	cost       int // of young, in bytes
}

// maxKept bounds the memory that a Cache holds, young and old together, in bytes.
const maxKept = 8 << 20

type entry struct {
	once sync.Once
	rule *Rule
	err  error
	cost int // as far as it is known, in bytes; under Cache.mu
}

// Compile returns the result of the function Compile for text.
func (c *Cache) Compile(text string) (*Rule, error) {
	if len(text) > MaxText {
		return Compile(text) // refused; not worth keeping
	}
	e := c.entry(text)
	e.once.Do(func() {
		e.rule, e.err = Compile(text)
		if e.err == nil {
			c.charge(text, e)
		}
	})
	return e.rule, e.err
}

// What an entry holds, in bytes, as measured with rules of 10 to 1,900 bytes: in
// itself, for each byte of the text, and for each instruction of its patterns.
const (
	costEntry       = 1 << 10
	costByte        = 24
	costInstruction = 48
)

func (c *Cache) entry(text string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.young[text]; e != nil {
		return e
	}
	e := c.old[text]
	if e == nil {
		e = &entry{cost: costEntry + len(text)} // a wrong text is no more than its error
	}
	half := 128
	if c.Max > 0 {
		half = (c.Max + 1) / 2
	}
	if c.young == nil || len(c.young) >= half || c.cost+e.cost > maxKept/2 {
		c.age()
	}
	c.young[text] = e
	c.cost += e.cost
	return e
}

// charge counts what the rule of an entry turned out to hold.
func (c *Cache) charge(text string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	more := costByte*len(text) + costInstruction*e.rule.instructions
	e.cost += more
	if c.young[text] != e {
		return // grown old meanwhile: counted when it is young again
	}
	c.cost += more
	if c.cost > maxKept/2 {
		c.age()
	}
}

// age forgets the old, and makes the young old. Only under mu.
func (c *Cache) age() { c.old, c.young, c.cost = c.young, make(map[string]*entry), 0 }

// Drop forgets every rule, to free memory.
func (c *Cache) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.cost = nil, nil, 0
}

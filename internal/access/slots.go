package access

import "sync"

// Slots count what is open at one time, in all and for each name. The zero value is empty. It is
// safe for concurrent use.
type Slots struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// Enter counts one more for a name. It returns false, and counts nothing, if most are open in all
// or mostOf of this name. The empty name (without keys) is limited by most only. After true, call
// Leave once.
func (c *Slots) Enter(name string, most, mostOf int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= most || name != "" && c.by[name] >= mostOf {
		return false
	}
	if c.by == nil {
		c.by = make(map[string]int)
	}
	c.all++
	c.by[name]++
	return true
}

// Leave undoes an Enter.
func (c *Slots) Leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.by[name]--; c.by[name] == 0 {
		delete(c.by, name)
	}
}

// Len returns how many are open.
func (c *Slots) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

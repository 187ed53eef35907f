package access

import "sync"

// A Crowd counts what is open at once, in all and by the name of who opened it. Its zero value
// is empty. It may be used by several goroutines.
type Crowd struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// Enter counts one more of a name, unless so many are open in all, or so many of this name. Whoever
// has no name, because there are no keys, shares in all of them. After true call Leave once.
func (c *Crowd) Enter(name string, most, mostOf int) bool {
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

// Leave takes back an Enter.
func (c *Crowd) Leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.by[name]--; c.by[name] == 0 {
		delete(c.by, name)
	}
}

// Len is how many are open.
func (c *Crowd) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

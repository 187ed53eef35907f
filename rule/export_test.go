package rule

// Len returns how many texts are kept.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.young)
	for text := range c.old {
		if c.young[text] == nil {
			n++
		}
	}
	return n
}

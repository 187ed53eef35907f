package rule

// Len returns how many texts are kept.
func (c *Cache) Len() int { return c.rules.Len() }

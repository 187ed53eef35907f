//go:build !unix

package http1

// supported says that a connection can be examined before it is used again.
const supported = false

func (c *conn) silent() bool { return false }

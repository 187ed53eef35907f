//go:build unix

package http1

import (
	"crypto/tls"
	"errors"
	"os"
	"syscall"
	"time"
)

// supported says that a connection can be examined before it is used again.
const supported = true

// silent reports whether the server has neither sent anything since its last answer nor closed the connection. It reads
// without waiting, and what it read is lost: a connection that is not silent must be closed.
func (c *conn) silent() bool {
	if c.control == nil {
		return false
	}
	var n int
	var err error
	var one [1]byte
	if c.control.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), one[:])
		return true
	}) != nil || n > 0 || err != syscall.EAGAIN {
		return false
	}
	secured, is := c.Conn.(*tls.Conn)
	if !is {
		return true
	}
	// The last read from the socket may have had more than the answer.
	c.socket.SetReadDeadline(past)
	n, err = secured.Read(one[:])
	c.socket.SetReadDeadline(time.Time{})
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
}

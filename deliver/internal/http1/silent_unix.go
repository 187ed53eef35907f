//go:build unix

package http1

import (
	"io"
	"syscall"
)

// supported says that a connection can be examined before it is used again.
const supported = true

// readNow reads what has come, without waiting. The error is errNothing if nothing has.
func (s *socket) readNow(p []byte) (n int, err error) {
	failed := s.control.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), p)
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case err == syscall.EAGAIN:
		return 0, errNothing
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

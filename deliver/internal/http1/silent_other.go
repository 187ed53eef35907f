//go:build !unix

package http1

import "errors"

// supported says that a connection can be examined before it is used again.
const supported = false

func (s *socket) readNow([]byte) (int, error) { return 0, errors.ErrUnsupported }

package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// A sender is the channel's side of notices: it posts each over a connection that stays open, and
// waits for the answer 204. The channel shares the processors with the server that is measured, and
// net/http's client would take a sixth of them.
type sender struct {
	addr string
	idle chan *line
}

// A line is one connection of a sender.
type line struct {
	net.Conn
	in  *bufio.Reader
	out []byte // the last request; reused
}

func newSender(addr string) *sender { return &sender{addr, make(chan *line, 1024)} }

// close closes all connections. No notice may be on its way.
func (s *sender) close() {
	for len(s.idle) > 0 {
		(<-s.idle).Close()
	}
}

// send posts a notice, and returns an error unless the answer is 204.
func (s *sender) send(ctx context.Context, n *notice) error {
	var l *line
	select {
	case l = <-s.idle:
	default:
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err != nil {
			return err
		}
		l = &line{Conn: conn, in: bufio.NewReader(conn)}
	}
	if err := l.send(s.addr, n); err != nil {
		l.Close()
		return fmt.Errorf("notice: %w", err)
	}
	select {
	case s.idle <- l:
	default:
		l.Close()
	}
	return nil
}

func (l *line) send(host string, n *notice) error {
	l.out = append(append(l.out[:0], "POST /notices/orders HTTP/1.1\r\nHost: "...), host...)
	for name, values := range n.Header {
		l.out = append(append(append(append(l.out, "\r\n"...), name...), ": "...), values[0]...)
	}
	l.out = strconv.AppendInt(append(l.out, "\r\nContent-Length: "...), int64(len(n.Body)), 10)
	l.out = append(append(l.out, "\r\n\r\n"...), n.Body...)
	l.SetDeadline(time.Now().Add(patience)) // of a TCP connection it cannot fail
	if _, err := l.Write(l.out); err != nil {
		return err
	}
	head, err := l.in.ReadSlice('\n')
	if err == nil && !bytes.HasPrefix(head, []byte("HTTP/1.1 204 ")) {
		rest, _ := l.in.Peek(l.in.Buffered())
		return fmt.Errorf("the answer is %q, %.300q", head, rest)
	}
	for err == nil && len(head) > len("\r\n") {
		head, err = l.in.ReadSlice('\n')
	}
	return err
}

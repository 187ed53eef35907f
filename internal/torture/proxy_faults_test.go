package torture

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// lineWire is a protocol of lines, for tests of the proxy.
type lineWire struct{ rest, answer string }

func (w *lineWire) sent(piece []byte) bool {
	w.rest += string(piece)
	found := strings.Contains(w.rest, "COMMIT\n")
	w.rest = w.rest[strings.LastIndex(w.rest, "\n")+1:]
	return found
}

func (w *lineWire) answered(piece []byte) bool {
	w.answer += string(piece)
	return strings.Contains(w.answer, "COMMIT\n")
}

// echo starts a server that answers each line with itself, and sends each line to got.
func echo(t *testing.T) (address string, got <-chan string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	lines := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					lines <- line
					io.WriteString(conn, line)
				}
			}()
		}
	}()
	return listener.Addr().String(), lines
}

// A lineClient sends lines through a proxy.
type lineClient struct {
	net.Conn
	r *bufio.Reader
}

func dialLines(t *testing.T, p *proxy) *lineClient {
	t.Helper()
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &lineClient{conn, bufio.NewReader(conn)}
}

// say sends a line and waits for its answer.
func (c *lineClient) say(line string, within time.Duration) error {
	if _, err := io.WriteString(c, line); err != nil {
		return err
	}
	c.SetReadDeadline(time.Now().Add(within))
	got, err := c.r.ReadString('\n')
	if err == nil && got != line {
		err = errors.New("unexpected answer: " + got)
	}
	return err
}

// arrived waits until the server has got a line.
func arrived(t *testing.T, got <-chan string, want string) {
	t.Helper()
	timeout := time.NewTimer(patient)
	defer timeout.Stop()
	select {
	case line := <-got:
		if line != want {
			t.Errorf("the server got %q; want %q", line, want)
		}
	case <-timeout.C:
		t.Errorf("the server did not get %q", want)
	}
}

// TestProxy makes each fault once.
func TestProxy(t *testing.T) {
	t.Parallel()
	const quick, soon = 50 * time.Millisecond, patient
	address, got := echo(t)
	p := newProxy(t, address, func() wire { return &lineWire{} })
	c := dialLines(t, p)
	if err := c.say("a\n", soon); err != nil {
		t.Fatal(err)
	}
	arrived(t, got, "a\n")

	p.set(slow, quick)
	began := time.Now()
	if err := c.say("b\n", soon); err != nil || time.Since(began) < 2*quick {
		t.Errorf("slow in both directions: %v after %v; want at least %v", err, time.Since(began), 2*quick)
	}
	arrived(t, got, "b\n")

	p.set(blackHole, 0)
	if err := c.say("c\n", quick); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a black hole: %v; want no answer and no end of the connection", err)
	}
	p.set(pass, 0)
	arrived(t, got, "c\n")
	c.SetReadDeadline(time.Now().Add(soon))
	if line, err := c.r.ReadString('\n'); line != "c\n" {
		t.Errorf("after the black hole: %q, %v; want the delayed answer", line, err)
	}

	p.set(refused, 0)
	if err := c.say("d\n", soon); err == nil {
		t.Error("a cut connection got an answer")
	}
	if err := dialLines(t, p).say("e\n", soon); err == nil {
		t.Error("a connection was made while connections are refused")
	}

	p.set(replyLost, 0)
	c = dialLines(t, p)
	if err := c.say("f\n", soon); err != nil {
		t.Errorf("a line before the COMMIT: %v", err)
	}
	arrived(t, got, "f\n")
	if err := c.say("COMMIT\n", soon); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the COMMIT whose reply is lost: %v; want a closed connection", err)
	}
	arrived(t, got, "COMMIT\n")
	if err := dialLines(t, p).say("COMMIT\n", soon); err != nil {
		t.Errorf("the next COMMIT, which no fault hits: %v", err)
	}
	arrived(t, got, "COMMIT\n")

	p.set(notSent, 0)
	if err := dialLines(t, p).say("COMMIT\n", soon); err == nil {
		t.Error("a COMMIT that was not delivered got an answer")
	}
	if err := dialLines(t, p).say("g\n", soon); err != nil {
		t.Error(err)
	}
	arrived(t, got, "g\n") // with no COMMIT before it
	if p.hits() != 2 {
		t.Errorf("faults hit %d COMMITs; want 2", p.hits())
	}
}

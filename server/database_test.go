package server_test

import (
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/bench/scratch"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
)

// A database is one of a test's own, on a server that is there.
type database struct {
	*scratch.Database
	kind string // postgres or mysql
}

// eachDatabase runs a test on a database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	for _, kind := range []string{"postgres", "mysql"} {
		t.Run(kind, func(t *testing.T) { test(t, newDatabase(t, kind)) })
	}
}

// newDatabase creates a database, which is dropped when the test ends.
func newDatabase(t *testing.T, kind string) database { return database{scratchtest.New(t, kind), kind} }

// run runs statements in the database.
func (d database) run(t *testing.T, texts ...string) {
	t.Helper()
	scratchtest.Run(t, d.Database, texts...)
}

// A line is a connection to a server that can be cut: then it accepts connections and ends them at
// once.
type line struct {
	addr string

	mu    sync.Mutex
	is    bool         // cut
	still sync.RWMutex // held while nothing goes over the line
	ends  map[net.Conn]bool
	group sync.WaitGroup
}

// lineTo returns a line to the server of a database, and the database's URL over it.
func lineTo(t *testing.T, d database) (*line, string) {
	t.Helper()
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &line{addr: u.Host, ends: map[net.Conn]bool{}}
	p.group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.group.Go(func() { p.lead(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut(true)
		p.group.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *line) lead(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", p.addr, time.Minute)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.is {
		p.mu.Unlock()
		return
	}
	p.ends[client], p.ends[server] = true, true
	p.mu.Unlock()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			io.Copy(stilled{way[0], p}, way[1]) // until either end closes
			client.Close()
			server.Close()
			ended <- struct{}{}
		}()
	}
	<-ended
	<-ended
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ends, client)
	delete(p.ends, server)
}

// stilled is an end to which bytes go as long as the line is not still.
type stilled struct {
	io.Writer
	line *line
}

func (w stilled) Write(b []byte) (int, error) {
	w.line.still.RLock()
	defer w.line.still.RUnlock()
	return w.Writer.Write(b)
}

// cut cuts the line, or mends it.
func (p *line) cut(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.is = is
	if is {
		for conn := range p.ends {
			conn.Close()
		}
	}
}

// figure reads one figure of a server's metrics.
func figure(t *testing.T, addr, name string) float64 {
	t.Helper()
	for line := range strings.Lines(scrape(t, addr)) {
		if value, is := strings.CutPrefix(line, name+" "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

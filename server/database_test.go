package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
)

// A database is one of a test's own, on a server that is there.
type database struct {
	kind string // postgres or mysql
	url  string
	name string
	exec func(url, text string) error
}

// eachDatabase runs a test on a database of each kind. Where there is no server it
// is skipped, unless the environment names one.
func eachDatabase(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	for _, server := range []struct {
		kind, variable, usual string
		exec                  func(url, text string) error
	}{
		{"postgres", "BELLMAN_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable", execPostgres},
		{"mysql", "BELLMAN_TEST_MYSQL", "mysql://root@127.0.0.1:3306/mysql", execMySQL},
	} {
		t.Run(server.kind, func(t *testing.T) {
			address, named := os.LookupEnv(server.variable)
			if !named {
				address = server.usual
			}
			if err := server.exec(address, "SELECT 1"); err != nil {
				if named {
					t.Fatal(err) // somebody wants these tests
				}
				t.Skipf("no server (set %s to one): %v", server.variable, err)
			}
			test(t, database{server.kind, address, "", server.exec}.other(t))
		})
	}
}

// other creates another database, which is dropped when the test ends.
func (d database) other(t *testing.T) database {
	t.Helper()
	id := bellman.NewID()
	o := database{kind: d.kind, name: fmt.Sprintf("bellman_test_%x", id[:]), exec: d.exec}
	d.run(t, "CREATE DATABASE "+o.name)
	drop := "DROP DATABASE " + o.name
	if d.kind == "postgres" {
		drop += " WITH (FORCE)"
	}
	t.Cleanup(func() { d.run(t, drop) })
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + o.name
	o.url = u.String()
	return o
}

// run runs statements, each by itself.
func (d database) run(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := d.exec(d.url, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func execPostgres(url, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, text)
	return err
}

func execMySQL(address, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s", u.User, u.Host, u.Path))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, text)
	return err
}

// A line leads to a server, and can be cut: then it accepts connections and ends
// them at once.
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
	u, err := url.Parse(d.url)
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
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
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

// eventually is passes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	passes(t, what, ok)
}

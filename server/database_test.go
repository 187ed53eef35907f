package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
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
	exec func(text string) error // as the server's owner, in no particular database
	name string
}

// eachDatabase runs a test on a database of each kind. Where there is no server it
// is skipped, unless the environment names one.
func eachDatabase(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		address, exec := postgresServer(t)
		test(t, newDatabase(t, "postgres", address, exec, "DROP DATABASE %s WITH (FORCE)"))
	})
	t.Run("mysql", func(t *testing.T) {
		address, exec := mysqlServer(t)
		test(t, newDatabase(t, "mysql", address, exec, "DROP DATABASE %s"))
	})
}

func newDatabase(t *testing.T, kind, address string, exec func(text string) error, drop string) database {
	t.Helper()
	id := bellman.NewID()
	name := fmt.Sprintf("bellman_test_%x", id[:])
	if err := exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := exec(fmt.Sprintf(drop, name)); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return database{kind: kind, url: u.String(), exec: exec, name: name}
}

// server returns the address of a server that tests may use, and what runs a
// statement there.
func postgresServer(t *testing.T) (address string, exec func(text string) error) {
	t.Helper()
	address, named := os.LookupEnv("BELLMAN_TEST_POSTGRES")
	if !named {
		address = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
	}
	exec = func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, text)
		return err
	}
	reached(t, exec, named, "no PostgreSQL (set BELLMAN_TEST_POSTGRES to one)")
	return address, exec
}

func mysqlServer(t *testing.T) (address string, exec func(text string) error) {
	t.Helper()
	address, named := os.LookupEnv("BELLMAN_TEST_MYSQL")
	if !named {
		address = "mysql://root@127.0.0.1:3306/mysql"
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	exec = func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s?multiStatements=true", u.User, u.Host, u.Path))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.ExecContext(ctx, text)
		return err
	}
	reached(t, exec, named, "no MySQL or MariaDB (set BELLMAN_TEST_MYSQL to one)")
	return address, exec
}

// reached skips the test where there is no server, unless somebody named one.
func reached(t *testing.T, exec func(text string) error, named bool, none string) {
	t.Helper()
	if err := exec("SELECT 1"); err != nil {
		if named {
			t.Fatal(err)
		}
		t.Skipf("%s: %v", none, err)
	}
}

// A line leads to a server, and can be cut: then it accepts connections and ends
// them at once.
type line struct {
	addr string

	mu    sync.Mutex
	is    bool // cut
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
	server, err := net.DialTimeout("tcp", p.addr, 5*time.Second)
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
			io.Copy(way[0], way[1]) // until either end closes
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

// eventually asks until ok, and fails the test if that takes too long.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(60 * time.Second); !ok(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("still not %s", what)
		}
	}
}

package server

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
)

const (
	strangeAfter  = 2 * time.Second // how long a database may be silent before it is probed
	strangeWithin = time.Second     // longest time of each step of that probe
)

// otherDatabase returns an error if the database at an address speaks another protocol than the
// URL's. The drivers report an unreadable answer, or wait until their time is over.
func otherDatabase(s config.StoreURL, u *url.URL) error {
	who := strangerAt(u)
	if who == "" {
		return nil
	}
	return &ConfigError{fmt.Errorf("store %s: what answers at %s is %s: name the other port, or begin the address with that one's name", s, u.Host, who)}
}

// strangerAt names the database at the address of a URL if it is not of the URL's scheme; empty if
// it is, or if that is unknown.
func strangerAt(u *url.URL) string {
	postgres := strings.HasPrefix(u.Scheme, "postgres")
	host, port := u.Hostname(), u.Port()
	switch {
	case strings.Contains(u.Host, ",") || host == "":
		return ""
	case port == "" && postgres:
		port = "5432"
	case port == "":
		port = "3306"
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), strangeWithin)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(strangeWithin)); err != nil {
		return ""
	}
	if postgres { // a MySQL server sends the first packet: length, number, and protocol version 10
		var hello [5]byte
		if _, err := io.ReadFull(conn, hello[:]); err == nil && hello[3] == 0 && (hello[4] == 10 || hello[4] == 0xff) {
			return "MySQL or MariaDB (mysql://)"
		}
		return ""
	}
	// A PostgreSQL server waits for the client, and answers a request for TLS with one letter.
	var yes [1]byte
	conn.SetReadDeadline(time.Now().Add(strangeWithin / 4)) // SetDeadline has just succeeded, so this does too
	if _, err := io.ReadFull(conn, yes[:]); err == nil {
		return ""
	}
	conn.SetReadDeadline(time.Now().Add(strangeWithin))
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil {
		return ""
	}
	if _, err := io.ReadFull(conn, yes[:]); err == nil && (yes[0] == 'S' || yes[0] == 'N') {
		return "PostgreSQL (postgres://)"
	}
	return ""
}

package server

import (
	"io"
	"net"
	"net/url"
	"strings"
	"time"
)

// How long a database may be silent before it is asked whether it is another one,
// and how long that may take.
const (
	strangeAfter  = 2 * time.Second
	strangeWithin = time.Second
)

// strangerAt names the database at the address of a URL if it is not of the URL's scheme; empty if
// it is, or if that cannot be told. The drivers report such a database as an unreadable answer, or
// wait until their time is over: the probe is here so that the error names the mistake.
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
	conn.SetReadDeadline(time.Now().Add(strangeWithin / 4)) // the other one was set just so
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

package mysql

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

func TestVersion(t *testing.T) {
	tests := []struct {
		version string
		may     bool
	}{
		{"10.11.6-MariaDB-0+deb12u1", true}, {"10.6.0-MariaDB", true}, {"11.4.2-MariaDB", true}, {"10.5.29-MariaDB", false},
		{"8.0.11", true}, {"8.4.2", true}, {"9.0.0", true}, {"5.7.44-log", false}, {"8.0.11-TiDB-v8.4.0", true}, {"new", false},
	}
	for _, tt := range tests {
		if err := (server{version: tt.version}).check(); (err == nil) != tt.may {
			t.Errorf("check(%q) = %v; want accepted: %t", tt.version, err, tt.may)
		}
	}
}

// TestOpenRefuses opens databases that a store cannot use. The error names the cause and does not
// contain the password.
func TestOpenRefuses(t *testing.T) {
	address := newDatabase(t)
	openTest(t, address, Options{})
	id := bellman.NewID()
	user := fmt.Sprintf("bellman_%x", id[:8])
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	db := raw(t, address)
	if _, err := db.Exec(fmt.Sprintf("CREATE USER %s IDENTIFIED BY 'geheim'; GRANT SELECT ON %s.* TO %[1]s", user, u.Path[1:])); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw(t, address).Exec("DROP USER " + user) })
	as := func(user *url.Userinfo) string {
		c := *u
		c.User = user
		return c.String()
	}
	tests := []struct {
		name, address string
		o             Options
		want          string
	}{
		{"a user who may only read", as(url.UserPassword(user, "geheim")), Options{NoMigrate: true}, "denied"},
		{"a user who does not exist", as(url.UserPassword("nobody-here", "geheim")), Options{}, "nobody-here"},
		{"a database without tables, that is to be left so", newDatabase(t), Options{NoMigrate: true}, "bellman_schema"},
		{"no address", "mysql://user:geheim@host:port/database", Options{}, "want mysql://"},
		{"another scheme", "postgres://user:geheim@host/database", Options{}, "want mysql://"},
		{"no database", "mysql://user:geheim@host:3306/", Options{}, "names no database"},
		{"shards below zero", address, Options{Shards: -1}, "shards"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(context.Background(), tt.address, tt.o)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("Open() = %v; want an error with %q", err, tt.want)
			}
		})
	}
}

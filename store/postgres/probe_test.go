package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bellmanhq/bellman"
)

// TestOpenRefuses opens databases that a store cannot use. The error names the cause and does not
// contain the password.
func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	address := newDatabase(t)
	openTest(t, address, Options{})
	id := bellman.NewID()
	user := fmt.Sprintf("bellman_test_%x", id[:])
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE ROLE "+user+" LOGIN PASSWORD 'geheim'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+user); err != nil {
		t.Fatal(err)
	}
	defer conn.Exec(ctx, "DROP OWNED BY "+user+"; DROP ROLE "+user)
	as := func(user *url.Userinfo) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		u.User = user
		return u.String()
	}
	tests := []struct {
		name, address string
		o             Options
		want          string
	}{
		{"a user who may only read", as(url.UserPassword(user, "geheim")), Options{NoMigrate: true}, "permission denied"},
		{"a user who does not exist", as(url.UserPassword("nobody-here", "geheim")), Options{}, "nobody-here"},
		{"a database without tables, that is to be left so", newDatabase(t), Options{NoMigrate: true}, "bellman_schema"},
		{"no address", "postgres://user:geheim@host:port/database", Options{}, "port"},
		{"an empty address", "", Options{NoMigrate: true}, "want postgres://"},
		{"shards below zero", address, Options{Shards: -1}, "shards"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(ctx, tt.address, tt.o)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("Open() = %v; want an error with %q", err, tt.want)
			}
		})
	}
}

package server_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
	"github.com/bellmanhq/bellman/store"
)

// A database that would not keep the promises, or cannot be used, is refused at the start within a
// bounded time. The error says what to do, and does not contain the password.
func TestOpenRefusesDatabases(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		empty := newDatabase(t, d.kind)
		if err := server.MigrateStore(t.Context(), d.URL, nil); err != nil {
			t.Fatal(err)
		}
		poor := d.poorUser(t)
		newer := newDatabase(t, d.kind)
		newer.run(t, "CREATE TABLE bellman_schema (version BIGINT NOT NULL PRIMARY KEY, applied BIGINT NOT NULL)", "INSERT INTO bellman_schema VALUES (9999, 0)")
		refused := []refusal{
			{"nobody", with(t, d.URL, url.UserPassword("nobody-here", "geheim"), ""), "look at the user and the password"},
			{"a user who may only read", with(t, d.URL, poor, ""), "SELECT, INSERT, UPDATE and DELETE"},
			{"a user who may create nothing", with(t, empty.URL, poor, ""), "bellman serve --no-migrate"},
			{"no such database", strings.Replace(d.URL, "bellman_bench", "bellman_none", 1), "CREATE DATABASE"},
			{"a newer schema", newer.URL, "run the bellman that made it, or a newer one"},
			{"nobody there", with(t, "postgres://x@127.0.0.1:1/x", nil, ""), "cannot be reached: look whether it runs"},
		}
		if d.kind == "postgres" {
			refused = append(refused, d.skewedPostgres(t)...)
			refused = append(refused, refusal{"may only be read", with(t, newDatabase(t, d.kind).URL, nil, "default_transaction_read_only=on"), "name the primary, or several hosts with target_session_attrs=read-write"})
		} else {
			refused = append(refused,
				refusal{"a clock that is behind", with(t, d.URL, nil, "timestamp=1700000000"), "clocks of this machine and of the database"},
				refusal{"may only be read", with(t, newDatabase(t, d.kind).URL, nil, "tx_read_only=1"), "name the primary"},
				refusal{"a parameter that is none", with(t, d.URL, nil, "colour=red"), "nor the driver's nor a variable"})
		}
		for _, tt := range refused {
			c := config.Default()
			c.Listen, c.Store = "127.0.0.1:0", tt.store
			s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v; want one line with %q", tt.name, err, tt.want)
			}
		}
		testWrongAddress(t, d)
		testReadsAlone(t, d, poor)
		// Without the right, or the wish, to create tables.
		for _, tt := range []struct {
			store string
			want  string // empty: opens
		}{{d.URL, ""}, {with(t, d.URL, poor, ""), "grant the user SELECT, INSERT, UPDATE and DELETE on"}, {empty.URL, "run bellman migrate"}, {newer.URL, "run the bellman that made it"}} {
			c := config.Default()
			c.Listen, c.Store = "127.0.0.1:0", tt.store
			s, err := server.Open(server.Options{Config: c, NoMigrate: true, Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				s.Close()
			}
			if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "--no-migrate")) {
				t.Errorf("Open of %s with NoMigrate = %v; want %q", tt.store, err, tt.want)
			}
		}
	})
}

// A wrong address is a mistake in the configuration, because a retry cannot help: a wrong
// parameter, or another database than the scheme says.
func testWrongAddress(t *testing.T, d database) {
	t.Helper()
	other := strings.Replace(d.URL, "postgres://", "mysql://", 1)
	parameter, want := "connect_timeout=soon", "begin the address with that one's name"
	if d.kind == "mysql" {
		other = strings.Replace(d.URL, "mysql://", "postgres://", 1)
		parameter = "timeout=soon"
	}
	other, _, _ = strings.Cut(other, "?")
	for store, want := range map[string]string{with(t, d.URL, nil, parameter): "soon", with(t, d.URL, nil, "colour=red"): "nor a", other: want} {
		_, err := server.OpenStore(t.Context(), store, server.StoreOptions{Existing: true})
		if _, is := errors.AsType[*server.ConfigError](err); !is || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), "\n") {
			t.Errorf("OpenStore(%s) = %v; want a mistake of the configuration, with %q", store, err, want)
		}
	}
}

// Who may only read opens a store to read it.
func testReadsAlone(t *testing.T, d database, poor *url.Userinfo) {
	t.Helper()
	db, err := server.OpenStore(t.Context(), with(t, d.URL, poor, ""), server.StoreOptions{Existing: true, ReadOnly: true})
	if err != nil {
		t.Errorf("OpenStore to read = %v", err)
		return
	}
	defer db.Close()
	if _, _, err := db.List(t.Context(), store.Filter{}, bellman.ID{}, 10); err != nil {
		t.Errorf("List by a user who may only read: %v", err)
	}
}

// The error at the start, and while a server runs, names a row of the shards that somebody deleted,
// and says what to do.
func TestDeletedShard(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database) {
		store, err := server.OpenStore(t.Context(), d.URL, server.StoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		d.run(t, "DELETE FROM bellman_shard WHERE shard IN (5, 63)")
		const want = "those of shard 5, 63, whose tasks nobody can attempt: stop all nodes"
		if _, err := store.State(t.Context(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Shards = %v; want %q", err, want)
		}
		_, err = server.OpenStore(t.Context(), d.URL, server.StoreOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("OpenStore = %v; want %q", err, want)
		}
		_, insert, _ := strings.Cut(err.Error(), "for each ")
		for _, n := range []string{"5", "63"} {
			d.run(t, strings.Replace(insert, "(N,", "("+n+",", 1))
		}
		if state, err := store.State(t.Context(), ""); err != nil || len(state.Shards) != 64 {
			t.Errorf("as it says, Shards = %d of them, %v; want 64", len(state.Shards), err)
		}
	})
}

type refusal struct{ name, store, want string }

// with is a URL with another user, or another parameter.
func with(t *testing.T, address string, user *url.Userinfo, parameter string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if user != nil {
		u.User = user
	}
	if parameter != "" {
		u.RawQuery = strings.Trim(u.RawQuery+"&"+parameter, "&")
	}
	return u.String()
}

// poorUser makes a user who may read the database, and no more.
func (d database) poorUser(t *testing.T) *url.Userinfo {
	t.Helper()
	id := bellman.NewID()
	name := fmt.Sprintf("bellman_%x", id[:8])
	create, grant, drop := "CREATE ROLE %s LOGIN PASSWORD 'geheim'", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO %s", "DROP OWNED BY %[1]s; DROP ROLE %[1]s"
	if d.kind == "mysql" {
		create, grant, drop = "CREATE USER %s IDENTIFIED BY 'geheim'", "GRANT SELECT ON *.* TO %s", "DROP USER %s"
	}
	d.run(t, fmt.Sprintf(create, name), fmt.Sprintf(grant, name))
	t.Cleanup(func() { d.run(t, fmt.Sprintf(drop, name)) })
	return url.UserPassword(name, "geheim")
}

// skewedPostgres returns addresses under which functions of the server are replaced: its clock, its
// version, and whether it is a standby.
func (d database) skewedPostgres(t *testing.T) (refused []refusal) {
	t.Helper()
	for schema, f := range map[string]struct{ text, want string }{
		"skewed":  {"clock_timestamp() RETURNS timestamptz AS $$ SELECT pg_catalog.clock_timestamp() + interval '90 seconds' $$", "apart: want at most 1s; set both by NTP"},
		"old":     {"current_setting(text) RETURNS text AS $$ SELECT CASE $1 WHEN 'server_version_num' THEN '120017' ELSE pg_catalog.current_setting($1) END $$", "PostgreSQL 12: want 13 or newer"},
		"standby": {"pg_is_in_recovery() RETURNS bool AS $$ SELECT true $$", "standby, which cannot be written to: name the primary"},
	} {
		d.run(t, "CREATE SCHEMA "+schema, "CREATE FUNCTION "+schema+"."+f.text+" LANGUAGE sql")
		refused = append(refused, refusal{schema, with(t, d.URL, nil, "search_path="+schema+",pg_catalog,public"), f.want})
	}
	return refused
}

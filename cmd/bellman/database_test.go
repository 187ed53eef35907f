package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/eventually"
)

// Commands take a task from its creation to its record, on a database of each kind with two
// servers. No output contains the password.
func TestRoundTripOnDatabases(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"postgres", "mysql"} {
		t.Run(kind, func(t *testing.T) {
			d := scratchtest.New(t, kind)
			id := bellman.NewID()
			user := fmt.Sprintf("bellman_%x", id[:8])
			u, err := url.Parse(d.URL)
			if err != nil {
				t.Fatal(err)
			}
			u.User = url.UserPassword(user, "geheim")
			name := strings.TrimPrefix(u.Path, "/")
			create, drop := []string{"CREATE USER " + user + " IDENTIFIED BY 'geheim'", "GRANT ALL ON " + name + ".* TO " + user}, []string{"DROP USER " + user}
			if kind == "postgres" {
				create = []string{"CREATE ROLE " + user + " LOGIN PASSWORD 'geheim'", "ALTER DATABASE " + name + " OWNER TO " + user}
				drop = []string{"REASSIGN OWNED BY " + user + " TO CURRENT_USER", "DROP ROLE " + user}
			}
			scratchtest.Run(t, d, create...)
			t.Cleanup(func() { scratchtest.Run(t, d, drop...) })
			onDatabase(t, u)
		})
	}
}

func onDatabase(t *testing.T, u *url.URL) {
	store := u.String()
	shown := (&url.URL{Scheme: u.Scheme, User: url.User(u.User.Username()), Host: u.Host, Path: u.Path}).String()
	var outputs []string
	command := func(args ...string) result {
		t.Helper()
		r := runIn(t, "", []string{"BELLMAN_STORE=env:BELLMAN_DB", "BELLMAN_DB=" + store}, "", args...)
		outputs = append(outputs, r.out, r.errors)
		return r
	}
	if r := command("serve", "--no-migrate", "--listen", "127.0.0.1:0"); r.status != 1 || !strings.Contains(r.errors, "run bellman migrate") || strings.Count(r.errors, "\n") != 1 {
		t.Errorf("serve --no-migrate on an empty database: status %d, %q; want 1, and a hint to run bellman migrate", r.status, r.errors)
	}
	for range 2 {
		if r := command("migrate"); r.status != 0 || r.out != shown+" is ready\n" {
			t.Fatalf("migrate: status %d, %q, %q; want %s", r.status, r.out, r.errors, shown)
		}
	}
	hook := receive(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "success") })
	a, b := serveOn(t, store, "--no-migrate"), serveOn(t, store, "--no-migrate")
	if !strings.Contains(a.hello, "store "+shown+": ") {
		t.Errorf("serve printed %q; want the store without its password", a.hello)
	}
	if out := command("send", "--url", hook, "--task-key", "1/paid", "--server", a.url); out.status != 0 {
		t.Fatalf("send: %q", out.errors)
	}
	eventually.True(t, "succeeded", func() bool {
		return strings.Contains(command("get", "default", "1/paid", "--server", b.url).out, "succeeded")
	})
	eventually.True(t, "shared", func() bool {
		nodes := command("nodes", "--server", a.url).out
		return strings.Count(nodes, " alive") == 2 && strings.Count(nodes, "alive, answers") == 1 && !strings.Contains(nodes, "nobody")
	})
	if nodes := command("nodes", "-o", "json", "--server", b.url).out; strings.Count(nodes, `"self": true`) != 1 {
		t.Errorf("nodes as JSON:\n%s\nwant one with self true", nodes)
	}
	if r := command("backup", "/tmp/none", "--server", a.url); r.status != 1 || !strings.Contains(r.errors, "pg_dump") {
		t.Errorf("backup of a database: status %d, %q; want an error that names pg_dump", r.status, r.errors)
	}
	if r := command("check"); r.status != 1 || !strings.Contains(r.errors, "check is for an embedded store") {
		t.Errorf("check of a database: status %d, %q; want an error that check needs an embedded store", r.status, r.errors)
	}
	// Reads through the server and from the database, while two servers run, give the same.
	for _, args := range [][]string{{"export", "--server", a.url}, {"export", "--store", store}} {
		tasks := exported(t, command(args...).out)
		if len(tasks) != 1 || tasks[0].Key != "1/paid" || len(tasks[0].AttemptLog) != 1 || tasks[0].AttemptLog[0].Result != "accepted" {
			t.Errorf("%s %s printed %+v; want the one task with its accepted attempt", args[0], args[1], tasks)
		}
	}
	if r := command("serve", "--listen", "127.0.0.1:0", "--store", strings.Replace(store, u.Path, "/bellman_none", 1)); r.status != 1 {
		t.Errorf("serve with a missing database: status %d, %q; want 1", r.status, r.errors)
	}
	a.stop()
	b.stop()
	for _, text := range append(outputs, a.out.String(), a.log.String(), b.out.String(), b.log.String()) {
		if strings.Contains(text, "geheim") {
			t.Errorf("the output contains the password: %s", text)
		}
	}
}

// serveOn starts a server on a database, and waits until it listens.
func serveOn(t *testing.T, store string, args ...string) *process {
	t.Helper()
	return start(t, []string{"BELLMAN_LOG_LEVEL=debug", "BELLMAN_STORE=" + store}, args...)
}

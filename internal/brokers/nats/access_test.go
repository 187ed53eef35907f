package nats

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/brokers/source/sourcetest"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
)

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

// The NKey of a user that exists only in these tests.
const (
	seed   = "SUADMKQDNTTELLB5MYBRW4XTWBKJMILPJE733XJ7MQSQ4A3GIFW3YXWVHQ"
	public = "UAKJQ2FTLR23F3JBRH7DNX74DVFAS7DN2P5XRQV6DOYCL4VM3XRK4HYF"
)

// serveNATS starts a server with the configuration in text, and returns its address.
func serveNATS(t *testing.T, text string) (address string) {
	t.Helper()
	server, err := exec.LookPath("nats-server")
	if err != nil {
		if server = "/usr/sbin/nats-server"; exec.Command(server, "-v").Run() != nil {
			t.Skip("no NATS on this machine: make test installs it")
		}
	}
	address = freeport.Address(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	text = fmt.Sprintf("listen: %q\njetstream: {store_dir: %q, max_memory_store: 65536}\n%s\n", address, dir, text)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(server, "-c", file)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	eventually.True(t, "NATS listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return address
}

// A source and a sender give the credentials that a server asks for. If they are missing or wrong,
// the error says so without a secret.
func TestAccess(t *testing.T) {
	certificate, key := sourcetest.Certificate(t)
	dir := t.TempDir()
	nk, wrong := filepath.Join(dir, "user.nk"), filepath.Join(dir, "wrong")
	for path, text := range map[string]string{nk: seed, wrong: "geheim"} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tls := fmt.Sprintf("tls: {cert_file: %q, key_file: %q, timeout: 300}", certificate, key)
	ca := Access{CA: certificate}
	tests := []struct {
		name, config string
		url          string // %s stands for the address
		access       Access
		want         string // part of the error; empty: no error
	}{
		{"user", "authorization: {timeout: 300, user: u, password: geheim}", "nats://u:geheim@%s", Access{}, ""},
		{"another password", "authorization: {timeout: 300, user: u, password: geheim}", "nats://u:geheimer@%s", Access{}, "Authorization Violation"},
		{"token", "authorization: {timeout: 300, token: geheim}", "nats://geheim@%s", Access{}, ""},
		{"TLS", tls, "tls://%s", ca, ""},
		{"TLS of an unknown authority", tls, "tls://%s", Access{}, "certificate signed by unknown authority"},
		{"TLS that the server asks for", tls, "nats://%s", ca, ""},
		{"no TLS, which is asked for", "", "tls://%s", ca, "secure connection not available"},
		{"no such CA", tls, "tls://%s", Access{CA: dir + "/none"}, "no such file"},
		{"NKey", "authorization: {timeout: 300, users: [{nkey: " + public + "}]}", "nats://%s", Access{Credentials: nk}, ""},
		{"no NKey", "authorization: {timeout: 300, users: [{nkey: " + public + "}]}", "nats://%s", Access{}, "Authorization Violation"},
		{"a file without credentials", "", "nats://%s", Access{Credentials: wrong}, "neither a user's JWT nor the seed of an NKey"},
		{"NKey over TLS", tls + "\nauthorization: {timeout: 300, users: [{nkey: " + public + "}]}", "tls://%s", Access{CA: certificate, Credentials: nk}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := fmt.Sprintf(tt.url, serveNATS(t, tt.config))
			stream := Stream{URL: url, Access: tt.access, Name: "S", Durable: "d", Subjects: []string{"s"}, DeadLetter: "dead"}
			ctx, cancel := context.WithTimeout(t.Context(), patient)
			defer cancel()
			session, err := stream.Open(ctx)
			switch {
			case tt.want != "":
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
					t.Errorf("opening the stream: %v; want an error with %q", err, tt.want)
				}
			case err != nil:
				t.Fatal(err)
			default:
				session.Close()
			}
			s := NewSender(url, "test", tt.access)
			defer s.Close()
			_, err = s.Send(ctx, "s", &deliver.Message{ID: "1", Body: []byte("x")})
			if (err == nil) != (tt.want == "") {
				t.Errorf("sending a message: %v", err)
			}
		})
	}
}

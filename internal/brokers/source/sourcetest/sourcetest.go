// Package sourcetest finds the brokers for tests: those that the environment names, or those of
// this machine. A test without a broker is skipped with a message.
package sourcetest

import (
	"crypto/rand"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// RabbitMQ returns the URL of a RabbitMQ.
func RabbitMQ(t testing.TB) string {
	return reach(t, "BELLMAN_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672/")
}

// NATS returns the URL of a NATS server with JetStream.
func NATS(t testing.TB) string {
	return reach(t, "BELLMAN_TEST_NATS", "nats://127.0.0.1:4222")
}

// reach returns the address in an environment variable, or the usual one, if a server listens
// there. If the variable names a server that does not listen, the test fails.
func reach(t testing.TB, variable, usual string) string {
	t.Helper()
	text := os.Getenv(variable)
	named := text != ""
	if !named {
		text = usual
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatalf("%s is not a URL", variable)
	}
	conn, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err == nil {
		conn.Close()
		return text
	}
	if named {
		t.Fatalf("%s: %v", variable, err)
	}
	t.Skipf("no server at %s, and %s names none: make test starts one", u.Host, variable)
	return ""
}

// Name returns a unique name for a queue or stream. The test deletes what it creates.
func Name(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return "bellman-test-" + name + "-" + rand.Text()[:8]
}

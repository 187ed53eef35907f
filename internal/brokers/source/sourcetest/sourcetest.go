// Package sourcetest says where the brokers are that tests use: those that the
// environment names, or those of this machine. A test is skipped, and says so,
// where there is none.
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

// reach returns the address that a variable names, or the usual one, if somebody
// listens there. What was named and is not there fails the test.
func reach(t testing.TB, variable, usual string) string {
	t.Helper()
	text := os.Getenv(variable)
	named := text != ""
	if !named {
		text = usual
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatalf("%s is no URL", variable)
	}
	conn, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err == nil {
		conn.Close()
		return text
	}
	if named {
		t.Fatalf("%s: %v", variable, err)
	}
	t.Skipf("no server at %s, and %s names none: make test brings one up", u.Host, variable)
	return ""
}

// Name returns a name that no other test has, for queues and streams. The test
// deletes what it made.
func Name(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return "bellman-test-" + name + "-" + rand.Text()[:8]
}

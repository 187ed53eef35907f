package torture

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/freeport"
)

// newRabbit prepares a private RabbitMQ without starting it. Without RabbitMQ the test is skipped.
func newRabbit(t testing.TB) *machine {
	t.Helper()
	server := program("rabbitmq-server", "/usr/lib/rabbitmq/bin")
	if server == "" {
		t.Skip("no RabbitMQ on this machine: make torture installs it")
	}
	dir := directory(t, "rabbitmq")
	id := credential(t, "rabbitmq")
	if err := os.WriteFile(filepath.Join(dir, "plugins"), []byte("[].\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &machine{name: "RabbitMQ", address: freeport.Address(t)}
	ports := []string{port(t, s.address), port(t, freeport.Address(t)), port(t, freeport.Address(t))}
	own := []string{ // node, directory, cookie, and a port daemon, which would otherwise go on running
		"ERL_EPMD_PORT=" + ports[1], "ERL_EPMD_ADDRESS=127.0.0.1", "RABBITMQ_NODENAME=torture" + ports[0] + "@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + ports[0], "RABBITMQ_DIST_PORT=" + ports[2],
		"RABBITMQ_BASE=" + dir, "RABBITMQ_MNESIA_BASE=" + dir + "/data", "RABBITMQ_LOG_BASE=" + dir + "/log",
		"RABBITMQ_CONFIG_FILE=" + dir + "/none", "RABBITMQ_ADVANCED_CONFIG_FILE=" + dir + "/none",
		"RABBITMQ_CONF_ENV_FILE=" + dir + "/none", "RABBITMQ_ENABLED_PLUGINS_FILE=" + dir + "/plugins",
		"RUNNING_UNDER_SYSTEMD=true", // so that the process is the server, and not a shell around it
	}
	s.command = func() *exec.Cmd {
		cmd := command(id, dir, server)
		cmd.Env = append(cmd.Env, own...)
		return cmd
	}
	s.ping = func(context.Context) error {
		conn, err := amqp.Dial(rabbitURL(s.address))
		if err != nil {
			return err
		}
		return conn.Close()
	}
	t.Cleanup(func() {
		s.remove(syscall.SIGKILL)
		daemon := command(id, dir, "epmd", "-kill")
		daemon.Env = append(daemon.Env, own...)
		daemon.Run() // there is no daemon if RabbitMQ never ran
	})
	return s
}

func rabbitURL(address string) string { return "amqp://guest:guest@" + address + "/" }

// newNATS prepares a private NATS with JetStream without starting it. Without NATS the test is
// skipped.
func newNATS(t testing.TB) *machine {
	t.Helper()
	server := program("nats-server", "/usr/sbin", "/usr/local/bin")
	if server == "" {
		t.Skip("no NATS on this machine: make torture installs it")
	}
	dir := t.TempDir()
	s := &machine{name: "NATS", address: freeport.Address(t)}
	s.command = func() *exec.Cmd {
		return command(nil, dir, server, "-a", "127.0.0.1", "-p", port(t, s.address), "-js", "-sd", dir)
	}
	s.ping = func(ctx context.Context) error {
		conn, err := nats.Connect("nats://" + s.address)
		if err != nil {
			return err
		}
		defer conn.Close()
		js, err := conn.JetStream()
		if err != nil {
			return err
		}
		_, err = js.AccountInfo(nats.Context(ctx))
		return err
	}
	t.Cleanup(func() { s.remove(syscall.SIGKILL) })
	return s
}

func port(t testing.TB, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

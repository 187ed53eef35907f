// Package examples_test runs each example as a user would, and compares its output with its README.
package examples_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
)

// printed returns the output that a README shows for its example.
func printed(t *testing.T, name string) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(name, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)\n```$").FindAllStringSubmatch(string(page), -1) {
		if block[1] == "" {
			return strings.Split(block[2], "\n")
		}
	}
	t.Fatalf("%s/README.md shows no output", name)
	return nil
}

// runs runs an example to its end and returns its output.
func runs(t *testing.T, name string, env ...string) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", binary, "./"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as for all programs of the tests, so that packages are compiled once
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var args []string
	if name == "rabbitmq-notify" {
		args = []string{"-second", "100ms"}
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestOnPostgreSQL(t *testing.T) {
	for _, name := range []string{"order-service", "table-scan"} {
		t.Run(name, func(t *testing.T) {
			if got, want := runs(t, name, "DATABASE_URL="+scratchtest.New(t, "postgres").URL), printed(t, name); !slices.Equal(got, want) {
				t.Errorf("the output is\n%s\nwant that of its README\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// A line may be late on a loaded machine, but not early.
func TestRabbitMQNotify(t *testing.T) {
	const variable = "BELLMAN_TEST_RABBITMQ"
	address := cmp.Or(os.Getenv(variable), "amqp://guest:guest@127.0.0.1:5672/")
	if conn, err := amqp.Dial(address); err == nil {
		conn.Close()
	} else if os.Getenv(variable) != "" {
		t.Fatal(err)
	} else {
		t.Skipf("no RabbitMQ (set %s to one): %v", variable, err)
	}
	after := regexp.MustCompile(`after (\d+) s`)
	got, want := runs(t, "rabbitmq-notify", "RABBITMQ_URL="+address), printed(t, "rabbitmq-notify")
	if len(got) != len(want) {
		t.Fatalf("the output is\n%s\nwant that of its README\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range got {
		if after.ReplaceAllString(got[i], "") != after.ReplaceAllString(want[i], "") {
			t.Errorf("the output has the line %q; want %q as in its README", got[i], want[i])
		}
		if a, b := after.FindStringSubmatch(got[i]), after.FindStringSubmatch(want[i]); a != nil {
			if is, least := number(t, a[1]), number(t, b[1]); is < least {
				t.Errorf("the line %q is early; want at least %d s", got[i], least)
			}
		}
	}
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The order of lines depends on the machine, so each line of the README may be anywhere in the
// output.
func TestWalletChannel(t *testing.T) {
	timeless := regexp.MustCompile(`^ *\d+ s  `)
	var got []string
	for _, line := range runs(t, "wallet-channel") {
		got = append(got, timeless.ReplaceAllString(line, ""))
	}
	for _, line := range printed(t, "wallet-channel") {
		if line = timeless.ReplaceAllString(line, ""); line != "   …" && !slices.Contains(got, line) {
			t.Errorf("the output lacks the line %q of its README:\n%s", line, strings.Join(got, "\n"))
		}
	}
}

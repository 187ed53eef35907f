package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/config"
)

// key new prints a different key each time, with the hash for the configuration.
func TestKeyNew(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		var out bytes.Buffer
		c := keyCommand()
		c.SetArgs([]string{"new"})
		c.SetOut(&out)
		if err := c.Execute(); err != nil {
			t.Fatal(err)
		}
		var key, hash string
		if _, err := fmt.Sscanf(out.String(), "key: %s\nsha256: %s\n", &key, &hash); err != nil {
			t.Fatalf("%v in %q", err, out.String())
		}
		if sum := sha256.Sum256([]byte(key)); hash != hex.EncodeToString(sum[:]) || !strings.HasPrefix(key, "bmk_") || len(key) != 4+43 || seen[key] {
			t.Errorf("key %s, hash %s; want a new key of 256 bits with its hash", key, hash)
		}
		seen[key] = true
	}
}

// The lines that key new prints are valid configuration with that key and its limits.
func TestKeyNewLines(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		c := keyCommand()
		c.SetArgs(append([]string{"new"}, args...))
		c.SetOut(&out)
		c.SetErr(&out)
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.Execute()
		return out.String(), err
	}
	for _, tt := range []struct{ args, want string }{
		{"", "submit NAME "},
		{"--name zhang-wei --role decide", "decide zhang-wei "},
		{"--role read --queues pay,orders --merchants M1001,M2*,商户 --expires 2027-01-31T18:00:00+08:00 --from 10.0.0.0/8,2001:db8::1",
			"read NAME queues pay, orders and merchants M1001, M2*, 商户; expires 2027-01-31T10:00:00Z; from 10.0.0.0/8, 2001:db8::1/128"},
		{"--expires 2027-01-31", "submit NAME expires 2027-02-01T00:00:00Z"},
	} {
		out, err := run(strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		_, yaml, _ := strings.Cut(out, "\n\n")
		c, err := config.Parse([]byte(yaml))
		if err != nil || len(c.Keys) != 1 {
			t.Errorf("%s: %q is not a configuration with one key: %v", tt.args, yaml, err)
			continue
		}
		k := c.Keys[0]
		if got := string(k.Role) + " " + k.Name + " " + k.Limits(); got != tt.want || !strings.Contains(out, "sha256: "+hex.EncodeToString(k.SHA256[:])+"\n") {
			t.Errorf("%s: key %s printed as %s; want %s", tt.args, got, out, tt.want)
		}
	}
	for args, want := range map[string]bool{"--expires 2020-01-31": true, "--expires 2999-01-31": false} {
		if out, err := run(strings.Fields(args)...); err != nil || strings.Contains(out, "has passed: this key is never valid") != want {
			t.Errorf("%s: %v, %q; want a warning: %t", args, err, out, want)
		}
	}
	for args, want := range map[string]string{
		"--role boss":      `--role: "boss" does not exist: want submit, read, operate, decide or admin`,
		"--merchants M*1":  "--merchants: ",
		"--expires soon":   "--expires: ",
		"--from 10.0.0.1x": "--from: ",
		"--name x{y}":      `--name: "x{y}" is no name`,
		"--queues a,a":     "--queues: ",
		"--queues=":        "--queues: is empty", // of a shell's variable that is not set
		"--merchants=":     "--merchants: is empty",
		"--from=":          "--from: is empty",
		"--expires=":       `--expires: "" is no date`,
	} {
		if out, err := run(strings.Fields(args)...); err == nil || !strings.HasPrefix(err.Error(), want) || exitStatus(err) != 2 || strings.Contains(out, keyPrefix) {
			t.Errorf("%s: %v, %q; want %s, status 2 and no key", args, err, out, want)
		}
	}
}

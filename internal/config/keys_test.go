package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
)

// The limits of a key are read, and its queues must exist.
func TestKeyLimits(t *testing.T) {
	c, err := checked(`keys:
  - name: shop
    role: submit
    sha256: ` + hashA + `
    queues: [default]
    merchants: [M1001, "M2*"]
    expires: 2027-01-31
    from: ["10.0.0.0/8", 192.0.2.7]
  - {name: all, role: decide, sha256: ` + hashB + `, expires: "2027-01-31T18:00:00+08:00"}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Keys[0].Limits(), "queues default and merchants M1001, M2*; expires 2027-02-01T00:00:00Z; from 10.0.0.0/8, 192.0.2.7/32"; got != want {
		t.Errorf("limits %q; want %q", got, want)
	}
	if k := c.Keys[1]; k.Role != access.Decide || k.Scope.Limited() || !k.Expires.Equal(time.Date(2027, 1, 31, 10, 0, 0, 0, time.UTC)) || k.From != nil {
		t.Errorf("%+v; want no limit but the expiry", k)
	}
	c, err = Parse(fmt.Appendf(nil, "keys: [{name: a, role: read, sha256: %s}, {name: b, role: read, sha256: %s, queues: [default, pay]}]", hashA, hashB))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), `line 1:107: keys[1].queues[1]: "pay" is no queue: want one of default`) {
		t.Errorf("a queue that does not exist: %v", err)
	}
}

// checked parses a configuration and checks it, as a start does.
func checked(text string) (*Config, error) {
	c, err := Parse([]byte(text))
	if err == nil {
		err = c.Check()
	}
	return c, err
}

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// key new prints another key each time, with the hash that the configuration wants.
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

package config

import (
	"strings"
	"testing"
)

const masterA = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// Master keys are named, or whole; one setting has one, the other several.
func TestMasterKeys(t *testing.T) {
	t.Setenv("MASTER_FIT", masterA)
	t.Setenv("MASTER_SHORT", "AAAA")
	tests := []struct {
		text  string
		keys  int
		wrong string // in the error; empty: none
	}{
		{"master_key: env:MASTER_FIT", 1, ""},
		{"master_key: " + masterA, 1, ""},
		{"master_key: " + strings.Repeat("0f", 32), 1, ""},
		{"master_keys: [env:MASTER_FIT, file:/etc/former]", 2, ""},
		{"master_key: secret", 0, "1:13: master_key: is no master key"},
		{"master_key: 'env:'", 0, "names no key"},
		{"master_keys: [" + masterA + ", AAAA]", 0, "master_keys[1]: is no master key"},
		{"master_keys: env:MASTER_FIT", 0, "want a list"},
		{"master_key: env:MASTER_FIT\nmaster_keys: [env:OTHER]", 0, "stands beside master_keys"},
	}
	for _, tt := range tests {
		c, err := checked(tt.text)
		switch {
		case tt.wrong == "" && (err != nil || len(c.Masters()) != tt.keys):
			t.Errorf("%q: %d keys, %v; want %d", tt.text, len(c.Masters()), err, tt.keys)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%q: %v; want %q", tt.text, err, tt.wrong)
		}
		if err != nil && strings.Contains(err.Error(), masterA) {
			t.Errorf("%q: the error shows a key: %v", tt.text, err)
		}
	}
	c, err := Parse([]byte("master_key: env:MASTER_SHORT"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckSecrets(); err == nil || !strings.Contains(err.Error(), "is no master key") {
		t.Errorf("a variable with half a key: %v", err)
	}
}

package access

import (
	"crypto/sha256"
	"strings"
	"testing"
)

func TestWeakKey(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty key", "\n": "empty key", "password": "hash of password", "secret\n": "hash of secret", "admin": "hash of admin",
		"bmk_ZkPqW0m4uVwYx3h1n2b5c8d9": "",
	} {
		got := WeakKey(sha256.Sum256([]byte(text)))
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("WeakKey of %q: %q; want %q", text, got, want)
		}
	}
}

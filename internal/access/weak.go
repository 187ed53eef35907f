package access

import "crypto/sha256"

// weak are keys that an attacker tries first, by their SHA-256.
var weak = func() map[[sha256.Size]byte]string {
	texts := map[[sha256.Size]byte]string{sha256.Sum256(nil): "", sha256.Sum256([]byte("\n")): ""}
	for _, text := range []string{
		"password", "password1", "password2", "password123", "passw0rd", "Password", "admin", "administrator", "admin123",
		"root", "toor", "secret", "changeme", "change-me", "change me", "default", "test", "testing", "guest", "user", "demo", "example",
		"key", "KEY", "$KEY", "a key", "apikey", "api-key", "api_key", "token", "bearer", "none", "null", "letmein", "welcome", "qwerty", "abc123",
		"1", "123", "1234", "12345", "123456", "1234567", "12345678", "123456789", "1234567890", "111111", "000000",
		"bellman", "submit", "read", "operate", "order-service", "prometheus",
	} {
		texts[sha256.Sum256([]byte(text))] = text
		texts[sha256.Sum256([]byte(text+"\n"))] = text
	}
	return texts
}()

// WeakKey returns why a key with this SHA-256 is not acceptable; empty: nothing is known against
// it.
func WeakKey(hash [sha256.Size]byte) string {
	text, known := weak[hash]
	switch {
	case !known:
		return ""
	case text == "":
		return "is the hash of an empty key, as of a variable that is not set: make one with bellman key new"
	}
	return "is the hash of " + text + ", which is tried first by anybody: make one with bellman key new"
}

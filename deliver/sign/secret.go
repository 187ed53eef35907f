package sign

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

const maxSecret = 64 << 10 // bytes of a secret's file

// A Secret is a key, or where to find one: env:NAME is an environment variable,
// file:PATH a file (white space at its ends is cut off), anything else the key
// itself. Printing or encoding it in any way shows where it is, or stars: never
// the key. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt follows none below the top: what holds a Secret in an
	// unexported field, where fmt may call no method, shows an address.
	text *string
}

// NewSecret returns the secret that text names or is.
func NewSecret(text string) Secret { return Secret{&text} }

// Equal reports whether two secrets are the same text: the same place, or the same key.
func (s Secret) Equal(other Secret) bool {
	a, b := "", ""
	if s.text != nil {
		a = *s.text
	}
	if other.text != nil {
		b = *other.text
	}
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// UnmarshalText sets the secret as NewSecret does, for configuration.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// String returns where the secret is to be found, or three stars and the last
// four characters of a key that is long enough to spare them.
func (s Secret) String() string {
	switch {
	case s.text == nil || *s.text == "":
		return ""
	case strings.HasPrefix(*s.text, "env:"), strings.HasPrefix(*s.text, "file:"):
		return *s.text
	}
	key := strings.TrimSpace(*s.text)
	if len(key) < 20 || strings.HasSuffix(key, "-----") {
		return "***"
	}
	return "***" + strings.ToValidUTF8(key[len(key)-4:], "")
}

// Format writes String, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// GoString returns String.
func (s Secret) GoString() string { return s.String() }

// MarshalText writes String: a secret is written, never read back.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Resolve returns the key, for whoever has to use it: the one way to it. An error
// names the variable or file that is missing, and shows nothing of the key.
func (s Secret) Resolve() ([]byte, error) {
	if s.text == nil {
		return nil, nil
	}
	if name, ok := strings.CutPrefix(*s.text, "env:"); ok {
		key, set := os.LookupEnv(name)
		if !set {
			return nil, fmt.Errorf("environment variable %s is not set", name)
		}
		if key = strings.TrimSpace(key); key == "" {
			return nil, fmt.Errorf("environment variable %s is empty", name)
		}
		return []byte(key), nil
	}
	if path, ok := strings.CutPrefix(*s.text, "file:"); ok {
		return readKey(path)
	}
	return []byte(strings.TrimSpace(*s.text)), nil
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err // names the path
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	key := strings.TrimSpace(string(b))
	switch {
	case len(b) > maxSecret:
		return nil, fmt.Errorf("%s: longer than %d bytes, which no key is", path, maxSecret)
	case key == "":
		return nil, errors.New(path + ": is empty")
	}
	return []byte(key), nil
}

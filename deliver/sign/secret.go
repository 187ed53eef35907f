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

// ErrAbsent is wrapped by the errors of a [Secret] whose variable or file does not exist on this
// machine, or is empty.
var ErrAbsent = errors.New("the secret is absent")

// absent is an error that wraps ErrAbsent and has a text of its own.
type absent struct{ error }

func (a absent) Unwrap() []error { return []error{ErrAbsent, a.error} }

// A Secret is a key or the place of a key: env:NAME is an environment variable, file:PATH is a file
// (white space at its ends is removed), any other text is the key itself. Printing or encoding a
// Secret shows the place, or stars, never the whole key. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt prints pointers below the top level as addresses. It cannot call the
	// methods of a Secret in an unexported field, and so prints an address instead of the key.
	text *string
}

// NewSecret returns a Secret of env:NAME, file:PATH or the key itself.
func NewSecret(text string) Secret { return Secret{&text} }

// Equal reports whether two secrets name the same place, or are the same key. It takes constant
// time.
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

// String returns the place of the secret. Of a key it returns three stars, followed by the last
// four characters if the key has 20 or more.
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

// MarshalText writes String. The result cannot be read back.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Resolve returns the key, and nil for the zero Secret. It is the only way to read the key. It
// reads the variable or file at each call. An error names what is missing, and contains nothing of
// the key; see [ErrAbsent].
func (s Secret) Resolve() ([]byte, error) {
	if s.text == nil {
		return nil, nil
	}
	if name, ok := strings.CutPrefix(*s.text, "env:"); ok {
		key, set := os.LookupEnv(name)
		if !set {
			return nil, absent{fmt.Errorf("environment variable %s is not set", name)}
		}
		if key = strings.TrimSpace(key); key == "" {
			return nil, absent{fmt.Errorf("environment variable %s is empty", name)}
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
		return nil, absent{err} // names the path
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
		return nil, absent{errors.New(path + ": is empty")}
	}
	return []byte(key), nil
}

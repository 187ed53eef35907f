package registry

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/internal/coded"
)

// Masters are the master keys. The first one seals, all of them open. They are never shown. A nil
// *Masters has no keys.
type Masters struct {
	keys []master
}

type master struct {
	id   string
	aead cipher.AEAD // an interface, so printing shows no key
}

// masterBytes is the length of a master key: AES-256.
const masterBytes = 32

// WantMaster says what a master key looks like, and how to make one.
const WantMaster = "want 32 random bytes in base64 or 64 hexadecimal digits, as `openssl rand -base64 32` writes them"

// NewMasters parses master keys; the first one seals. An error names the wrong key by its number
// and shows nothing of it. Without texts it returns nil.
func NewMasters(texts ...[]byte) (*Masters, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	m := &Masters{}
	for i, text := range texts {
		key, err := ParseMaster(string(text))
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err) // cannot happen: the length was checked
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		id := masterID(key)
		if m.has(id) {
			return nil, fmt.Errorf("key %d: is there twice", i+1)
		}
		m.keys = append(m.keys, master{id, aead})
	}
	return m, nil
}

// ParseMaster reads a master key.
func ParseMaster(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	if len(text) == 2*masterBytes {
		if key, err := hex.DecodeString(text); err == nil {
			return key, nil
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := encoding.Strict().DecodeString(text); err == nil && len(key) == masterBytes {
			return key, nil
		}
	}
	return nil, errors.New("is no master key: " + WantMaster)
}

// masterID returns the id of a key: 8 hexadecimal digits that reveal nothing of it.
func masterID(key []byte) string {
	sum := sha256.Sum256(append([]byte("bellman master key\x00"), key...))
	return hex.EncodeToString(sum[:4])
}

// Current returns the id of the key that seals; empty: there is none.
func (m *Masters) Current() string {
	if m == nil || len(m.keys) == 0 {
		return ""
	}
	return m.keys[0].id
}

// IDs returns the ids of the keys; the first one seals.
func (m *Masters) IDs() []string {
	if m == nil {
		return nil
	}
	ids := make([]string, len(m.keys))
	for i, k := range m.keys {
		ids[i] = k.id
	}
	return ids
}

func (m *Masters) has(id string) bool { return slices.Contains(m.IDs(), id) }

// String shows only the ids.
func (m *Masters) String() string { return "master keys " + strings.Join(m.IDs(), ", ") }

// GoString is String.
func (m *Masters) GoString() string { return m.String() }

// sealVersion is the format of a sealed text, which may change some day.
const sealVersion = "v1"

// ErrNoMaster is returned by Seal if no master key is configured.
var ErrNoMaster = coded.Errorf("registry.no_master", "no master key is configured: set master_key to env:NAME or file:PATH; %s", WantMaster)

// A MissingMasterError reports a text that was sealed under a key that is not configured.
type MissingMasterError struct{ ID string }

func (e *MissingMasterError) Error() string {
	return e.Unwrap().Error()
}

// Unwrap returns the same with a code.
func (e *MissingMasterError) Unwrap() error {
	return coded.Errorf("registry.missing_master", "is sealed under master key %s, which is not configured: add it to master_keys", e.ID)
}

// errSealed reports a sealed text that no key opens: it was cut, changed, or belongs to another
// entry or field.
var errSealed = coded.Errorf("registry.sealed_other", "is sealed, and cannot be opened: it was changed, or is of another entry")

// Seal encrypts a text for one field of one entry with AES-256-GCM under a random nonce. The result
// is "v1.KEYID.BASE64", and opens only for that entry and field.
func (m *Masters) Seal(no, field string, text []byte) (string, error) {
	if m.Current() == "" {
		return "", ErrNoMaster
	}
	k := m.keys[0]
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(text)+k.aead.Overhead())
	rand.Read(nonce) // crypto/rand never fails
	box := k.aead.Seal(nonce, nonce, text, binding(k.id, no, field))
	return sealVersion + "." + k.id + "." + base64.RawURLEncoding.EncodeToString(box), nil
}

// Open decrypts a text that Seal made for the same entry and field. It returns *MissingMasterError
// if the key is not configured.
func (m *Masters) Open(no, field, sealed string) ([]byte, error) {
	id, box, err := parseSealed(sealed)
	if err != nil {
		return nil, err
	}
	if m != nil {
		for _, k := range m.keys {
			if k.id != id {
				continue
			}
			size := k.aead.NonceSize()
			if len(box) < size+k.aead.Overhead() {
				return nil, errSealed
			}
			text, err := k.aead.Open(nil, box[:size], box[size:], binding(id, no, field))
			if err != nil {
				return nil, errSealed
			}
			return text, nil
		}
	}
	return nil, &MissingMasterError{id}
}

// SealedUnder returns the id of the master key of a sealed text.
func SealedUnder(sealed string) (id string, err error) {
	id, _, err = parseSealed(sealed)
	return id, err
}

func parseSealed(sealed string) (id string, box []byte, err error) {
	version, rest, _ := strings.Cut(sealed, ".")
	id, text, ok := strings.Cut(rest, ".")
	if !ok || version != sealVersion || len(id) != 8 || strings.Trim(id, "0123456789abcdef") != "" {
		return "", nil, coded.Errorf("registry.sealed", "is no sealed text: want v1.KEYID.BASE64")
	}
	box, err = base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", nil, coded.Errorf("registry.sealed_base64", "is no sealed text: what follows the key's id is not base64")
	}
	return id, box, nil
}

// binding is the additional data of a sealed text: it ties the text to its key, entry and field. No
// part can contain the separator.
func binding(id, no, field string) []byte {
	return []byte("bellman\x00" + id + "\x00" + no + "\x00" + field)
}

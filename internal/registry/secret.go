package registry

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/coded"
)

// Limits of secrets.
const (
	maxSecret = 16 << 10 // bytes: an RSA key with its certificate

	// maxOverlap is the longest time for which a former secret stays valid.
	maxOverlap = 90 * 24 * time.Hour

	// DefaultOverlap is the default of that time.
	DefaultOverlap = 24 * time.Hour
)

// A Secret is a stored key. It is sealed, so that pages, logs and copies of the store do not reveal
// it.
type Secret struct {
	Field  string `json:"field"`            // of the entry, for which it is sealed
	Sealed string `json:"sealed"`           // the result of Masters.Seal
	Ending string `json:"ending,omitempty"` // its last four characters; empty if they would reveal too much
	Added  Stamp  `json:"added_ms"`
	Until  Stamp  `json:"until_ms,omitzero"` // when it ends; zero: never
}

// stars begin the visible part of a secret.
const stars = "***"

// Shown returns the visible part of a secret: three stars and its last four characters.
func (s *Secret) Shown() string { return stars + s.Ending }

const sealedPrefix = "sealed:"

// untilMark separates a sealed secret from its end in an export.
const untilMark = " until "

const millis = "2006-01-02T15:04:05.000Z07:00"

// Exported returns a secret as it appears in an export: sealed.
func (s *Secret) Exported() string {
	if s.Until.IsZero() {
		return sealedPrefix + s.Sealed
	}
	return sealedPrefix + s.Sealed + untilMark + s.Until.Format(millis)
}

// Recorded returns secrets for an audit record: their visible parts, and their times.
func Recorded(secrets []Secret) string {
	texts := make([]string, len(secrets))
	for i, s := range secrets {
		texts[i] = s.Shown() + " of " + s.Added.Format(millis)
		if !s.Until.IsZero() {
			texts[i] += " until " + s.Until.Format(millis)
		}
	}
	return strings.Join(texts, ", ")
}

// RecordedURL returns an address for an audit record: fingerprints replace the values of its query,
// because they may be secrets. Different values have different fingerprints.
func RecordedURL(address string) string {
	rest, query, has := strings.Cut(address, "?")
	if !has {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, is := strings.Cut(part, "=")
		if !is { // a value without a name may be the secret itself
			name, value = "", part
		}
		sum := sha256.Sum256([]byte(value))
		parts[i] = strings.TrimPrefix(name+"=", "=") + stars + hex.EncodeToString(sum[:4])
	}
	return rest + "?" + strings.Join(parts, "&")
}

// Of returns the secrets of a field.
func Of(field string, secrets []Secret) (of []Secret) {
	for _, s := range secrets {
		if s.Field == field {
			of = append(of, s)
		}
	}
	return of
}

// A Sealer makes and opens the secrets of one field of one entry.
type Sealer struct {
	Masters   *Masters
	ID, Field string
	Now       time.Time // when new secrets are added
}

// Open returns the key of a secret.
func (s Sealer) Open(secret *Secret) ([]byte, error) {
	return s.Masters.Open(s.ID, s.Field, secret.Sealed)
}

// New seals a key.
func (s Sealer) New(key string) (Secret, error) {
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return Secret{}, coded.Errorf("registry.empty_secret", "is empty")
	case len(key) > maxSecret:
		return Secret{}, coded.Errorf("registry.long_secret", "is longer than %d bytes, which no key is", maxSecret)
	case !utf8.ValidString(key):
		return Secret{}, coded.Errorf("registry.not_utf8", "is not UTF-8")
	case strings.HasPrefix(key, "env:"), strings.HasPrefix(key, "file:"):
		return Secret{}, coded.Errorf("registry.place", "names a place: want the key itself, for what is registered must not read this machine's variables and files")
	}
	sealed, err := s.Masters.Seal(s.ID, s.Field, []byte(key))
	if err != nil {
		return Secret{}, coded.Errorf("registry.unkept", "cannot be kept: %w", err)
	}
	return Secret{Field: s.Field, Sealed: sealed, Ending: ending(key), Added: Stamp{s.Now}}, nil
}

// Wanted returns the secret that a caller describes: a new key, a sealed one of an export, or the
// visible part of one of the active secrets.
func (s Sealer) Wanted(want string, active []Secret) (Secret, error) {
	if strings.HasPrefix(want, stars) {
		return keep(want, active)
	}
	sealed, is := strings.CutPrefix(want, sealedPrefix)
	if !is {
		if known, is := s.Same(want, time.Time{}, active); is {
			return known, nil
		}
		return s.New(want)
	}
	secret := Secret{Field: s.Field, Added: Stamp{s.Now}}
	sealed, until, timed := strings.Cut(sealed, untilMark)
	if timed {
		t, err := time.Parse(millis, until)
		if err != nil {
			return secret, coded.Errorf("registry.until", "has no time after until: want one such as 2026-11-20T15:04:05.123Z")
		}
		secret.Until = Stamp{t.UTC()}
	}
	key, err := s.Masters.Open(s.ID, s.Field, sealed)
	if err != nil {
		return secret, err
	}
	if known, is := s.Same(string(key), secret.Until.Time, active); is {
		return known, nil
	}
	secret.Sealed, secret.Ending = sealed, ending(string(key))
	return secret, nil
}

// Same finds a key among the present secrets: setting it again is no change.
func (s Sealer) Same(key string, until time.Time, active []Secret) (Secret, bool) {
	key = strings.TrimSpace(key) // as it is stored
	for i := range active {
		known, err := s.Open(&active[i])
		if err == nil && subtle.ConstantTimeCompare(known, []byte(key)) == 1 && active[i].Until.Equal(until) {
			return active[i], true
		}
	}
	return Secret{}, false
}

// keep finds the secret with this visible part.
func keep(shown string, active []Secret) (Secret, error) {
	found := slices.DeleteFunc(slices.Clone(active), func(s Secret) bool { return s.Shown() != shown })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Secret{}, coded.Errorf("registry.keep_none", "%.20q: there is no secret that ends so to keep", shown)
	}
	return Secret{}, coded.Errorf("registry.keep_several", "%.20q: several secrets are shown so: leave secrets out to keep all of them", shown)
}

// ending returns the visible part of a key, as sign.Secret shows it.
func ending(key string) string {
	return strings.TrimPrefix(sign.NewSecret(key).String(), stars)
}

// Ending returns the active secrets, which a newer one replaces: they end after overlap. Those that
// have ended then are left out.
func Ending(active []Secret, now time.Time, overlap time.Duration) (ending []Secret) {
	for _, s := range active {
		if until := now.Add(overlap); s.Until.IsZero() || s.Until.After(until) {
			s.Until = Stamp{until}
		}
		if s.Until.After(now) {
			ending = append(ending, s)
		}
	}
	return ending
}

// CheckOverlap returns *[bellman.Invalid] if former secrets cannot stay valid for so long.
func CheckOverlap(overlap time.Duration) error {
	bad := new(bellman.Invalid)
	if overlap < 0 || overlap > maxOverlap {
		bad.Note("overlap", coded.Errorf("registry.overlap", "want 0s to 90d"))
	}
	return bad.Err()
}

// Place returns the name of a secret in an error: sign.secrets[0].
func Place(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

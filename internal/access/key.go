package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/nearest"
)

// A Key admits its holder. Only its hash is stored, so a copy of the configuration does not reveal
// the key.
type Key struct {
	Name   string // shown in audit records; required, unique
	Role   Role
	SHA256 [sha256.Size]byte // of the key

	Scope   Scope          // the queues and merchants that it may see and change
	Expires time.Time      // the key is not valid from then on; zero: it does not expire
	From    []netip.Prefix // addresses from which it may be used; none: all
}

// Check returns what is wrong with keys.
func Check(keys []Key) error {
	names := map[string]bool{}
	for i, k := range keys {
		switch {
		case k.Name == "" || names[k.Name]:
			return fmt.Errorf("key %d: name %q: want a name that no other key has", i+1, k.Name)
		case rights[k.Role] == 0:
			return fmt.Errorf("key %s: role %q: want %s", k.Name, k.Role, nearest.Either(Roles()))
		}
		names[k.Name] = true
		if why := WeakKey(k.SHA256); why != "" {
			return fmt.Errorf("key %s: sha256: %s", k.Name, why)
		}
		for _, pattern := range k.Scope.Merchants {
			if err := CheckMerchant(pattern); err != nil {
				return fmt.Errorf("key %s: merchants: %w", k.Name, err)
			}
		}
	}
	return nil
}

// Expired reports whether the key has expired.
func (k *Key) Expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

// UsableFrom reports whether the key may be used from an address. An invalid address is in no
// range.
func (k *Key) UsableFrom(from netip.Addr) bool {
	return len(k.From) == 0 || slices.ContainsFunc(k.From, func(p netip.Prefix) bool { return p.Contains(from) })
}

// ParseExpiry reads the end of a key's validity: a time in RFC 3339, or a date, on which the key is
// still valid (UTC).
func ParseExpiry(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%.40q is no date and no time: want one such as 2027-01-31 or 2027-01-31T18:00:00+08:00", text)
	}
	return at.UTC(), nil
}

// Limits describes what limits a key apart from its role, for an audit record; empty: nothing.
func (k *Key) Limits() string {
	var parts []string
	if k.Scope.Limited() {
		parts = append(parts, k.Scope.String())
	}
	if !k.Expires.IsZero() {
		parts = append(parts, "expires "+k.Expires.UTC().Format(time.RFC3339))
	}
	if len(k.From) > 0 {
		from := make([]string, len(k.From))
		for i, p := range k.From {
			from[i] = p.String()
		}
		parts = append(parts, "from "+strings.Join(from, ", "))
	}
	return strings.Join(parts, "; ")
}

// Find returns the key with a secret; nil: there is none. It compares every key in constant time,
// so its duration reveals nothing about the keys.
func Find(keys []Key, secret string) *Key {
	return find(keys, secret, func(*Key) int { return 1 })
}

// FindNamed is Find among the keys of one name. Its duration reveals nothing about the names
// either.
func FindNamed(keys []Key, name, secret string) *Key {
	who := sha256.Sum256([]byte(name))
	return find(keys, secret, func(k *Key) int {
		named := sha256.Sum256([]byte(k.Name))
		return subtle.ConstantTimeCompare(who[:], named[:])
	})
}

func find(keys []Key, secret string, also func(*Key) int) *Key {
	hash := sha256.Sum256([]byte(secret))
	found := -1
	for i := range keys {
		same := subtle.ConstantTimeCompare(hash[:], keys[i].SHA256[:]) & also(&keys[i])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil
	}
	return &keys[found]
}

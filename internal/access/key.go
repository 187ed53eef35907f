package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/netip"
	"time"

	"github.com/bellmanhq/bellman/internal/nearest"
)

// A Key admits its holder. Only its hash is stored, so a copy of the configuration does not reveal the key.
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

// Find returns the key with a secret; nil: there is none. It compares every key in constant time, so its
// duration reveals nothing about the keys.
func Find(keys []Key, secret string) *Key {
	return find(keys, secret, func(*Key) int { return 1 })
}

// FindNamed is Find among the keys of one name. Its duration reveals nothing about the names either.
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

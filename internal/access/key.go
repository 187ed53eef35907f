package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
)

// A Key admits its holder. Only its hash is stored, so a copy of the configuration does not reveal the key.
type Key struct {
	Name   string // shown in audit records; required, unique
	Role   Role
	SHA256 [sha256.Size]byte // of the key
}

// A Role is what a key may do.
type Role string

// The roles. Operate includes Read; Admin includes all.
const (
	Submit  Role = "submit"  // create tasks; read one task by id or key; read one order and settle it
	Read    Role = "read"    // everything that changes nothing
	Operate Role = "operate" // Read, and resend, cancel, complete, reschedule, settle, pause, resume
	Admin   Role = "admin"
)

// Roles returns the names of all roles.
func Roles() []string { return []string{"submit", "read", "operate", "admin"} }

// Rights are a set of permissions.
type Rights uint8

// The rights.
const (
	MayCreate Rights = 1 << iota
	MayGet           // one task, one order
	MayRead
	MayOperate
	MayAdmin
	MaySettle            // one order, while it is read
	Open      Rights = 0 // no key is needed
)

var rights = map[Role]Rights{
	Submit:  MayCreate | MayGet | MaySettle,
	Read:    MayGet | MayRead,
	Operate: MayGet | MayRead | MayOperate | MaySettle,
	Admin:   MayCreate | MayGet | MayRead | MayOperate | MayAdmin | MaySettle,
}

// Rights returns the rights of a role; none for an unknown role.
func (r Role) Rights() Rights { return rights[r] }

// Includes reports whether a role has all rights of another one. No role includes an unknown role.
func (r Role) Includes(other Role) bool {
	return rights[other] != 0 && rights[r]&rights[other] == rights[other]
}

// String names a right for a caller who lacks it.
func (r Rights) String() string {
	switch r {
	case MayCreate:
		return "submit or admin"
	case MayGet:
		return "submit, read, operate or admin"
	case MaySettle:
		return "submit, operate or admin"
	case MayRead:
		return "read, operate or admin"
	case MayOperate:
		return "operate or admin"
	}
	return "admin"
}

// Check returns what is wrong with keys.
func Check(keys []Key) error {
	names := map[string]bool{}
	for i, k := range keys {
		switch {
		case k.Name == "" || names[k.Name]:
			return fmt.Errorf("key %d: name %q: want a name that no other key has", i+1, k.Name)
		case rights[k.Role] == 0:
			return fmt.Errorf("key %s: role %q: want submit, read, operate or admin", k.Name, k.Role)
		}
		names[k.Name] = true
		if why := WeakKey(k.SHA256); why != "" {
			return fmt.Errorf("key %s: sha256: %s", k.Name, why)
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

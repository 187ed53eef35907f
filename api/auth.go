package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/caller"
)

// A Key lets its bearer in. What is kept is a hash of it, so that neither a
// configuration nor a backup of it gives the key away.
type Key struct {
	Name   string // who it is, for audit records; required, unique
	Role   Role
	SHA256 string // of the key, in hexadecimal
}

// A Role says what a key may do.
type Role string

// The roles. Operate includes Read, and Admin includes all.
const (
	Submit  Role = "submit"  // create tasks, and get one by id or key, or an order by its number
	Read    Role = "read"    // all that changes nothing
	Operate Role = "operate" // Read, and resend, cancel, complete, reschedule, settle, pause, resume
	Admin   Role = "admin"
)

// rights is what a role may do, as a set.
type rights uint8

const (
	mayCreate rights = 1 << iota
	mayGet           // one task, one order
	mayRead
	mayOperate
	mayAdmin
	open rights = 0 // needs no key
)

var roleRights = map[Role]rights{
	Submit:  mayCreate | mayGet,
	Read:    mayGet | mayRead,
	Operate: mayGet | mayRead | mayOperate,
	Admin:   mayCreate | mayGet | mayRead | mayOperate | mayAdmin,
}

// String names a right for whoever lacks it.
func (r rights) String() string {
	switch r {
	case mayCreate:
		return "submit or admin"
	case mayGet:
		return "submit, read, operate or admin"
	case mayRead:
		return "read, operate or admin"
	case mayOperate:
		return "operate or admin"
	}
	return "admin"
}

type heldKey struct {
	name string
	may  rights
	hash [sha256.Size]byte
}

// A keyring is who may call now.
type keyring struct {
	held     []heldKey
	replaced chan struct{} // closed when there is another
}

// CheckKeys says what is wrong with keys.
func CheckKeys(keys []Key) error {
	_, err := holdKeys(keys)
	return err
}

// SetKeys replaces the keys, from the next request on; streams of events end, and
// whoever still may begins another. The error says what is wrong with the keys, and
// then those that there were stay.
func (a *API) SetKeys(keys []Key) error {
	held, err := holdKeys(keys)
	if err != nil {
		return err
	}
	if was := a.keys.Swap(&keyring{held, make(chan struct{})}); was != nil {
		close(was.replaced)
	}
	return nil
}

func holdKeys(keys []Key) ([]heldKey, error) {
	held := make([]heldKey, len(keys))
	names := map[string]bool{}
	for i, k := range keys {
		h := &held[i]
		h.name, h.may = k.Name, roleRights[k.Role]
		hash, err := hex.DecodeString(k.SHA256)
		switch {
		case k.Name == "" || names[k.Name]:
			return nil, fmt.Errorf("key %d: name %q: want a name that no other key has", i+1, k.Name)
		case h.may == 0:
			return nil, fmt.Errorf("key %s: role %q: want submit, read, operate or admin", k.Name, k.Role)
		case err != nil || len(hash) != len(h.hash):
			return nil, fmt.Errorf("key %s: sha256: want the SHA-256 of the key, 64 hexadecimal digits", k.Name)
		}
		names[k.Name] = true
		copy(h.hash[:], hash)
	}
	return held, nil
}

// admit says who calls, or why they may not do what needs the right need.
func (a *API) admit(r *http.Request, need rights) (who string, refused *client.Problem) {
	if need == open {
		return "", nil
	}
	keys := a.keys.Load().held
	if len(keys) == 0 {
		if !caller.Direct(r.Host) {
			return "", newProblem(http.StatusForbidden,
				"without keys this server answers to localhost and IP addresses only, not to the name "+cut(r.Host)+": configure keys")
		}
		return "", nil
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return "", newProblem(http.StatusUnauthorized, "want a header Authorization: Bearer KEY")
	}
	// Every key is compared, in constant time, so that the time of an answer says
	// nothing about the keys there are.
	hash := sha256.Sum256([]byte(key))
	found := -1
	for i := range keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], keys[i].hash[:]), i, found)
	}
	if found < 0 {
		return "", newProblem(http.StatusUnauthorized, "this key is not known")
	}
	k := &keys[found]
	if k.may&need == 0 {
		return k.name, newProblem(http.StatusForbidden, "this key may not do that: it takes the role "+need.String())
	}
	return k.name, nil
}

package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

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
	Submit  Role = "submit"  // create tasks, get one by id or key, or an order by its number, and settle that
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
	maySettle            // one order, while it is read
	open      rights = 0 // needs no key
)

var roleRights = map[Role]rights{
	Submit:  mayCreate | mayGet | maySettle,
	Read:    mayGet | mayRead,
	Operate: mayGet | mayRead | mayOperate | maySettle,
	Admin:   mayCreate | mayGet | mayRead | mayOperate | mayAdmin | maySettle,
}

// String names a right for whoever lacks it.
func (r rights) String() string {
	switch r {
	case mayCreate:
		return "submit or admin"
	case mayGet:
		return "submit, read, operate or admin"
	case maySettle:
		return "submit, operate or admin"
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
		if why := caller.WeakKey(h.hash); why != "" {
			return nil, fmt.Errorf("key %s: sha256: %s", k.Name, why)
		}
	}
	return held, nil
}

// admit says who calls, or why they may not do what needs the right need.
func (a *API) admit(r *http.Request, need rights) (k heldKey, refused *client.Problem) {
	if need == open {
		return heldKey{}, nil
	}
	keys := a.keys.Load().held
	if len(keys) == 0 {
		if !caller.Direct(r.Host) {
			return heldKey{}, newProblem(http.StatusForbidden,
				"without keys this server answers to localhost and IP addresses only, not to the name "+cut(r.Host)+": configure keys")
		}
		return heldKey{may: ^open}, nil
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return heldKey{}, newProblem(http.StatusUnauthorized, "want a header Authorization: Bearer KEY")
	}
	// Every key is compared, in constant time, so that the time of an answer says
	// nothing about the keys there are.
	hash := sha256.Sum256([]byte(key))
	found := -1
	for i := range keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], keys[i].hash[:]), i, found)
	}
	from := a.proxies.From(r)
	if found < 0 {
		return heldKey{}, a.unknownKey(from)
	}
	k = keys[found]
	if !a.usual.has(from, k.name) {
		// The right key out of many that were tried is no better than a wrong one. A key that
		// was used from there before goes on: who guesses keys must not stop those who have one.
		if wait := a.guesses.Over(caller.Network(from)); wait > 0 {
			a.refused()
			return heldKey{}, tooManyGuesses(wait)
		}
		a.usual.add(from, k.name)
	}
	if k.may&need == 0 {
		return k, newProblem(http.StatusForbidden, "this key may not do that: it takes the role "+need.String())
	}
	return k, nil
}

const (
	maxGuesses  = 30          // unknown keys from one address …
	guessWindow = time.Minute // … within this time, until it has passed
)

// unknownKey counts and logs a key that is none, and answers it.
func (a *API) unknownKey(from netip.Addr) *client.Problem {
	a.refused()
	if wait := a.guesses.Enter(caller.Network(from), ""); wait > 0 {
		return tooManyGuesses(wait)
	}
	a.log.Warn("api: a key is not known", "from", from)
	return newProblem(http.StatusUnauthorized, "this key is not known")
}

func tooManyGuesses(wait time.Duration) *client.Problem {
	return later(http.StatusTooManyRequests, wait, "too many unknown keys came from this address: try again later")
}

// usual remembers from where keys were used. The zero value is ready, and safe for
// concurrent use.
type usual struct {
	mu   sync.RWMutex
	seen map[use]struct{}
}

type use struct {
	from netip.Addr
	name string
}

// maxUses bounds what usual remembers; beyond it one that is there is forgotten.
const maxUses = 10_000

func (u *usual) has(from netip.Addr, name string) bool {
	u.mu.RLock()
	defer u.mu.RUnlock()
	_, has := u.seen[use{from, name}]
	return has
}

func (u *usual) add(from netip.Addr, name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen == nil {
		u.seen = map[use]struct{}{}
	}
	if len(u.seen) >= maxUses {
		for one := range u.seen {
			delete(u.seen, one)
			break
		}
	}
	u.seen[use{from, name}] = struct{}{}
}

package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
)

// A keyring is a set of keys.
type keyring struct {
	held     []access.Key
	replaced chan struct{} // closed when the keys are replaced
}

// SetKeys replaces the keys for further requests. It ends the streams of events; clients with a
// valid key can open them again. An error says what is wrong with the keys; then the old ones stay.
func (a *API) SetKeys(keys []access.Key) error {
	if err := access.Check(keys); err != nil {
		return err
	}
	if was := a.keys.Swap(&keyring{slices.Clone(keys), make(chan struct{})}); was != nil {
		close(was.replaced)
	}
	return nil
}

// admit returns the caller of a request, or why it may not do what requires one right of need.
func (a *API) admit(r *http.Request, need access.Rights) (by holder, refused *client.Problem) {
	if need == access.Open {
		return holder{}, nil
	}
	keys := a.keys.Load().held
	if len(keys) == 0 {
		if !access.Direct(r.Host) {
			return holder{}, newProblem(http.StatusForbidden,
				"without keys this server answers to localhost and IP addresses only, not to the name "+cut(r.Host)+": configure keys")
		}
		return holder{may: ^access.Open}, nil
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return holder{}, newProblem(http.StatusUnauthorized, "want a header Authorization: Bearer KEY")
	}
	from := a.o.Proxies.From(r)
	k := access.Find(keys, secret)
	if k == nil {
		return holder{}, a.unknownKey(from)
	}
	usual := a.usual.has(from, k.Name)
	if !usual {
		// After too many wrong keys from an address, even the right key is rejected, unless it was
		// used from there before: a caller that guesses keys must not lock out the holders of keys.
		if wait := a.guesses.Over(access.Network(from)); wait > 0 {
			a.o.Refused()
			return holder{}, tooManyGuesses(wait)
		}
	}
	by = holder{who: k.Name, may: k.Role.Rights(), scope: k.Scope}
	switch {
	case k.Expired(time.Now()):
		return by, newProblem(http.StatusUnauthorized, "this key has expired, at "+client.At(k.Expires).String()+": configure a new one")
	case !k.UsableFrom(from):
		return by, newProblem(http.StatusForbidden, fmt.Sprintf("this key may not be used from the address %s: from in its configuration does not have it", from))
	case !usual:
		a.usual.add(from, k.Name)
	}
	if by.may&need == 0 {
		return by, newProblem(http.StatusForbidden, "this key may not do that: it takes the role "+need.String())
	}
	return by, nil
}

const (
	maxGuesses  = 30          // unknown keys from one address …
	guessWindow = time.Minute // … within this time
)

// unknownKey counts and logs an unknown key, and returns the answer.
func (a *API) unknownKey(from netip.Addr) *client.Problem {
	a.o.Refused()
	if wait := a.guesses.Enter(access.Network(from), ""); wait > 0 {
		return tooManyGuesses(wait)
	}
	a.o.Log.Warn("api: unknown key", "from", from)
	return newProblem(http.StatusUnauthorized, "this key is not known")
}

func tooManyGuesses(wait time.Duration) *client.Problem {
	return later(http.StatusTooManyRequests, wait, "too many unknown keys came from this address: try again later")
}

// usual remembers the addresses from which keys were used. The zero value is ready, and safe for
// concurrent use.
type usual struct {
	mu   sync.RWMutex
	seen map[use]struct{}
}

type use struct {
	from netip.Addr
	name string
}

// maxUses is the largest number of uses that usual remembers. Beyond it, a random one is forgotten.
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

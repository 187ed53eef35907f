package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/caller"
)

// A Key lets the person who knows it sign in.
type Key struct {
	Name   string // who it is, for audit records; required, unique
	Role   Role
	SHA256 string // of the key, in hexadecimal
}

// A Role says what a key may do here. Each includes those before it.
type Role string

// The roles.
const (
	Submit  Role = "submit"  // creates tasks through the API; there is nothing for it here
	Read    Role = "read"    // sees everything
	Operate Role = "operate" // resends, cancels, reschedules, settles, pauses, resumes
	Admin   Role = "admin"
)

var ranks = map[Role]int{Submit: 1, Read: 2, Operate: 3, Admin: 4}

// may reports whether somebody of role r may do what takes the role need.
func (r Role) may(need Role) bool { return ranks[r] >= ranks[need] }

type heldKey struct {
	name string
	role Role
	hash [sha256.Size]byte
}

// SetKeys replaces the keys, from the next request on: sessions of a key that is gone,
// or is another one under its name, are over. The error says what is wrong with the
// keys, and then those that there were stay.
func (c *Console) SetKeys(keys []Key) error {
	held, err := holdKeys(keys)
	if err != nil {
		return err
	}
	c.keys.Store(&held)
	return nil
}

// open reports whether everybody may do everything.
func (c *Console) open() bool { return len(*c.keys.Load()) == 0 }

func holdKeys(keys []Key) ([]heldKey, error) {
	held := make([]heldKey, len(keys))
	names := map[string]bool{}
	for i, k := range keys {
		h := &held[i]
		h.name, h.role = k.Name, k.Role
		hash, err := hex.DecodeString(k.SHA256)
		switch {
		case k.Name == "" || names[k.Name]:
			return nil, fmt.Errorf("key %d: name %q: want a name that no other key has", i+1, k.Name)
		case ranks[k.Role] == 0:
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

// keyOf finds the key of this name if secret is it; nil if not. Every key is
// compared, in constant time, so that the time of an answer says nothing about
// the keys and names there are.
func (c *Console) keyOf(name, secret string) *heldKey {
	hash, who := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(name))
	found, keys := -1, *c.keys.Load()
	for i := range keys {
		k := &keys[i]
		named := sha256.Sum256([]byte(k.name))
		same := subtle.ConstantTimeCompare(hash[:], k.hash[:]) & subtle.ConstantTimeCompare(who[:], named[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil
	}
	return &keys[found]
}

// named reports whether there is a key of this name.
func (c *Console) named(name string) bool {
	return slices.ContainsFunc(*c.keys.Load(), func(k heldKey) bool { return k.name == name })
}

// A visitor is who makes a request, and how pages are shown to them.
type visitor struct {
	Who      string // the key's name; empty where there are no keys
	From     string // their network address, for audit records; empty: not known
	Role     Role   // empty: not signed in
	SignedIn bool   // by a session, not because the console is open
	Token    string // that their forms must carry
	Theme    string // light, dark, or empty: as the system has it
	lang     *language
}

// May reports whether the visitor may do what takes this role.
func (v *visitor) May(need Role) bool { return v.Role.may(need) }

// request is one that somebody makes. It may set a cookie. Where nobody can say who
// it is, the error says why, and the visitor is nobody.
func (c *Console) request(w http.ResponseWriter, r *http.Request) (*request, error) {
	v := &visitor{lang: c.language(r), Theme: themeOf(r), From: c.proxies.Text(r)}
	q := &request{Console: c, w: w, r: r, visitor: v}
	var s *session
	var err error
	if c.open() {
		v.Role = Admin
	} else {
		var k *heldKey
		if s, k, err = c.find(r.Context(), c.cookie(r, sessionCookie)); s != nil {
			v.Who, v.Role, v.SignedIn = k.name, k.role, true
			v.Token = c.token(s.name())
			c.touch(w, r, s)
			return q, nil
		}
	}
	v.Token = c.token(c.visit(w, r))
	return q, err
}

// touch notes that a session is used. What a page asks for by itself is no use: one
// that is only left open does not keep somebody signed in.
func (c *Console) touch(w http.ResponseWriter, r *http.Request, s *session) {
	now := time.Now()
	if now.Sub(s.last) < touchTime || r.Header.Get("HX-Request") != "" || strings.HasSuffix(r.URL.Path, "/live") {
		return
	}
	used := *s
	used.last = now
	c.setCookie(w, r, sessionCookie, used.cookie(c.secret.Key(sessionPurpose)), absoluteTime-now.Sub(s.began))
}

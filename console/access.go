package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
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
	}
	return held, nil
}

// keyOf finds the key of this name if secret is it; nil if not. Every key is
// compared, in constant time, so that the time of an answer says nothing about
// the keys and names there are.
func (c *Console) keyOf(name, secret string) *heldKey {
	hash, who := sha256.Sum256([]byte(secret)), sha256.Sum256([]byte(name))
	found := -1
	for i := range c.keys {
		k := &c.keys[i]
		named := sha256.Sum256([]byte(k.name))
		same := subtle.ConstantTimeCompare(hash[:], k.hash[:]) & subtle.ConstantTimeCompare(who[:], named[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil
	}
	return &c.keys[found]
}

// A visitor is who makes a request, and how pages are shown to them.
type visitor struct {
	Who      string // the key's name; empty where there are no keys
	Role     Role   // empty: not signed in
	SignedIn bool   // by a session, not because the console is open
	Token    string // that their forms must carry
	Theme    string // light, dark, or empty: as the system has it
	lang     *language
}

// May reports whether the visitor may do what takes this role.
func (v *visitor) May(need Role) bool { return v.Role.may(need) }

// visitor says who makes a request. It may set a cookie.
func (c *Console) visitor(w http.ResponseWriter, r *http.Request) *visitor {
	v := &visitor{lang: c.language(r), Theme: themeOf(r)}
	if len(c.keys) == 0 {
		v.Role = Admin
	} else if s := c.sessions.find(cookie(r, sessionCookie)); s != nil {
		v.Who, v.Role, v.SignedIn = s.who, s.role, true
		v.Token = c.token(cookie(r, sessionCookie))
		return v
	}
	v.Token = c.token(c.visit(w, r))
	return v
}

// direct reports whether a Host header is an IP address or localhost. A page of
// a stranger can make its own name resolve to a loopback address (DNS
// rebinding), but it cannot make the browser send another name than its own.
func direct(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

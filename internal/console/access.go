package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
)

// SetKeys replaces the keys, from the next request on: sessions of a key that is gone,
// or is another one under its name, are over. The error says what is wrong with the
// keys, and then those that there were stay.
func (c *Console) SetKeys(keys []access.Key) error {
	if err := access.Check(keys); err != nil {
		return err
	}
	held := slices.Clone(keys)
	c.keys.Store(&held)
	return nil
}

// open reports whether everybody may do everything.
func (c *Console) open() bool { return len(*c.keys.Load()) == 0 }

// named reports whether there is a key of this name.
func (c *Console) named(name string) bool {
	return slices.ContainsFunc(*c.keys.Load(), func(k access.Key) bool { return k.Name == name })
}

// A visitor is who makes a request, and how pages are shown to them.
type visitor struct {
	Who      string      // the key's name; empty where there are no keys
	From     string      // their network address, for audit records; empty: not known
	Role     access.Role // empty: not signed in
	SignedIn bool        // by a session, not because the console is open
	Token    string      // that their forms must carry
	Theme    string      // light, dark, or empty: as the system has it
	lang     *language
}

// May reports whether the visitor may do what takes this role.
func (v *visitor) May(need access.Role) bool { return v.Role.Includes(need) }

// request is one that somebody makes. It may set a cookie. Where nobody can say who
// it is, the error says why, and the visitor is nobody.
func (c *Console) request(w http.ResponseWriter, r *http.Request) (*request, error) {
	v := &visitor{lang: c.language(r), Theme: themeOf(r), From: c.proxies.Text(r)}
	q := &request{Console: c, w: w, r: r, visitor: v}
	var s *session
	var err error
	if c.open() {
		v.Role = access.Admin
	} else {
		var k *access.Key
		if s, k, err = c.find(r.Context(), c.cookie(r, sessionCookie)); s != nil {
			v.Who, v.Role, v.SignedIn = k.Name, k.Role, true
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

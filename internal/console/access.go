package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
)

// SetKeys replaces the keys from the next request on. Sessions end if their key is gone or was
// replaced under its name. If the keys are invalid, SetKeys returns an error and the present keys
// stay.
func (c *Console) SetKeys(keys []access.Key) error {
	if err := access.Check(keys); err != nil {
		return err
	}
	held := slices.Clone(keys)
	c.keys.Store(&held)
	return nil
}

// open reports whether no keys are configured, so that everybody may do everything.
func (c *Console) open() bool { return len(*c.keys.Load()) == 0 }

// named reports whether there is a key of this name.
func (c *Console) named(name string) bool {
	return slices.ContainsFunc(*c.keys.Load(), func(k access.Key) bool { return k.Name == name })
}

// A visitor is the person who makes a request, with the settings of their pages.
type visitor struct {
	Who      string      // name of the key; empty if there are no keys
	From     string      // network address, for audit records; empty: unknown
	Role     access.Role // empty: not signed in
	SignedIn bool        // has a session; false if the console is open
	Token    string      // must be in every form that the visitor submits
	Theme    string      // light, dark, or empty: as the system is set
	lang     *language
}

// May reports whether the visitor has a role.
func (v *visitor) May(need access.Role) bool { return v.Role.Includes(need) }

// request returns the request with its visitor. It may set a cookie. If the session cannot be
// checked, it returns an error and a visitor who is not signed in.
func (c *Console) request(w http.ResponseWriter, r *http.Request) (*request, error) {
	v := &visitor{lang: c.language(r), Theme: themeOf(r), From: c.o.Proxies.Text(r)}
	q := &request{Console: c, w: w, r: r, visitor: v}
	var s *session
	var err error
	if c.open() {
		v.Role = access.Admin
	} else {
		var k *access.Key
		if s, k, err = c.find(r.Context(), c.cookie(r, sessionCookie)); s != nil && k.UsableFrom(c.o.Proxies.From(r)) {
			v.Who, v.Role, v.SignedIn = k.Name, k.Role, true
			v.Token = c.token(s.name())
			c.touch(w, r, s)
			return q, nil
		}
	}
	v.Token = c.token(c.visit(w, r))
	return q, err
}

// touch records that a session is used. Requests that a page makes by itself do not count, so a
// page that is left open does not keep its session alive.
func (c *Console) touch(w http.ResponseWriter, r *http.Request, s *session) {
	now := time.Now()
	if now.Sub(s.last) < touchTime || r.Header.Get("HX-Request") != "" || strings.HasSuffix(r.URL.Path, "/live") {
		return
	}
	used := *s
	used.last = now
	c.setCookie(w, r, sessionCookie, used.cookie(c.o.Secret.Key(sessionPurpose)), absoluteTime-now.Sub(s.began))
}

package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

const (
	sessionCookie = "bellman_session"
	visitCookie   = "bellman_visit"

	idleTime     = time.Hour      // an unused session ends after this
	absoluteTime = 12 * time.Hour // every session ends after this
	touchTime    = time.Minute    // least time between two records of a use
)

// A session is a signed-in visitor. Only the browser stores it, in a cookie signed with a secret
// that all nodes share, so it is valid on every node and after a restart. What its key may do is
// looked up on each use.
type session struct {
	id    [16]byte
	who   string
	key   [8]byte // prefix of the key's hash: the session ends when the key of this name is replaced
	began time.Time
	last  time.Time // time of the last use, accurate to a minute
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.last) >= idleTime || now.Sub(s.began) >= absoluteTime
}

// newSession returns a session for somebody who just signed in.
func newSession(k *access.Key, now time.Time) *session {
	s := &session{who: k.Name, key: [8]byte(k.SHA256[:8]), began: now, last: now}
	rand.Read(s.id[:]) // never fails: rand.Read ends the program instead
	return s
}

// Content of a cookie: a version, the session's id, its two times, the prefix of the key's hash,
// the key's name, and the signature of all that.
const (
	cookieVersion = 1
	cookieFixed   = 1 + 16 + 8 + 8 + 8
)

func (s *session) cookie(key []byte) string {
	b := make([]byte, 0, cookieFixed+len(s.who)+sha256.Size)
	b = append(append(b, cookieVersion), s.id[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.began.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(s.last.Unix()))
	b = append(append(b, s.key[:]...), s.who...)
	return base64.RawURLEncoding.EncodeToString(append(b, signed(key, b)...))
}

// readSession parses the value of a cookie. It returns nil if the value is not signed with this
// key.
func readSession(value string, key []byte) *session {
	b, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(b) < cookieFixed+sha256.Size || b[0] != cookieVersion {
		return nil
	}
	b, mac := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if !hmac.Equal(mac, signed(key, b)) {
		return nil
	}
	return &session{
		id: [16]byte(b[1:17]), key: [8]byte(b[33:41]), who: string(b[41:]),
		began: time.Unix(int64(binary.BigEndian.Uint64(b[17:])), 0),
		last:  time.Unix(int64(binary.BigEndian.Uint64(b[25:])), 0),
	}
}

func signed(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}

// find returns the session of a cookie and its key. It returns nil if there is none, if it has
// expired or was ended, or if its key is no longer configured, has expired or has a limited scope.
func (c *Console) find(ctx context.Context, value string) (*session, *access.Key, error) {
	s, k := c.signedBy(ctx, value)
	if s == nil {
		return nil, nil, nil
	}
	switch _, err := store.ReadDoc(ctx, c.o.Records, endedKind, s.name()); {
	case errors.Is(err, bellman.ErrNotFound):
		return s, k, nil
	case err != nil:
		return nil, nil, err
	}
	return nil, nil, nil
}

// signedBy is find without the check whether the session was ended.
func (c *Console) signedBy(ctx context.Context, value string) (*session, *access.Key) {
	if value == "" {
		return nil, nil
	}
	s := readSession(value, c.o.Secret.Key(sessionPurpose))
	if s == nil && c.o.Secret.Refresh(ctx) {
		s = readSession(value, c.o.Secret.Key(sessionPurpose))
	}
	if s == nil || s.over(time.Now()) {
		return nil, nil
	}
	keys := *c.keys.Load()
	for i := range keys {
		k := &keys[i]
		if k.Name == s.who && [8]byte(k.SHA256[:8]) == s.key && !k.Expired(time.Now()) && !k.Scope.Limited() {
			return s, k
		}
	}
	return nil, nil
}

// goesOn reports whether a session is still valid at an address, for open pages that check every
// second. They share one reading of the ended sessions.
func (c *Console) goesOn(ctx context.Context, value string, from netip.Addr) bool {
	s, k := c.signedBy(ctx, value)
	if s == nil || !k.Role.Includes(access.Read) || !k.UsableFrom(from) {
		return false
	}
	ended, err := c.ended.get(ctx, time.Second, c.readEnded)
	if err != nil {
		return true // the next check, or its own expiry, ends it
	}
	_, is := ended[s.name()]
	return !is
}

// endedKind is the kind of the documents that record ended sessions. Their names are the ids of the
// sessions. A document is deleted when its session would have expired.
const endedKind = "console-ended"

type endedDoc struct {
	Until time.Time `json:"until"` // when the session would have expired
}

func (s *session) name() string { return hex.EncodeToString(s.id[:]) }

// readEnded reads the sessions that were ended before they expired.
func (c *Console) readEnded(ctx context.Context) (map[string]time.Time, error) {
	all := map[string]time.Time{}
	for d, err := range store.EachDoc(ctx, c.o.Records, endedKind, "") {
		if err != nil {
			return nil, err
		}
		var e endedDoc
		if json.Unmarshal(d.Value, &e) == nil { // an unreadable document counts as expired
			all[d.Name] = e.Until
		}
	}
	return all, nil
}

// end ends a session on all nodes, and deletes records of expired ones.
func (c *Console) end(ctx context.Context, value string) error {
	s, _ := c.signedBy(ctx, value)
	if s == nil {
		return nil
	}
	text, err := json.Marshal(endedDoc{s.began.Add(absoluteTime).UTC()})
	if err != nil {
		return err
	}
	b := &store.Batch{Docs: []store.Doc{{Kind: endedKind, Name: s.name(), Value: text}}}
	before, err := c.readEnded(ctx)
	if err != nil {
		return err
	}
	for name, until := range before {
		if time.Since(until) > 0 && name != s.name() {
			b.Docs = append(b.Docs, store.Doc{Kind: endedKind, Name: name})
		}
	}
	if err := c.o.Records.Commit(ctx, b); err != nil {
		return err
	}
	c.ended.forget()
	return nil
}

// random returns 256 random bits as text.
func random() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: rand.Read ends the program instead
	return base64.RawURLEncoding.EncodeToString(b)
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// cookie returns the value of one of the console's cookies. Over TLS its name has a prefix that no
// other host and no unencrypted page can set.
func (c *Console) cookie(r *http.Request, name string) string {
	return cookie(r, c.cookieName(r, name))
}

func (c *Console) cookieName(r *http.Request, name string) string {
	switch name {
	case sessionCookie, visitCookie, doneCookie:
		if c.o.Proxies.Secure(r) {
			return "__Host-" + name
		}
	}
	return name
}

// setCookie sets a cookie that scripts cannot read and other sites cannot send. An empty value
// removes it. With age 0 it lasts until the browser is closed.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, name, value string, age time.Duration) {
	k := &http.Cookie{
		Name: c.cookieName(r, name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: int(age / time.Second), Secure: c.o.Proxies.Secure(r),
	}
	if value == "" {
		k.MaxAge = -1
	}
	http.SetCookie(w, k)
}

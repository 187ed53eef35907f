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
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/store"
)

const (
	sessionCookie = "bellman_session"
	visitCookie   = "bellman_visit"

	idleTime     = time.Hour      // a session that nobody uses ends after this
	absoluteTime = 12 * time.Hour // every session ends after this
	touchTime    = time.Minute    // a use is noted once in this time
)

// A session is somebody who is signed in. It is kept by the browser alone, in a
// cookie that is signed with what all nodes share: it is good at each of them, and
// after a restart. What a key may do is looked up at each use.
type session struct {
	id    [16]byte
	who   string
	key   [8]byte // of the key's hash: with another key under that name it is over
	began time.Time
	last  time.Time // when it was used last, to a minute
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.last) >= idleTime || now.Sub(s.began) >= absoluteTime
}

// newSession is one of somebody who signed in just now.
func newSession(k *access.Key, now time.Time) *session {
	s := &session{who: k.Name, key: [8]byte(k.SHA256[:8]), began: now, last: now}
	rand.Read(s.id[:]) // never fails: it ends the program instead
	return s
}

// What a cookie says: a version, the session's id, its two times, of the key's hash,
// the key's name; and the signature of all that.
const (
	cookieVersion = 1
	cookieFixed   = 1 + 16 + 8 + 8 + 8
)

// cookie is what the browser keeps.
func (s *session) cookie(key []byte) string {
	b := make([]byte, 0, cookieFixed+len(s.who)+sha256.Size)
	b = append(append(b, cookieVersion), s.id[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(s.began.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(s.last.Unix()))
	b = append(append(b, s.key[:]...), s.who...)
	return base64.RawURLEncoding.EncodeToString(append(b, signed(key, b)...))
}

// readSession reads what a browser sent; nil if it is not signed with this key.
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

// find returns the session that a cookie says, and its key; nil if there is none, or
// it is over, or was ended, or its key is no longer held.
func (c *Console) find(ctx context.Context, value string) (*session, *access.Key, error) {
	s, k := c.signedBy(ctx, value)
	if s == nil {
		return nil, nil, nil
	}
	switch _, err := store.ReadDoc(ctx, c.records, endedKind, s.name()); {
	case errors.Is(err, bellman.ErrNotFound):
		return s, k, nil
	case err != nil:
		return nil, nil, err
	}
	return nil, nil, nil
}

// signedBy is find without looking whether the session was ended.
func (c *Console) signedBy(ctx context.Context, value string) (*session, *access.Key) {
	if value == "" {
		return nil, nil
	}
	s := readSession(value, c.secret.Key(sessionPurpose))
	if s == nil && c.secret.Refresh(ctx) {
		s = readSession(value, c.secret.Key(sessionPurpose))
	}
	if s == nil || s.over(time.Now()) {
		return nil, nil
	}
	keys := *c.keys.Load()
	for i := range keys {
		if k := &keys[i]; k.Name == s.who && [8]byte(k.SHA256[:8]) == s.key {
			return s, k
		}
	}
	return nil, nil
}

// goesOn reports whether a session goes on, for a page that is open and asks every
// second: the sessions that were ended are read together.
func (c *Console) goesOn(ctx context.Context, value string) bool {
	s, k := c.signedBy(ctx, value)
	if s == nil || !k.Role.Includes(access.Read) {
		return false
	}
	ended, err := c.ended.get(ctx, time.Second, c.readEnded)
	if err != nil {
		return true // it ends at the next look, or by its own time
	}
	_, is := ended[s.name()]
	return !is
}

// endedKind is the kind of the documents that say which sessions people ended; their
// names are the sessions' ids. Each goes when its session would be over anyway.
const endedKind = "console-ended"

type endedDoc struct {
	Until time.Time `json:"until"` // when the session would have been over
}

func (s *session) name() string { return hex.EncodeToString(s.id[:]) }

// readEnded reads the sessions that people ended and that would go on otherwise.
func (c *Console) readEnded(ctx context.Context) (map[string]time.Time, error) {
	const page = 500
	all := map[string]time.Time{}
	for after := ""; ; {
		docs, err := c.records.Docs(ctx, store.DocFilter{Kind: endedKind, After: after}, page)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			var e endedDoc
			if json.Unmarshal(d.Value, &e) == nil { // else it is over, whenever that was
				all[d.Name] = e.Until
			}
			after = d.Name
		}
		if len(docs) < page {
			return all, nil
		}
	}
}

// end ends a session at all nodes, and forgets those that are over by now.
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
	if err := c.records.Commit(ctx, b); err != nil {
		return err
	}
	c.ended.forget()
	return nil
}

// random is 256 bits that nobody can guess, as text.
func random() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(b)
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// cookie is what the browser sent of a cookie of ours. Over TLS it has the name that no other host and no
// unencrypted page can set.
func (c *Console) cookie(r *http.Request, name string) string {
	return cookie(r, c.cookieName(r, name))
}

func (c *Console) cookieName(r *http.Request, name string) string {
	switch name {
	case sessionCookie, visitCookie, doneCookie:
		if c.proxies.Secure(r) {
			return "__Host-" + name
		}
	}
	return name
}

// setCookie sets a cookie that scripts cannot read and other sites cannot send. An
// empty value removes it; a zero age lasts as long as the browser runs.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, name, value string, age time.Duration) {
	k := &http.Cookie{
		Name: c.cookieName(r, name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: int(age / time.Second), Secure: c.proxies.Secure(r),
	}
	if value == "" {
		k.MaxAge = -1
	}
	http.SetCookie(w, k)
}

package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

const (
	sessionCookie = "bellman_session"
	visitCookie   = "bellman_visit"

	idleTime     = time.Hour      // a session that nobody uses ends after this
	absoluteTime = 12 * time.Hour // every session ends after this
	maxSessions  = 10_000         // beyond it the one that was idle longest goes
)

// sessions are those who are signed in. They are kept in memory: a restart signs
// everybody out.
type sessions struct {
	mu   sync.Mutex
	held map[[sha256.Size]byte]*session // by the hash of the cookie's value
}

type session struct {
	who   string
	role  Role
	began time.Time
	last  time.Time // when it was used last
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.last) >= idleTime || now.Sub(s.began) >= absoluteTime
}

// begin makes a session and returns what its cookie must say.
func (s *sessions) begin(k *heldKey) string {
	value := random()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[[sha256.Size]byte]*session{}
	}
	if len(s.held) >= maxSessions {
		s.makeRoom(now)
	}
	s.held[sha256.Sum256([]byte(value))] = &session{who: k.name, role: k.role, began: now, last: now}
	return value
}

// makeRoom drops what is over, or else the session that was idle longest.
func (s *sessions) makeRoom(now time.Time) {
	var oldest [sha256.Size]byte
	idle := now
	for hash, held := range s.held {
		if held.over(now) {
			delete(s.held, hash)
		} else if !held.last.After(idle) {
			oldest, idle = hash, held.last
		}
	}
	if len(s.held) >= maxSessions {
		delete(s.held, oldest)
	}
}

// find returns a copy of the session with this cookie, and notes that it was
// used; nil if there is none, or it is over.
func (s *sessions) find(value string) *session {
	return s.look(value, true)
}

// alive reports whether a session goes on, without counting as a use of it: a
// page that is only left open does not keep somebody signed in.
func (s *sessions) alive(value string) bool { return s.look(value, false) != nil }

func (s *sessions) look(value string, use bool) *session {
	if value == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(value))
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held[hash]
	if held == nil {
		return nil
	}
	if held.over(now) {
		delete(s.held, hash)
		return nil
	}
	if use {
		held.last = now
	}
	found := *held
	return &found
}

func (s *sessions) end(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, sha256.Sum256([]byte(value)))
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

// setCookie sets a cookie that scripts cannot read and other sites cannot send. An
// empty value removes it; a zero age lasts as long as the browser runs.
func setCookie(w http.ResponseWriter, r *http.Request, name, value string, age time.Duration) {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: int(age / time.Second),
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

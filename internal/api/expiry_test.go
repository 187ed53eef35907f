package api

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine"
	"github.com/bellmanhq/bellman/internal/access"
)

// A stream of events has what is in the scope, and ends when the key expires.
func TestScopeOfEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := scopedKey("short", access.Read, "", "M1")
		short.Expires = time.Now().Add(time.Minute)
		m, ids := market(t, Options{Keys: []access.Key{short}})
		ctx, leave := context.WithTimeout(t.Context(), time.Hour)
		defer leave()
		r := httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil)
		r.Header.Set("Authorization", "Bearer short")
		w := httptest.NewRecorder()
		began := time.Now()
		done := make(chan time.Time)
		go func() {
			m.ServeHTTP(w, r)
			done <- time.Now()
		}()
		<-m.fake.waiting
		for key, id := range ids {
			task, err := m.fake.Task(t.Context(), id)
			if err != nil {
				t.Fatal(key, err)
			}
			m.fake.events[0] <- engine.Event{Task: task, Added: true}
		}
		ended := <-done
		if got := shownOf(w.Body.String(), ids); got != "orders-M1 pay-M1 told-M1" {
			t.Errorf("the stream shows %s; want the tasks of M1", got)
		}
		if after := ended.Sub(began); after < time.Minute || after > time.Minute+heartbeat {
			t.Errorf("the stream of a key that expires after a minute ends after %v", after)
		}
	})
}

// A key that has expired is answered 401, and one that comes from another address 403.
func TestExpiryAndAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := access.Key{Name: "k", Role: access.Read, SHA256: hash("k"), Expires: time.Now().Add(time.Hour), From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
		m := make1(t, Options{Keys: []access.Key{k}, Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
		ask := func(remote, forwarded string) (int, string) {
			r := httptest.NewRequest("GET", "/v1/tasks", nil)
			r.RemoteAddr = remote + ":4711"
			if forwarded != "" {
				r.Header.Set("X-Forwarded-For", forwarded)
			}
			r.Header.Set("Authorization", "Bearer k")
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		for _, tt := range []struct {
			remote, forwarded string
			status            int
			want              string
		}{
			{"10.1.2.3", "", 200, ""},
			{"[::ffff:10.1.2.3]", "", 200, ""},
			{"198.51.100.1", "", 403, "may not be used from the address 198.51.100.1"},
			{"192.0.2.1", "10.1.2.3", 200, ""},    // through a trusted proxy
			{"198.51.100.1", "10.1.2.3", 403, ""}, // somebody says so
		} {
			if status, text := ask(tt.remote, tt.forwarded); status != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("from %s for %q: %d %s; want %d %s", tt.remote, tt.forwarded, status, text, tt.status, tt.want)
			}
		}
		time.Sleep(time.Hour - time.Millisecond)
		if status, text := ask("10.1.2.3", ""); status != 200 {
			t.Errorf("just before the expiry: %d %s", status, text)
		}
		time.Sleep(time.Millisecond)
		if status, text := ask("10.1.2.3", ""); status != 401 || !strings.Contains(text, "this key has expired, at "+client.At(k.Expires).String()) {
			t.Errorf("after the expiry: %d %s", status, text)
		}
		if wait := m.guesses.Over(access.Network(netip.MustParseAddr("10.1.2.3"))); wait > 0 {
			t.Error("an expired key counts as a guess")
		}
	})
}

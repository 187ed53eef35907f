package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/order"
)

// Keys cannot be guessed without limit: after some unknown ones from an address not even the
// right one is let in from there, unless it was used from there before.
func TestGuessingKeysIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := 0
		m := make1(t, Options{
			Keys:    []access.Key{{Name: "usual", Role: access.Read, SHA256: hash("usual-key")}, {Name: "other", Role: access.Read, SHA256: hash("other-key")}},
			Refused: func() { refused++ },
		})
		ask := func(from, key string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, "/v1/queues", nil)
			r.RemoteAddr = from + ":4711"
			r.Header.Set("Authorization", "Bearer "+key)
			w := httptest.NewRecorder()
			m.ServeHTTP(w, r)
			return w
		}
		if got := ask("192.0.2.1", "usual-key").Code; got != http.StatusOK {
			t.Fatalf("a right key: %d", got)
		}
		for i := range maxGuesses {
			if got := ask("192.0.2.1", "wrong-key").Code; got != http.StatusUnauthorized {
				t.Fatalf("unknown key %d: %d; want 401", i+1, got)
			}
		}
		for _, tt := range []struct {
			from, key string
			want      int
		}{
			{"192.0.2.1", "wrong-key", http.StatusTooManyRequests},
			{"192.0.2.1", "other-key", http.StatusTooManyRequests},
			{"192.0.2.1", "usual-key", http.StatusOK},
			{"192.0.2.2", "other-key", http.StatusOK},
		} {
			got := ask(tt.from, tt.key)
			if got.Code != tt.want || (tt.want == http.StatusTooManyRequests) != (got.Header().Get("Retry-After") != "") {
				t.Errorf("%s from %s after %d unknown ones: %d, Retry-After %q; want %d", tt.key, tt.from, maxGuesses, got.Code, got.Header().Get("Retry-After"), tt.want)
			}
		}
		if refused != maxGuesses+2 || strings.Count(m.log.String(), "level=WARN") != maxGuesses || strings.Contains(m.log.String(), "-key") {
			t.Errorf("%d were counted, want %d; the log has %.300s", refused, maxGuesses+2, m.log.String())
		}
		time.Sleep(guessWindow)
		if got := ask("192.0.2.1", "other-key").Code; got != http.StatusOK {
			t.Errorf("after the window: %d; want 200", got)
		}
	})
}

// Settling while reading takes the right to settle, and no page of another site can do it.
func TestWhoSettlesByReading(t *testing.T) {
	o := withOrders()
	for _, role := range []access.Role{access.Submit, access.Read, access.Operate, access.Decide, access.Admin} {
		o.Keys = append(o.Keys, access.Key{Name: string(role), Role: role, SHA256: hash("key of " + string(role))})
	}
	m := make1(t, o)
	own := func(t *bellman.Task) { t.SetCreatedBy(string(access.Submit)) }
	m.place(t, "orders", "a", order.Standing{State: "PENDING"}, own)
	task := m.place(t, "orders", "b", order.Standing{State: "PENDING"}, own)
	get := func(role access.Role, settle, site string) int {
		r := httptest.NewRequest(http.MethodGet, "/v1/orders/"+task.MerchantNo+"/"+task.OrderNo+settle, nil)
		r.Header.Set("Authorization", "Bearer key of "+string(role))
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		w := httptest.NewRecorder()
		m.ServeHTTP(w, r)
		return w.Code
	}
	for role, want := range map[access.Role]int{access.Submit: 200, access.Read: 403, access.Operate: 200, access.Decide: 200, access.Admin: 200} {
		if plain, settled := get(role, "", "cross-site"), get(role, "?settle=1ms", ""); plain != 200 || settled != want {
			t.Errorf("role %s: %d, with settle %d; want 200 and %d", role, plain, settled, want)
		}
	}
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200} {
		if got := get(access.Operate, "?settle=1ms", site); got != want {
			t.Errorf("settle of a page that is %s: %d; want %d", site, got, want)
		}
	}
}

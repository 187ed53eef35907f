package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/store/memory"
)

// Sign-ins behind a proxy count for the address of the visitor, and the cookies are for encrypted
// connections alone.
func TestSignInBehindAProxy(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Keys: testKeys, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	page := s.do(t, http.MethodGet, "/signin", nil, "X-Forwarded-Proto: https")
	token := tokenOf.FindStringSubmatch(page.body)[1]
	if hsts := page.Header.Get("Strict-Transport-Security"); hsts == "" || s.get(t, "/signin").Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("Strict-Transport-Security %q over TLS; want one there, and none in the clear", hsts)
	}
	visit := ""
	for _, c := range page.Cookies() {
		visit += c.Name + "=" + c.Value
	}
	try := func(from, key string) *reply {
		return s.do(t, http.MethodPost, "/signin", url.Values{"token": {token}, "name": {"ops"}, "key": {key}}, "X-Forwarded-For: "+from, "X-Forwarded-Proto: https", "Cookie: "+visit)
	}
	for range maxAttempts + 1 {
		try("198.51.100.1", "wrong")
	}
	if got := try("198.51.100.1", "ops-key"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("an address that tried too often: %d; want 429", got.StatusCode)
	}
	got := try("198.51.100.2", "ops-key")
	if got.StatusCode != http.StatusSeeOther {
		t.Fatalf("another address behind the same proxy: %d; want it let in", got.StatusCode)
	}
	for _, c := range got.Cookies() {
		if !c.Secure || !strings.HasPrefix(c.Name, "__Host-") || c.Path != "/" || c.Domain != "" {
			t.Errorf("the cookie %s is sent in the clear too, or another host may set it: %+v", c.Name, c)
		}
	}
}

// Behind a proxy that nobody named, all are one address. When that locks them out, the log says
// why, once.
func TestAProxyThatNobodyNamed(t *testing.T) {
	s := openWith(t, &fake{Store: memory.New()}, Options{Keys: testKeys})
	page := s.get(t, "/signin")
	token := tokenOf.FindStringSubmatch(page.body)[1]
	visit := ""
	for _, c := range page.Cookies() {
		visit += c.Name + "=" + c.Value
	}
	try := func(headers ...string) *reply {
		return s.do(t, http.MethodPost, "/signin", url.Values{"token": {token}, "name": {"ops"}, "key": {"wrong"}}, append(headers, "Cookie: "+visit)...)
	}
	const hint = "name it in trusted_proxies"
	for range maxAttempts {
		try("X-Forwarded-For: 198.51.100.1")
	}
	if strings.Contains(s.log.String(), hint) {
		t.Error("the log speaks of a proxy before anybody was slowed down")
	}
	for range 3 {
		if got := try("X-Forwarded-For: 198.51.100.2"); got.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("another address behind the proxy: %d; want 429, for they count as one", got.StatusCode)
		}
	}
	if n := strings.Count(s.log.String(), hint); n != 1 {
		t.Errorf("the log says %d times that a proxy is not named; want once:\n%s", n, s.log)
	}
}

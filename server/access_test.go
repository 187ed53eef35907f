package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// Sign-ins, sign-outs, exports, links that are opened, refusals and changes of the keys have audit
// records. Of many refusals of one kind few have.
func TestAccessIsRecorded(t *testing.T) {
	var started *config.Config
	key := func(name, role string) access.Key {
		return access.Key{Name: name, Role: access.Role(role), SHA256: sha256.Sum256([]byte(name + "-key"))}
	}
	_, s, stop := serve(t, t.TempDir(), func(c *config.Config) {
		c.Keys = []access.Key{key("root", "admin"), key("eye", "read")}
		started = c
	})
	defer stop()
	base := "http://" + s.Addr()
	call := func(bearer, method, path, body string) (int, string) {
		t.Helper()
		if bearer == "" {
			return exchange(t, s, method, path, body)
		}
		return exchange(t, s, method, path, body, "Authorization", "Bearer "+bearer)
	}
	for range 10 {
		call("a guess", "GET", "/v1/tasks", "")
		if status, _ := call("eye-key", "POST", "/v1/backup", `{"dir":"/nowhere"}`); status != 403 {
			t.Fatalf("a backup by role read: %d", status)
		}
	}
	call("root-key", "GET", "/v1/merchant-export", "")
	_, text := call("root-key", "POST", "/v1/links", `{"merchant_no":"M1","reason":"asked"}`)
	var link client.Link
	if err := json.Unmarshal([]byte(text), &link); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if status, text := call("", "GET", link.Path, ""); status != 200 {
			t.Fatalf("%s: %d %s", link.Path, status, text)
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page := func(answer *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	form := func(in, path string, values url.Values) string {
		t.Helper()
		values.Set("token", regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(in)[1])
		return page(browser.PostForm(base+path, values))
	}
	wrong := form(page(browser.Get(base+"/signin")), "/signin", url.Values{"name": {"the pasted secret"}, "key": {"x"}})
	home := form(wrong, "/signin", url.Values{"name": {"root"}, "key": {"root-key"}})
	page(browser.Get(base + "/tasks.csv?queue=default"))
	page(browser.Get(base + "/merchants/export"))
	form(home, "/signout", url.Values{})
	next := *started
	next.Keys = []access.Key{key("root", "admin"), {Name: "eye", Role: "operate", SHA256: started.Keys[1].SHA256}, key("new", "submit")}
	if err := s.Reload(&next); err != nil {
		t.Fatal(err)
	}

	_, text = call("root-key", "GET", "/v1/audit?limit=200", "")
	var records client.AuditPage
	if err := json.Unmarshal([]byte(text), &records); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, a := range records.Audits {
		if a.From != "127.0.0.1" && a.Action != "keys" {
			t.Errorf("%s %s is from %q; want 127.0.0.1", a.Action, a.Target, a.From)
		}
		got[a.Who+" "+a.Action+" "+a.Target]++
		if a.Action == "keys" {
			if changes := fmt.Sprint(a.Changes); len(a.Changes) != 2 || !strings.Contains(changes, "{eye read ") || !strings.Contains(changes, " operate ") || !strings.Contains(changes, "{new  submit ") {
				t.Errorf("what changed of the keys: %s; want eye's role, and new", changes)
			}
		}
	}
	for _, want := range []string{
		" refused GET /v1/tasks", "eye refused POST /v1/backup", "root export merchants", "root export tasks?queue=default",
		" open link/" + link.ID, "root sign_in console", "root sign_out console", " keys keys",
	} {
		if n := got[want]; n != 1 && !(want == "root export merchants" && n == 2) {
			t.Errorf("%d records of %q; want 1", n, want)
		}
	}
	if strings.Contains(text, "pasted secret") {
		t.Error("what somebody typed as a name, which is no key's, is in the audit record")
	}
}

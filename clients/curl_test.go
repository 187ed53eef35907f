package clients_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The curl commands of docs/clients.md run one after the other in one shell. They call every
// operation of the document, and each is answered with success.
func TestCurl(t *testing.T) {
	for _, program := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s: apt-get install %[1]s", program)
		}
	}
	t.Setenv("MASTER", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	w := newWorld(t)
	to, err := url.Parse(w.server)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var done []string // METHOD PATH of what succeeded
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		mu.Lock()
		defer mu.Unlock()
		if r.StatusCode < 300 {
			done = append(done, r.Request.Method+" "+r.Request.URL.EscapedPath())
		} else {
			t.Errorf("%s %s is answered %s", r.Request.Method, r.Request.URL, r.Status)
		}
		return nil
	}
	between := httptest.NewServer(proxy)
	defer between.Close()

	page, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu\n"
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], "b $BELLMAN") || strings.Contains(block[1], "export BELLMAN=") {
			script += block[1]
		}
	}
	quoted := regexp.MustCompile(`'[^']*'|"[^"]*"|#.*`)
	for line := range strings.Lines(script) {
		if strings.ContainsAny(quoted.ReplaceAllString(line, ""), "?*[") {
			t.Errorf("zsh takes a part of this line for the pattern of a file name: %s", line)
		}
	}
	merchant := strings.TrimSuffix(w.merchant, "/notify")
	script = strings.NewReplacer("http://127.0.0.1:2355", between.URL, "BELLMAN_KEY=KEY", "BELLMAN_KEY="+adminKey,
		"https://merchant.example", merchant, "merchant.example", strings.TrimPrefix(merchant, "http://"),
		"/var/backups", filepath.Join(t.TempDir()), "--max-time 1 ", "--max-time 10 ").Replace(script) // a slow machine begins a stream later
	run(t, ".", "sh", "-c", script)

	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	// What curl alone cannot do: sign as a channel, and have a channel with bills.
	without := []string{"POST /v1/orders/{merchant_no}/{order_no}/notice", "POST /v1/reconciliations"}
	for path, item := range doc.Paths {
		if strings.HasPrefix(path, "/v1/queues/{queue}/keys/{key}/") {
			continue // what is done by id is done by key
		}
		for method := range item {
			if slices.Contains(without, strings.ToUpper(method)+" "+path) {
				continue
			}
			want := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "[^/]+")
			if rest, is := strings.CutPrefix(path, "/v1/tasks/{id}"); is {
				want = "(" + want + "|/v1/queues/[^/]+/keys/[^/]+" + rest + ")"
			}
			asked := regexp.MustCompile("(?m)^" + strings.ToUpper(method) + " " + want + "$")
			if !asked.MatchString(strings.Join(done, "\n")) {
				t.Errorf("docs/clients.md does not show %s %s", strings.ToUpper(method), path)
			}
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// An import reports the wrong lines by their numbers in the file, with the reasons, and accepts the
// others. Some lines are not JSON, some are rejected by the server, and some are on the second
// page.
func TestMerchantsImport(t *testing.T) {
	t.Parallel()
	p := serveStore(t, t.TempDir())
	defer p.stop()
	var lines []string
	good := func(n int) {
		for range n {
			lines = append(lines, fmt.Sprintf(`{"merchant_no":"M%d","notify_url":"https://m.example/n"}`, len(lines)+1))
		}
	}
	wrong := map[int]string{}
	bad := func(line, says string) {
		lines = append(lines, line)
		wrong[len(lines)] = says
	}
	good(1)
	lines = append(lines, "", "  ")
	bad(`{"merchant_no":`, "unexpected EOF")
	bad(`{"notify_url":"https://m.example/n"}`, "merchant_no: is required")
	bad(`{"merchant_no":"M6","notfy_url":"https://m.example/n"}`, `unknown field "notfy_url"`)
	bad(`{"merchant_no":"M7"} {"merchant_no":"M8"}`, "one merchant a line")
	bad(`{"merchant_no":"M8","notify_url":"ftp://m.example/n"}`, "notify_url: ")
	good(1)
	bad(`{"merchant_no":"M1","name":"the same again"}`, `"M1" stands in line 1 already`)
	bad(`{"merchant_no":"M11","per_endpoint":{"concurrency":-1},"sign":{"scheme":"md5"}}`, "per_endpoint.concurrency: want 1 to 100000")
	bad(`{"merchant_no":"M12","name":["a"]}`, "name: has a list: want text in quotes")
	bad(`{"merchant_no":"M13","sign":{"scheme":"md5"}}`, "sign.scheme: want one of standard_webhooks")
	good(600)
	bad(`{"merchant_no":"M2000","name":"`+strings.Repeat("a", 101)+`"}`, "name: is longer than 100 characters")
	bad(`{"merchant_no":"M-last","schedule":"now and then"}`, "schedule: ")
	file := filepath.Join(t.TempDir(), "merchants.ndjson")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(r result) {
		t.Helper()
		if r.status != 1 || !strings.Contains(r.errors, fmt.Sprintf("%d lines are wrong", len(wrong))) {
			t.Errorf("status %d, %s; want a failure with %d wrong lines", r.status, r.errors, len(wrong))
		}
		told := map[int]string{}
		for line := range strings.SplitSeq(r.errors, "\n") {
			var n int
			if _, err := fmt.Sscanf(line, "line %d:", &n); err == nil {
				told[n] = line
			}
		}
		for n, says := range wrong {
			if !strings.Contains(told[n], says) {
				t.Errorf("line %d is reported as %q; want %q in it", n, told[n], says)
			}
			delete(told, n)
		}
		for n, line := range told {
			t.Errorf("line %d is reported as wrong: %q; want it accepted", n, line)
		}
	}
	const sums = "613 602 0 0 11"
	r := run(t, "merchants", "import", "--dry-run", file, "--server", p.url)
	check(r)
	if fields := strings.Fields(r.out); len(fields) < 5 || strings.Join(fields[len(fields)-5:], " ") != sums {
		t.Errorf("a dry run printed\n%s\nwant %s", r.out, sums)
	}
	if out := must(t, "merchants", "list", "--server", p.url); strings.Contains(out, "M1") {
		t.Errorf("a dry run registered\n%s\nwant no merchant", out)
	}
	r = run(t, "merchants", "import", file, "--server", p.url)
	check(r)
	if fields := strings.Fields(r.out); len(fields) < 5 || strings.Join(fields[len(fields)-5:], " ") != sums {
		t.Errorf("the import printed\n%s\nwant 613 lines: 602 created, 0 changed, 0 unchanged, 11 wrong", r.out)
	}
	if out := must(t, "merchants", "get", "M1", "--server", p.url); strings.Contains(out, "the same again") {
		t.Errorf("merchants after the import:\n%s\nwant M1 as in its last line", out)
	}
}

// A generated secret is printed if it may have been stored: otherwise nobody would know the secret
// that signs. It is not printed if it was refused.
func TestGeneratedSecretIsShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status, exit int
		shown        bool
	}{{http.StatusOK, 0, true}, {http.StatusServiceUnavailable, 1, true}, {http.StatusUnprocessableEntity, 1, false}} {
		stored := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct{ Secret string }
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Errorf("read the secret: %v", err)
			}
			stored = in.Secret
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(tt.status)
			fmt.Fprintf(w, `{"status": %d, "title": "%s"}`, tt.status, http.StatusText(tt.status))
		}))
		r := run(t, "merchants", "rotate", "M1", "--generate", "--server", server.URL)
		server.Close()
		if shown := strings.Contains(r.errors, stored); r.status != tt.exit || stored == "" || shown != tt.shown {
			t.Errorf("answered %d: status %d, %s; want status %d, and the secret shown: %t", tt.status, r.status, r.errors, tt.exit, tt.shown)
		}
	}
}

// A flag of a signature that the merchant does not have is refused. Without that the command would
// say that it has put the merchant, and nothing would be signed as asked.
func TestFlagsOfNoSignature(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s: want the merchant to be read, and not changed", r.Method)
		}
		fmt.Fprint(w, `{"merchant_no": "M1", "notify_url": "https://m.example/n", "version": "1"}`)
	}))
	defer server.Close()
	for _, flag := range []string{"--serial", "--params", "--header"} {
		r := run(t, "merchants", "put", "M1", flag, "order=given", "--server", server.URL)
		if want := flag + " needs --scheme"; r.status != 2 || !strings.Contains(r.errors, want) {
			t.Errorf("status %d, %s; want 2 and %q", r.status, r.errors, want)
		}
	}
}

// The scheme that the merchant has already, given again, leaves the other settings of the signature
// as they are. Another scheme begins without them.
func TestPutSameScheme(t *testing.T) {
	t.Parallel()
	puts := make(chan client.PutMerchant, 4) // one for each command
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			var in client.PutMerchant
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				t.Errorf("read what is put: %v", err)
			}
			puts <- in
		}
		fmt.Fprint(w, `{"merchant_no": "M1", "version": "1", "sign": {"scheme": "md5_key", "params": "order=given case=lower", "secrets": ["***abcd"]}}`)
	}))
	defer server.Close()
	for _, tt := range []struct{ scheme, params, want string }{
		{"md5_key", "", "order=given case=lower"},
		{"md5_key", "--params=order=sorted", "order=sorted"},
		{"md5_key", "--params=", ""},
		{"rsa2", "", ""},
	} {
		args := []string{"merchants", "put", "M1", "--scheme", tt.scheme, "--server", server.URL}
		if tt.params != "" {
			args = append(args, tt.params)
		}
		must(t, args...)
		var put client.PutMerchant
		select {
		case put = <-puts:
		default: // nothing was put
		}
		if s := put.Sign; s == nil || s.Scheme != tt.scheme || s.Params != tt.want || s.Secrets != nil {
			t.Errorf("put --scheme %s %s puts %+v; want the params %q and no secrets", tt.scheme, tt.params, s, tt.want)
		}
	}
}

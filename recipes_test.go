package bellman_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

var update = flag.Bool("update", false, "write the examples' code into docs/recipes.md")

// fenced finds the code blocks of a page, each with its language.
var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// The Go code in docs/recipes.md is that of the examples, character for character, and no example
// is missing. -update writes it.
func TestRecipesAreTheExamples(t *testing.T) {
	files, err := filepath.Glob("engine/recipe_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := make(map[string]string) // declarations by name
	for _, file := range append(files, "engine/recipe_test.go", "examples_test.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(code, declared(t, file, text))
	}
	page, err := os.ReadFile("docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	page = fenced.ReplaceAllFunc(page, func(block []byte) []byte {
		m := fenced.FindSubmatch(block)
		if string(m[1]) != "go" {
			return block
		}
		for name, got := range declared(t, "docs/recipes.md", append([]byte("package p\n\n"), m[2]...)) {
			shown[name] = true
			switch want := code[name]; {
			case want == "":
				t.Errorf("docs/recipes.md declares %s, which is not in any example", name)
			case got != want && *update:
				block = bytes.Replace(block, []byte(got), []byte(want), 1)
			case got != want:
				t.Errorf("docs/recipes.md has a different %s than the examples: go test -run TestRecipes . -update\ngot:\n%s\nwant:\n%s", name, got, want)
			}
		}
		return block
	})
	for name := range code {
		if strings.HasPrefix(name, "Example") && !shown[name] {
			t.Errorf("docs/recipes.md does not show %s", name)
		}
	}
	if *update {
		if err := os.WriteFile("docs/recipes.md", page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// declared returns the functions and types of a Go file by name, as written. The comments of
// examples are left out, because the page has its own words.
func declared(t *testing.T, name string, text []byte) map[string]string {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := make(map[string]string)
	for _, d := range f.Decls {
		begin := d.Pos()
		if f, ok := d.(*ast.FuncDecl); ok {
			if f.Doc != nil && !strings.HasPrefix(f.Name.Name, "Example") {
				begin = f.Doc.Pos()
			}
			all[f.Name.Name] = string(text[files.Position(begin).Offset:files.Position(d.End()).Offset])
			continue
		}
		g := d.(*ast.GenDecl)
		if g.Tok != token.TYPE {
			continue
		}
		if g.Doc != nil {
			begin = g.Doc.Pos()
		}
		all[g.Specs[0].(*ast.TypeSpec).Name.Name] = string(text[files.Position(begin).Offset:files.Position(d.End()).Offset])
	}
	return all
}

// A server accepts the configuration in docs/recipes.md, and answers its requests with success, one
// after the other.
func TestRecipesOverHTTP(t *testing.T) {
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/wechat/") {
			io.WriteString(w, `{"trade_state":"NOTPAY"}`)
			return
		}
		io.WriteString(w, "success")
	}))
	defer outside.Close()
	text, err := os.ReadFile("docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`https?://(platform\.internal|gateway\.internal|merchant\.example)\b`).ReplaceAllString(string(text), outside.URL)
	blocks := fenced.FindAllStringSubmatch(page, -1)
	var c *config.Config
	for _, b := range blocks {
		if b[1] == "yaml" {
			if c, err = config.Parse([]byte(b[2])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if c == nil {
		t.Fatal("docs/recipes.md has no configuration")
	}
	c.Listen, c.Store = "127.0.0.1:0", "pebble:"+filepath.Join(t.TempDir(), "store")
	c.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	s, err := server.Open(server.Options{Config: c, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	}()
	requests := 0
	for _, b := range blocks {
		if b[1] != "sh" || strings.Contains(b[2], "bellman serve") {
			continue
		}
		for _, words := range commands(b[2]) {
			requests++
			if status, answer := curl(t, s.Addr(), words); status >= 300 {
				t.Errorf("%s\ngot the answer %d: %s", strings.Join(words, " "), status, answer)
			}
		}
	}
	if requests < 10 {
		t.Errorf("docs/recipes.md has %d requests; want at least one for each recipe", requests)
	}
}

// commands splits shell text into commands and words. It knows only single quotes.
func commands(text string) (all [][]string) {
	var words []string
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		for j, line := range strings.Split(part, "\n") {
			if j > 0 && len(words) > 0 {
				all, words = append(all, words), nil
			}
			words = append(words, strings.Fields(line)...)
		}
	}
	return all
}

// curl does what a curl command of docs/recipes.md does, at another address.
func curl(t *testing.T, addr string, words []string) (status int, answer string) {
	t.Helper()
	if words[0] != "curl" {
		t.Fatalf("%q: want curl", words)
	}
	method, url, header, body := "", "", http.Header{}, ""
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-s":
		case "-X":
			i++
			method = words[i]
		case "-d":
			i++
			body = words[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		default:
			url = words[i]
		}
	}
	path, ok := strings.CutPrefix(url, "http://127.0.0.1:2355")
	if !ok {
		t.Fatalf("%q: want a request to http://127.0.0.1:2355", words)
	}
	if method == "" {
		method = http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://%s%s", addr, path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Minute}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

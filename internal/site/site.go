// Command site makes the documents of the repository a static site: a page for each Markdown file,
// in English and Chinese, with a list of pages, a search in the browser, and no request to any
// other host.
//
//	go run ./internal/site OUT
package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:embed static page.html
var files embed.FS

var layout = template.Must(template.ParseFS(files, "page.html"))

// patterns are the pages, in the order in which they are listed.
var patterns = []string{"README*.md", "docs/tutorial.md", "docs/orders.md", "docs/refunds.md", "docs/guide.md", "docs/*.md", "docs/reference/README.md", "docs/reference/*.md", "docs/zh/tutorial.md", "docs/zh/orders.md", "docs/zh/refunds.md",
	"docs/zh/guide.md", "docs/zh/*.md", "docs/zh/reference/README.md", "docs/zh/reference/*.md", "examples/*/README.md", "clients/*/README.md", "DESIGN.md", "engine/DESIGN.md", "store/DESIGN.md", "order/DESIGN.md", "deliver/DESIGN.md",
	"docs/decisions/README.md", "docs/decisions/*.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}

// A page is one Markdown file.
type page struct {
	Source  string // its path in the repository
	Path    string // of its HTML in the site
	Title   string
	Chinese bool
	doc     ast.Node
	text    []byte
}

// A link of a page to another, as the layout has it.
type link struct {
	Title, Path string
	Here        bool
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: site OUT")
	}
	if err := build(".", os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// build writes the site of the repository at root to out, which need not exist.
func build(root, out string) error {
	s := &site{root: root, out: out, byPath: make(map[string]*page), copied: make(map[string]bool),
		markdown: goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
	if err := s.read(); err != nil {
		return err
	}
	for _, p := range s.pages {
		if err := s.write(p); err != nil {
			return fmt.Errorf("%s: %w", p.Source, err)
		}
	}
	for _, chinese := range []bool{false, true} {
		if err := s.index(chinese); err != nil {
			return err
		}
	}
	static, err := fs.Sub(files, "static")
	if err != nil {
		return err
	}
	return s.copyAll(static)
}

type site struct {
	root, out string
	markdown  goldmark.Markdown
	pages     []*page
	byPath    map[string]*page // by Source
	copied    map[string]bool
}

func (s *site) read() error {
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(s.root, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			source, err := filepath.Rel(s.root, name)
			if err != nil {
				return err
			}
			if source = filepath.ToSlash(source); s.byPath[source] != nil {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			p := &page{Source: source, Path: htmlOf(source), Chinese: strings.HasPrefix(source, "docs/zh/") || strings.HasSuffix(source, ".zh-CN.md"), text: b}
			p.doc = s.markdown.Parser().Parse(text.NewReader(b), parser.WithContext(parser.NewContext(parser.WithIDs(ids{}))))
			p.Title = titleOf(p)
			s.pages, s.byPath[source] = append(s.pages, p), p
		}
	}
	return nil
}

// htmlOf is where a page stands in the site.
func htmlOf(source string) string {
	switch source {
	case "README.md":
		return "index.html"
	case "README.zh-CN.md":
		return "zh.html"
	}
	return strings.TrimSuffix(source, ".md") + ".html"
}

func titleOf(p *page) string {
	if h, ok := p.doc.FirstChild().(*ast.Heading); ok {
		return plain(h, p.text)
	}
	return p.Source
}

// plain is the text of a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if lines := n.Lines(); entering {
				b.Write(lines.Value(source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// ids names headings as code hosts do: letters of any script, digits, and hyphens for blanks.
type ids struct{}

func (ids) Generate(value []byte, _ ast.NodeKind) []byte {
	return []byte(strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value))))
}

func (ids) Put([]byte) {}

// write renders a page.
func (s *site) write(p *page) error {
	if err := s.relink(p); err != nil {
		return err
	}
	var body bytes.Buffer
	if err := s.markdown.Renderer().Render(&body, p.text, p.doc); err != nil {
		return err
	}
	up := strings.Repeat("../", strings.Count(p.Path, "/"))
	var html bytes.Buffer
	err := layout.Execute(&html, map[string]any{
		"Page": p, "Up": up, "Body": template.HTML(body.String()), "Pages": s.list(p, up), "Twin": s.twin(p, up),
		"Index": map[bool]string{false: "search-en.js", true: "search-zh.js"}[p.Chinese],
	})
	if err != nil {
		return err
	}
	return s.put(p.Path, html.Bytes())
}

// list is the list of pages beside one.
func (s *site) list(here *page, up string) (all []link) {
	for _, p := range s.pages {
		inside := strings.HasPrefix(p.Source, "docs/decisions/") && path.Base(p.Source) != "README.md"
		if p.Chinese == here.Chinese && !inside {
			all = append(all, link{p.Title, up + p.Path, p == here})
		}
	}
	return all
}

// twin is the same page in the other language, or that language's first page.
func (s *site) twin(p *page, up string) link {
	other, first, title := "", "README.zh-CN.md", "中文"
	if rest, found := strings.CutPrefix(p.Source, "docs/"); p.Chinese {
		other, first, title = "docs/"+strings.TrimPrefix(rest, "zh/"), "README.md", "English"
	} else if found {
		other = "docs/zh/" + rest
	}
	to := cmp.Or(s.byPath[other], s.byPath[first])
	return link{Title: title, Path: up + to.Path}
}

// relink makes links to pages those of the site, and copies the files that a page shows or links. A
// folder that has no page is no link.
func (s *site) relink(p *page) error {
	var gone []*ast.Link
	err := ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var to *[]byte
		switch n := n.(type) {
		case *ast.Link:
			to = &n.Destination
		case *ast.Image:
			to = &n.Destination
		default:
			return ast.WalkContinue, nil
		}
		u, err := url.Parse(string(*to))
		if err != nil || u.Scheme != "" || u.Path == "" {
			return ast.WalkContinue, err
		}
		target := path.Join(path.Dir(p.Source), u.Path)
		up := strings.Repeat("../", strings.Count(p.Path, "/"))
		other := cmp.Or(s.byPath[target], s.byPath[path.Join(target, "README.md")])
		info, err := os.Stat(filepath.Join(s.root, target))
		switch {
		case other != nil:
			u.Path = up + other.Path
		case err != nil:
			return ast.WalkStop, err
		case info.IsDir():
			if l, ok := n.(*ast.Link); ok {
				gone = append(gone, l)
			}
			return ast.WalkContinue, nil
		default:
			u.Path = up + target
			if err := s.copy(target); err != nil {
				return ast.WalkStop, err
			}
		}
		*to = []byte(u.String())
		return ast.WalkContinue, nil
	})
	for _, l := range gone {
		parent := l.Parent()
		for c := l.FirstChild(); c != nil; c = l.FirstChild() {
			parent.InsertBefore(parent, l, c)
		}
		parent.RemoveChild(parent, l)
	}
	return err
}

// copy copies a file of the repository; what is no picture as text, so that a browser shows it.
func (s *site) copy(name string) error {
	if s.copied[name] {
		return nil
	}
	s.copied[name] = true
	b, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return err
	}
	return s.put(name, b)
}

func (s *site) put(name string, b []byte) error {
	to := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

func (s *site) copyAll(from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return s.put(name, b)
	})
}

// index writes what the search looks through: the sections of all pages of a language.
func (s *site) index(chinese bool) error {
	type section struct {
		Page  string `json:"page"`
		Title string `json:"title"`
		Path  string `json:"path"`
		Text  string `json:"text"`
	}
	all := []section{}
	for _, p := range s.pages {
		if p.Chinese != chinese {
			continue
		}
		now := section{Page: p.Title, Title: p.Title, Path: p.Path}
		for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
			if h, ok := n.(*ast.Heading); ok && h.Level <= 3 {
				all = append(all, now)
				id, _ := h.AttributeString("id")
				name, _ := id.([]byte)
				now = section{Page: p.Title, Title: plain(h, p.text), Path: p.Path + "#" + string(util.URLEscape(name, false))}
			}
			now.Text += " " + plain(n, p.text)
		}
		all = append(all, now)
	}
	all = slices.DeleteFunc(all, func(x section) bool { return strings.TrimSpace(x.Text) == "" })
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	name := map[bool]string{false: "search-en.js", true: "search-zh.js"}[chinese]
	return s.put(name, fmt.Appendf(nil, "const sections = %s;\n", b))
}

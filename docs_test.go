package bellman_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var (
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linked     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// pages returns the documentation pages, each with its text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, pattern := range []string{"README*.md", "docs/*.md", "docs/*/*.md", "docs/zh/*/*.md", "examples/*/README*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			all[filepath.ToSlash(file)] = read(t, file)
		}
	}
	if len(all) < 10 {
		t.Fatalf("there are %d pages; want the README and those of docs", len(all))
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every link of a page leads to an existing file and heading.
func TestLinksOfPages(t *testing.T) {
	checked := 0
	for page, text := range pages(t) {
		prose := inlineCode.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
		for _, m := range linked.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := page
			if file != "" {
				to = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.FromSlash(to)); err != nil {
				t.Errorf("%s links %s, but there is no %s", page, m[1], to)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, filepath.FromSlash(to))), anchor) {
				t.Errorf("%s links %s, but %s has no such heading", page, m[1], to)
			}
			checked++
		}
	}
	if checked < 500 {
		t.Errorf("%d links were checked; want at least 500", checked)
	}
}

// The pages that are read first stay short.
func TestFirstPagesAreShort(t *testing.T) {
	for page, most := range map[string]int{"README.md": 9 << 10, "README.zh-CN.md": 9 << 10, "DESIGN.md": 12 << 10} {
		if n := len(read(t, page)); n > most {
			t.Errorf("%s has %d bytes; want at most %d", page, n, most)
		}
	}
}

// anchors returns the names by which the headings of a page can be linked.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(m[1])))
	}
	return names
}

// Every page exists in both languages, and each links the other one at its top.
func TestPagesInBothLanguages(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		other, link := "", ""
		switch dir, name := path.Split(page); {
		case page == "README.md":
			other, link = "README.zh-CN.md", "[中文](README.zh-CN.md)"
		case page == "README.zh-CN.md":
			other, link = "README.md", "[English](README.md)"
		case dir == "docs/":
			other, link = "docs/zh/"+name, "[中文](zh/"+name+")"
		case dir == "docs/zh/":
			other, link = "docs/"+name, "[English](../"+name+")"
		default:
			continue
		}
		if _, there := all[other]; !there {
			t.Errorf("%s exists, but %s does not", page, other)
		}
		top := strings.SplitN(text, "\n", 4)
		if len(top) < 4 || top[2] != link {
			t.Errorf("the third line of %s is %q; want %s", page, top[min(2, len(top)-1)], link)
		}
	}
}

// The Chinese page of traps names the same tests, row by row.
func TestTrapsInChinese(t *testing.T) {
	named := func(page string) []string {
		rows := regexp.MustCompile("(?m)^\\|.* \\| (`[^|]*|"+notYet+".*) \\|$").FindAllStringSubmatch(read(t, page), -1)
		var last []string
		for _, row := range rows {
			last = append(last, strings.Join(inlineCode.FindAllString(row[1], -1), " "))
		}
		return last
	}
	english, chinese := named("docs/traps.md"), named("docs/zh/traps.md")
	if len(english) < 40 {
		t.Fatalf("docs/traps.md has %d rows; want at least 40", len(english))
	}
	for i, row := range english {
		if i >= len(chinese) || chinese[i] != row {
			t.Fatalf("row %d of docs/zh/traps.md does not name %s, as docs/traps.md does", i+1, row)
		}
	}
	if len(chinese) > len(english) {
		t.Errorf("docs/zh/traps.md has %d rows, and docs/traps.md %d; want the same", len(chinese), len(english))
	}
}

// Texts that the Chinese pages quote as 「…」 are texts of the console.
func TestWordsOfTheConsole(t *testing.T) {
	words := make(map[string]string)
	if err := json.Unmarshal([]byte(read(t, "internal/console/words/zh.json")), &words); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, word := range words {
		shown[strings.TrimRight(word, "：")] = true
	}
	quoted := regexp.MustCompile(`「([^」]*)」`)
	n := 0
	for page, text := range pages(t) {
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			n++
			if m[1] != "" && m[1] != "…" && !shown[m[1]] {
				t.Errorf("%s quotes %s, which the console does not show", page, m[0])
			}
		}
	}
	if n < 20 {
		t.Errorf("the pages quote %d words of the console; want those of docs/zh/operations.md", n)
	}
}

// Texts in italics that begin with a capital letter, on the English pages about the console, are
// texts of the console.
func TestEnglishWordsOfTheConsole(t *testing.T) {
	words := make(map[string]string)
	if err := json.Unmarshal([]byte(read(t, "internal/console/words/en.json")), &words); err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for _, word := range words {
		shown[word] = true
		name, _, _ := strings.Cut(word, " (") // Export as CSV (up to …)
		shown[name] = true
	}
	quoted := regexp.MustCompile(`(?:^|[^*])\*([A-Z][^*]*)\*(?:[^*]|$)`)
	n := 0
	for _, page := range []string{"docs/console.md", "docs/notices.md", "docs/operations.md", "docs/reconcile.md", "docs/refunds.md"} {
		for _, m := range quoted.FindAllStringSubmatch(read(t, page), -1) {
			n++
			if label := strings.Join(strings.Fields(m[1]), " "); !shown[label] {
				t.Errorf("%s quotes %q, which the console does not show", page, label)
			}
		}
	}
	if n < 40 {
		t.Errorf("the pages quote %d words of the console; want those of docs/operations.md", n)
	}
}

// The pages explain every message that the code logs as an error or a warning.
func TestLogMessagesAreExplained(t *testing.T) {
	messages := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		constants := make(map[string]ast.Expr) // of this file: a message may be one
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, name := range spec.Names {
					constants[name.Name] = spec.Values[i]
				}
			}
			return true
		})
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !logs(call.Fun) || len(call.Args) == 0 {
				return true
			}
			message := call.Args[0]
			if name, ok := message.(*ast.Ident); ok {
				message = constants[name.Name]
			}
			if literal, ok := message.(*ast.BasicLit); ok {
				text, err := strconv.Unquote(literal.Value)
				messages[text] = err == nil
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(messages) < 120 {
		t.Errorf("the code logs %d messages", len(messages))
	}
	for _, page := range []string{"docs/monitoring.md", "docs/zh/monitoring.md"} {
		explained := read(t, page)
		for _, message := range slices.Sorted(maps.Keys(messages)) {
			if !strings.Contains(explained, "`"+message+"`") {
				t.Errorf("%s does not explain the log message %q", page, message)
			}
		}
	}
}

// logs reports whether a function is the method Warn or Error of something called log.
func logs(function ast.Expr) bool {
	method, ok := function.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Warn" && method.Sel.Name != "Error" {
		return false
	}
	name, ok := method.X.(*ast.Ident)
	if of, is := method.X.(*ast.SelectorExpr); is {
		name, ok = of.Sel, true
	}
	return ok && strings.EqualFold(name.Name, "log")
}

// Every log message, metric and command that the pages for operators name exists.
func TestOperationsNamesWhatExists(t *testing.T) {
	var code bytes.Buffer
	commands := map[string]bool{"help": true, "completion": true} // cobra adds these
	use := regexp.MustCompile(`Use:\s+"([a-z-]+)`)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text := read(t, file)
		code.WriteString(text)
		if filepath.Dir(file) == filepath.Join("cmd", "bellman") {
			for _, m := range use.FindAllStringSubmatch(text, -1) {
				commands[m[1]] = true
			}
			for _, m := range regexp.MustCompile(`stopCommand\("([a-z]+)"`).FindAllStringSubmatch(text, -1) {
				commands[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := code.String()
	var logged []string
	for _, page := range []string{"docs/operations.md", "docs/zh/operations.md", "docs/monitoring.md", "docs/zh/monitoring.md"} {
		text := read(t, page)
		for _, m := range regexp.MustCompile(`\bbellman_[a-z_]+`).FindAllString(text, -1) {
			name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(m, "bellman_"), "store_"), "_bucket")
			if !strings.Contains(all, `"`+name+`"`) && !strings.Contains(all, `"bellman_`+name+`"`) {
				t.Errorf("%s names the metric %s, which does not exist", page, m)
			}
		}
		for _, m := range regexp.MustCompile("(?m)(?:^|`)bellman ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			if !commands[m[1]] {
				t.Errorf("%s names bellman %s, which is not a command", page, m[1])
			}
		}
		log := strings.Index(text, "**ERROR")
		if log < 0 {
			continue
		}
		var messages []string
		for _, row := range regexp.MustCompile("(?m)^\\| (`[a-z].*?`) \\| ").FindAllStringSubmatch(text[log:], -1) {
			for _, message := range inlineCode.FindAllString(row[1], -1) {
				message = strings.Trim(message, "`")
				if message == "msg" {
					continue
				}
				messages = append(messages, message)
				if !strings.Contains(all, `"`+message+`"`) {
					t.Errorf("%s explains the log message %q, which does not exist", page, message)
				}
			}
		}
		if len(messages) < 40 || logged != nil && !slices.Equal(logged, messages) {
			t.Errorf("%s explains\n%s\nwant at least 40 messages, the same in both languages", page, strings.Join(messages, "\n"))
		}
		logged = messages
	}
	for page, text := range pages(t) {
		for _, m := range regexp.MustCompile("`([a-z]+(?:[,:;]? [a-z]+){3,})`").FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(m[1], "bellman ") && !strings.Contains(all, m[1]) {
				t.Errorf("%s names the message %q, which does not exist", page, m[1])
			}
		}
	}
}

// The code blocks of the Chinese pages are those of the English ones, except for comments, reasons,
// names and the words of a chat. TestPagesAsANewcomerHasThem runs the English ones.
func TestBlocksInChinese(t *testing.T) {
	words := regexp.MustCompile(`(?m)[ \t]*(?:#|--) .*$|(--reason|"reason":|"name":) "[^"]*"`)
	needs := regexp.MustCompile(`(?m)^# (needs|需要)`)
	bare := func(text string) (all []string) {
		for _, block := range fenced.FindAllString(text, -1) {
			block = needs.ReplaceAllString(block, "NEEDS\n# ")
			all = append(all, strings.ReplaceAll(words.ReplaceAllString(block, "$1"), "text_zh", "text"))
		}
		return all
	}
	for page, text := range pages(t) {
		other := twin(page)
		if other == "" {
			continue
		}
		english, chinese := bare(text), bare(read(t, other))
		for i := range max(len(english), len(chinese)) {
			if i >= len(english) || i >= len(chinese) || english[i] != chinese[i] {
				t.Errorf("block %d of %s differs from that of %s", i+1, other, page)
				break
			}
		}
	}
}

// twin returns the Chinese page of an English one.
func twin(page string) string {
	switch dir, name := path.Split(page); {
	case page == "README.md":
		return "README.zh-CN.md"
	case dir == "docs/":
		return "docs/zh/" + name
	}
	return ""
}

// The figures in the tables of the Chinese pages are those of the English ones, row by row.
func TestFiguresOfPagesInChinese(t *testing.T) {
	row, number := regexp.MustCompile(`(?m)^\| .*\|$`), regexp.MustCompile(`\d+(?:[,.]\d+)*`)
	figures := func(page string) (all []string) {
		text := fenced.ReplaceAllString(read(t, page), "")
		for _, r := range row.FindAllString(text, -1) {
			found := number.FindAllString(linked.ReplaceAllString(inlineCode.ReplaceAllString(r, ""), ""), -1)
			if !strings.HasPrefix(r, "| ---") {
				all = append(all, strings.Join(slices.Sorted(slices.Values(found)), " "))
			}
		}
		return all
	}
	compared := 0
	for page := range pages(t) {
		other := twin(page)
		if other == "" {
			continue
		}
		english, chinese := figures(page), figures(other)
		compared += len(english)
		if len(english) != len(chinese) {
			t.Errorf("%s has %d rows in its tables, and %s %d; want the same", page, len(english), other, len(chinese))
		}
		for i := range min(len(english), len(chinese)) {
			if english[i] != chinese[i] {
				t.Errorf("row %d of the tables of %s has the figures %q, and that of %s %q; want the same", i+1, page, english[i], other, chinese[i])
			}
		}
	}
	if compared < 500 {
		t.Errorf("%d rows of tables were compared; want at least 500", compared)
	}
}

// Only docs/performance.md has figures of the bench. docs/guide.md has figures derived from them,
// which must agree.
func TestFiguresStandOnce(t *testing.T) {
	rate := regexp.MustCompile(`(?m)^\|.*(?:delivered and recorded|drain of).*\d,\d{3}.*\|$`)
	for page, text := range pages(t) {
		if page != "docs/performance.md" && twin(page) != "" {
			for _, found := range rate.FindAllString(text, -1) {
				t.Errorf("%s has a figure of the bench; link to docs/performance.md instead:\n%s", page, found)
			}
		}
	}
	measured := regexp.MustCompile(`\d{1,3}(?:,\d{3})+/s`)
	rates := measured.FindAllString(read(t, "docs/performance.md"), -1)
	if len(rates) < 8 {
		t.Errorf("docs/performance.md has the rates %q; want at least 8", rates)
	}
	for page, text := range pages(t) {
		for _, found := range measured.FindAllString(text, -1) {
			if path.Base(page) != "performance.md" && slices.Contains(rates, found) {
				t.Errorf("%s has the figure %s of docs/performance.md; link to that page instead", page, found)
			}
		}
	}
	for _, same := range []struct{ figures, guide string }{
		{`stored and due.*18,300/s.* (\d+) µs of processor time a task in bellman, (\d+) in`, `already stored and due.*\| \d+ \| (\d+) \+ (\d+) \| \d+ \+ \d+ \| \d+`},
		{`in batches over HTTP, .*15,000/s.* (\d+) and (\d+) µs`, `the same, created in batches.*\| \d.* \| (\d+) \+ (\d+) \| \d+ \+ \d+ \| \d+`},
	} {
		a := regexp.MustCompile(same.figures).FindStringSubmatch(read(t, "docs/performance.md"))
		b := regexp.MustCompile(same.guide).FindStringSubmatch(read(t, "docs/guide.md"))
		if a == nil || b == nil || !slices.Equal(a[1:], b[1:]) {
			t.Errorf("docs/performance.md has the figures %q, and docs/guide.md %q; want the same", a, b)
		}
	}
}

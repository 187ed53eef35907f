package bellman_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreign are words of other programs, and example values, in the guides' inline code. Every other
// such word must be found in this tree.
var foreign = []string{
	"cp", "chmod 640", "fuser DIR/LOCK", "pg_isready", "mariadb-admin ping", "redis-cli ping", "chronyc tracking", "iostat -x 1", "top",
	"ulimit -n", "getent hosts HOST", "openssl s_client -connect HOST:443", `env \| grep BELLMAN_`, `printf %s "$KEY" \| sha256sum`,
	"systemctl status bellman", "systemctl disable --now bellman", "systemd-analyze security bellman",
	"kubectl scale deployment/bellman --replicas=0", "ALTER DATABASE bellman RENAME TO bellman_old",
	"pg_basebackup -D DIR -X stream -c fast", "archive_mode", "recovery_target_time", "--master-data=2", "redis.conf", "appendonly yes", "appendfsync always",
	"X-Forwarded-For", "X-Forwarded-Proto", "ORDER/paid", "ORDER/refunded", "SUCCESS", "go test ./internal/torture -run Restore",
}

// guides are the pages whose inline code TestGuides compares with the tree.
var guides = []string{"guide.md", "backup.md", "move.md", "troubleshooting.md"}

// The guides name only existing commands, flags, metrics, settings, messages and files. Their code
// is the same in both languages.
func TestGuides(t *testing.T) {
	all := treeText(t)
	commands, flags := commandLine(t)
	spans := map[string][]string{}
	var pages []string
	for _, name := range guides {
		pages = append(pages, "docs/"+name, "docs/zh/"+name)
	}
	for _, page := range pages {
		text := read(t, page)
		blocks := fenced.FindAllString(text, -1)
		for _, block := range blocks {
			for line := range strings.Lines(block) {
				if words, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "./"), "bellman "); is {
					words, _, _ = strings.Cut(words, " #")
					checkCommand(t, page, words, commands, flags)
				}
			}
		}
		for _, span := range inlineCode.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
			span = strings.Trim(span, "`")
			spans[page] = append(spans[page], span)
			words, is := strings.CutPrefix(span, "bellman ")
			switch {
			case slices.Contains(foreign, span):
			case is:
				checkCommand(t, page, words, commands, flags)
			case strings.HasPrefix(span, "bellman_"):
				name := strings.TrimPrefix(strings.TrimPrefix(span, "bellman_"), "store_")
				if !strings.Contains(all, `"`+name+`"`) && !strings.Contains(all, `"`+span+`"`) {
					t.Errorf("%s names the metric %s, which does not exist", page, span)
				}
			case regexp.MustCompile(`^(GET|POST|PUT|DELETE) /v1/`).MatchString(span):
				if _, path, _ := strings.Cut(span, " "); !strings.Contains(all, `"`+path+`"`) {
					t.Errorf("%s names %s, which does not exist", page, span)
				}
			case strings.HasPrefix(span, "make "):
				if target, is := strings.CutPrefix(span, "make "); is && !strings.Contains(read(t, "Makefile"), "\n"+target+":") {
					t.Errorf("%s names %s, which does not exist", page, span)
				}
			default:
				if !strings.Contains(all, span) && !slices.ContainsFunc(parts(span), func(p string) bool { return strings.Contains(all, p) }) {
					t.Errorf("%s quotes %q, which is not in the code", page, span)
				}
			}
		}
	}
	for _, name := range guides {
		sameInChinese(t, "docs/"+name, "docs/zh/"+name, spans)
	}
	if n := strings.Count(read(t, "docs/troubleshooting.md"), "\n| "); n < 40 {
		t.Errorf("docs/troubleshooting.md has %d rows of symptoms; want at least 40", n)
	}
}

// sameInChinese compares the inline code of two pages, and the numbers of their headings, rows and
// blocks.
func sameInChinese(t *testing.T, english, chinese string, spans map[string][]string) {
	t.Helper()
	for _, pair := range [][2]string{{english, chinese}, {chinese, english}} {
		for _, span := range spans[pair[0]] {
			if !slices.Contains(spans[pair[1]], span) {
				t.Errorf("%s does not have %q, unlike %s", pair[1], span, pair[0])
			}
		}
	}
	for _, what := range []struct {
		name string
		of   *regexp.Regexp
	}{{"headings", regexp.MustCompile(`(?m)^#+ `)}, {"rows", regexp.MustCompile(`(?m)^\| `)}, {"links", linked}} {
		if a, b := len(what.of.FindAllString(read(t, english), -1)), len(what.of.FindAllString(read(t, chinese), -1)); a != b {
			t.Errorf("%s has %d %s, and %s %d; want the same", english, a, what.name, chinese, b)
		}
	}
}

// parts returns the parts of an inline code that occur in the tree by themselves, such as the name
// of a setting before its value.
func parts(span string) []string {
	if name, value, is := strings.Cut(span, ": "); is && regexp.MustCompile(`^[a-z_.]+$`).MatchString(name) && value != "" {
		if _, last, nested := strings.Cut(name, "."); nested {
			name = last
		}
		return []string{`"` + name + `"`, `name: "` + name, `.` + name + `"`}
	}
	return nil
}

// treeText returns all code and configuration of the tree.
func treeText(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(file, "_test.go") {
			return err
		}
		in := func(dir string) bool { return strings.HasPrefix(filepath.ToSlash(file), dir+"/") }
		if strings.HasSuffix(file, ".go") || strings.HasSuffix(file, ".lua") || in("deploy") || in("internal/config/testdata") {
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			text.Write(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// commandLine returns the commands of the program, and all of their flags.
func commandLine(t *testing.T) (commands, flags map[string]bool) {
	t.Helper()
	commands, flags = map[string]bool{"help": true}, map[string]bool{"help": true}
	files, err := filepath.Glob("cmd/bellman/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := read(t, file)
		for _, m := range regexp.MustCompile(`(?:Use:\s+|stopCommand\()"([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			commands[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`"([a-z][a-z-]*)", "`).FindAllStringSubmatch(text, -1) {
			flags[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`(?:String|Bool|Int|Duration)(?:Array)?(?:Var)?P?\((?:&\w+(?:\.\w+)*, )?"([a-z][a-z-]*)"`).FindAllStringSubmatch(text, -1) {
			flags[m[1]] = true
		}
	}
	return commands, flags
}

func checkCommand(t *testing.T, page, words string, commands, flags map[string]bool) {
	t.Helper()
	name, _, _ := strings.Cut(words, " ")
	if !commands[name] {
		t.Errorf("%s names bellman %s, which is not a command", page, name)
	}
	for _, m := range regexp.MustCompile(`(?:^|\s)--([a-z-]+)`).FindAllStringSubmatch(words, -1) {
		if !flags[m[1]] {
			t.Errorf("%s: bellman %s has no flag --%s", page, words, m[1])
		}
	}
}

package bellman_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/bench"
)

// In the pages about traps, `engine TestEnds` names a test in a folder, and `bellman bench drain` a
// scenario.
var (
	namedTest  = regexp.MustCompile("`([a-z][a-z/]*) ((?:Test|Fuzz|Benchmark|Example)\\w*)`")
	namedBench = regexp.MustCompile("`bellman bench ([a-z0-9-]+)`")
)

// notYet begins the last cell of a row that nothing can show so far.
const notYet = "not here yet: "

// The last cell of each row of the pages about traps names tests or scenarios, and all of them
// exist.
func TestTraps(t *testing.T) {
	for page, least := range map[string]int{"docs/traps.md": 40, "internal/sqlstore/TRAPS.md": 24} {
		if rows := checkTraps(t, page); rows < least {
			t.Errorf("%s has %d rows; want at least %d", page, rows, least)
		}
	}
}

// checkTraps checks all rows of a page, and returns their number.
func checkTraps(t *testing.T, page string) (rows int) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var scenarios []string
	for _, s := range bench.Scenarios() {
		scenarios = append(scenarios, s.Name)
	}
	tests := make(map[string][]string) // by folder
	for line := range strings.SplitSeq(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || cells[len(cells)-1] == "shown by" {
			continue
		}
		rows++
		shown := cells[len(cells)-1]
		named := namedTest.FindAllStringSubmatch(shown, -1)
		benched := namedBench.FindAllStringSubmatch(shown, -1)
		if n := len(named) + len(benched); n != strings.Count(shown, "`")/2 || n == 0 != strings.HasPrefix(shown, notYet) {
			t.Errorf("%s: %s\nwant `FOLDER TestName`, `bellman bench NAME`, or %q and why", page, line, notYet)
		}
		for _, m := range named {
			folder, name := m[1], m[2]
			if _, known := tests[folder]; !known {
				tests[folder] = testsIn(t, folder)
			}
			if !slices.Contains(tests[folder], name) {
				t.Errorf("%s: %s\nno test %s in %s", page, line, name, folder)
			}
		}
		for _, m := range benched {
			if !slices.Contains(scenarios, m[1]) {
				t.Errorf("%s: %s\nno scenario %s; want one of %s", page, line, m[1], strings.Join(scenarios, ", "))
			}
		}
	}
	return rows
}

// testsIn returns the names of the tests, fuzz targets, benchmarks and examples in a folder.
func testsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

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

// In docs/traps.md, `engine TestEnds` names a test of a folder, and `bellman
// bench drain` a scenario.
var (
	namedTest  = regexp.MustCompile("`([a-z][a-z/]*) ((?:Test|Fuzz|Benchmark|Example)\\w*)`")
	namedBench = regexp.MustCompile("`bellman bench ([a-z0-9-]+)`")
)

// notYet begins the last cell of what nothing can show so far.
const notYet = "not here yet: "

// Every row of docs/traps.md names what shows it, and all that is named exists.
func TestTraps(t *testing.T) {
	text, err := os.ReadFile("docs/traps.md")
	if err != nil {
		t.Fatal(err)
	}
	var scenarios []string
	for _, s := range bench.Scenarios() {
		scenarios = append(scenarios, s.Name)
	}
	tests := make(map[string][]string) // by folder
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || cells[len(cells)-1] == "shown by" {
			continue
		}
		rows++
		shown := cells[len(cells)-1]
		named := namedTest.FindAllStringSubmatch(shown, -1)
		benched := namedBench.FindAllStringSubmatch(shown, -1)
		if n := len(named) + len(benched); n != strings.Count(shown, "`")/2 || n == 0 != strings.HasPrefix(shown, notYet) {
			t.Errorf("%s\nwant `FOLDER TestName`, `bellman bench NAME`, or %q and why", line, notYet)
		}
		for _, m := range named {
			folder, name := m[1], m[2]
			if _, known := tests[folder]; !known {
				tests[folder] = testsIn(t, folder)
			}
			if !slices.Contains(tests[folder], name) {
				t.Errorf("%s\nthere is no %s in %s", line, name, folder)
			}
		}
		for _, m := range benched {
			if !slices.Contains(scenarios, m[1]) {
				t.Errorf("%s\nthere is no scenario %s: want one of %s", line, m[1], strings.Join(scenarios, ", "))
			}
		}
	}
	if rows < 40 {
		t.Errorf("docs/traps.md has %d rows; want the 40 and more that there were", rows)
	}
}

// testsIn returns the names of the tests, fuzz targets, benchmarks and examples
// of a folder.
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

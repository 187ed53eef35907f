package sqlstore

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTraps checks that every row of TRAPS.md names a test, and that the named tests exist.
func TestTraps(t *testing.T) {
	text, err := os.ReadFile("TRAPS.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| trap") {
			continue
		}
		rows++
		named := regexp.MustCompile("`([a-z/]+) (Test\\w+)`").FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("this row names no test: %s", line)
		}
		for _, n := range named {
			files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(n[1]), "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, file := range files {
				code, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				found = found || strings.Contains(string(code), "\nfunc "+n[2]+"(")
			}
			if !found {
				t.Errorf("there is no %s in %s", n[2], n[1])
			}
		}
	}
	if rows < 24 {
		t.Errorf("TRAPS.md has %d rows; want at least 24", rows)
	}
}

package locks_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/engine/internal/locks"
)

// The table in engine/DESIGN.md lists all locks in the order in which they are taken.
func TestLockTable(t *testing.T) {
	page, err := os.ReadFile("../../DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "## State and locks")
	table, _, _ = strings.Cut(table, "\n## ")
	if !ok {
		t.Fatal("engine/DESIGN.md has no section on locks")
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\|").FindAllStringSubmatch(table, -1) {
		listed = append(listed, m[1])
	}
	if want := slices.Concat(locks.Order...); !slices.Equal(listed, want) {
		t.Errorf("engine/DESIGN.md lists %v; want %v", listed, want)
	}
}

package bellman_test

import (
	"os"
	"testing"
)

// The examples and requests of the Chinese recipes are those of the English ones, which run as
// tests. -update writes them.
func TestRecipesInChinese(t *testing.T) {
	const page = "docs/zh/recipes.md"
	english, chinese := fenced.FindAllString(read(t, "docs/recipes.md"), -1), read(t, page)
	n := 0
	written := fenced.ReplaceAllStringFunc(chinese, func(block string) string {
		n++
		if n > len(english) {
			return block
		}
		if block != english[n-1] && !*update {
			t.Errorf("block %d of %s differs from docs/recipes.md: go test -run TestRecipes . -update", n, page)
		}
		return english[n-1]
	})
	if n != len(english) {
		t.Fatalf("%s has %d blocks of code; want %d as in docs/recipes.md", page, n, len(english))
	}
	if *update {
		if err := os.WriteFile(page, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

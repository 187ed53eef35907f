package config

import (
	"os"
	"regexp"
	"testing"
)

// The configurations on the page about refunds are valid, in both languages.
func TestRefundsPage(t *testing.T) {
	for _, page := range []string{"../../docs/refunds.md", "../../docs/zh/refunds.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
		if len(found) != 2 {
			t.Errorf("%s has %d configurations; want 2", page, len(found))
		}
		for _, m := range found {
			if _, err := Parse(m[1]); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

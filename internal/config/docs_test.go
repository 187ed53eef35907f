package config

import (
	"os"
	"regexp"
	"testing"
)

// The configurations on the pages about refunds and channels are valid, in both languages.
func TestConfigurationsOfPages(t *testing.T) {
	for page, want := range map[string]int{"refunds.md": 2, "channels.md": 4} {
		for _, folder := range []string{"../../docs/", "../../docs/zh/"} {
			text, err := os.ReadFile(folder + page)
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
			if len(found) != want {
				t.Errorf("%s%s has %d configurations; want %d", folder, page, len(found), want)
			}
			for _, m := range found {
				if _, err := Parse(m[1]); err != nil {
					t.Errorf("%s%s: %v", folder, page, err)
				}
			}
		}
	}
}

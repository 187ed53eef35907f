package bellman_test

import (
	"regexp"
	"strings"
	"testing"
)

var unusedWord = regexp.MustCompile(`(?m)^\| ([^|（]+?)(?:（([^|]+)除外）)? \| ([^|]+) \|$`)

// The console and the pages do not use the words that the glossary replaces.
func TestGlossary(t *testing.T) {
	texts := pages(t)
	for _, lang := range []struct{ glossary, heading, words string }{
		{"docs/glossary.md", "## Words that are not used", "internal/console/words/en.json"},
		{"docs/zh/glossary.md", "## 不用的词", "internal/console/words/zh.json"},
	} {
		kept, table, found := strings.Cut(texts[lang.glossary], lang.heading)
		rows := unusedWord.FindAllStringSubmatch(table, -1)
		if !found || len(rows) < 6 { // two are the head of the table
			t.Fatalf("%s lists %d words under %q; want some", lang.glossary, len(rows), lang.heading)
		}
		check := map[string]string{lang.words: read(t, lang.words), lang.glossary: kept}
		chinese := strings.HasPrefix(lang.glossary, "docs/zh/")
		for page, text := range texts {
			inChinese := strings.HasPrefix(page, "docs/zh/") || strings.HasSuffix(page, "zh-CN.md")
			if page != lang.glossary && inChinese == chinese {
				check[page] = text
			}
		}
		for _, row := range rows[2:] {
			word := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(row[1]) + `\b`)
			if chinese {
				word = regexp.MustCompile(regexp.QuoteMeta(row[1]))
			}
			for page, text := range check {
				if row[2] != "" {
					text = strings.ReplaceAll(text, row[2], "")
				}
				for i, line := range strings.Split(text, "\n") {
					if word.MatchString(line) {
						t.Errorf("%s, line %d: %q; %s wants %s", page, i+1, row[1], lang.glossary, row[3])
					}
				}
			}
		}
	}
}

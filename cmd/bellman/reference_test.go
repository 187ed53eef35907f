package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The pages of docs/reference agree with the code, in both languages. -update writes them.
func TestReference(t *testing.T) {
	chinese := map[string]string{}
	text, err := os.ReadFile("testdata/reference_zh.json")
	if err == nil {
		err = json.Unmarshal(text, &chinese)
	}
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for name, write := range map[string]func(*sheet){"README": indexPage, "configuration": configurationPage, "api": apiPage, "cli": cliPage,
		"metrics": metricsPage, "schedules": schedulesPage, "presets": presetsPage} {
		for _, words := range []map[string]string{nil, chinese} {
			p := &sheet{t: t, words: words, used: used}
			write(p)
			file, link := "../../docs/reference/"+name+".md", "[中文](../zh/reference/"+name+".md)"
			if words != nil {
				file, link = "../../docs/zh/reference/"+name+".md", "[English](../../reference/"+name+".md)"
			}
			title, rest, _ := strings.Cut(p.String(), "\n")
			want := title + "\n\n" + link + "\n" + rest
			if *update {
				if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if have, err := os.ReadFile(file); err != nil || string(have) != want {
				t.Errorf("%s differs from the code (%v): go test ./cmd/bellman -run Reference -update", file, err)
			}
		}
	}
	for text := range chinese {
		if !used[text] {
			t.Errorf("testdata/reference_zh.json translates %q, which is on no page", text)
		}
	}
}

// A sheet is a page in one language.
type sheet struct {
	strings.Builder
	t     *testing.T
	words map[string]string // Chinese texts by the English ones; nil: the page is English
	used  map[string]bool   // texts that were translated
}

// w returns a text in the page's language.
func (p *sheet) w(text string) string {
	p.used[text] = true
	if p.words == nil || text == "" {
		return text
	}
	if p.words[text] == "" {
		p.t.Errorf("testdata/reference_zh.json does not translate %q", text)
	}
	return p.words[text]
}

func (p *sheet) heading(level int, text string) {
	fmt.Fprintf(p, "%s %s\n\n", strings.Repeat("#", level), p.w(text))
}

func (p *sheet) text(text string) { p.WriteString(p.w(text) + "\n\n") }

func (p *sheet) code(text string) { fmt.Fprintf(p, "```\n%s\n```\n\n", strings.Trim(text, "\n")) }

// table writes rows under the names of their columns, or nothing if there are no rows.
func (p *sheet) table(columns string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	names := strings.Split(columns, ", ")
	for i, name := range names {
		names[i] = p.w(name)
	}
	for _, row := range slices.Concat([][]string{names, slices.Repeat([]string{"---"}, len(names))}, rows) {
		for i, cell := range row {
			row[i] = strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", "\\|")
		}
		p.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	p.WriteString("\n")
}

// tick formats text as inline code; an empty text stays empty.
func tick(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func indexPage(p *sheet) {
	p.heading(1, "Reference")
	p.text("These pages are generated from the code, and a test compares them with it.")
	for _, name := range []string{"configuration", "api", "cli", "metrics", "schedules", "presets"} {
		fmt.Fprintf(p, "- [%s](%s.md)\n", p.w(titles[name]), name)
	}
}

var titles = map[string]string{"configuration": "Configuration", "api": "HTTP API", "cli": "Command line", "metrics": "Metrics",
	"schedules": "Schedules", "presets": "Presets of answers, signatures and trade states"}

package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

//go:embed words/*.json
var words embed.FS

// languages are the available languages. The first is the default.
var languages = []struct{ code, tag, name string }{
	{"en", "en", "English"},
	{"zh", "zh-CN", "中文"},
}

// langCookie and themeCookie store the visitor's choice for a year.
const (
	langCookie  = "bellman_lang"
	themeCookie = "bellman_theme"
)

// A language is one catalogue of texts and the pages in it.
type language struct {
	code  string // en or zh
	tag   string // en or zh-CN, for the page's lang attribute
	texts map[string]string
	pages map[string]func() *template.Template

	faults, faultParts func() []faultText // of English, and with nested ones; empty: this is English
}

func readTexts(code string) (map[string]string, error) {
	data, err := words.ReadFile("words/" + code + ".json")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf("words/%s.json: %w", code, err)
	}
	return texts, nil
}

// text returns a text of the catalogue, with each {name} replaced by the value that follows name in
// values. A missing text is a bug, which a test finds.
func (l *language) text(name string, values ...any) (string, error) {
	text, ok := l.texts[name]
	if !ok {
		return "", fmt.Errorf("no text %q in language %s", name, l.code)
	}
	if len(values)%2 != 0 {
		return "", fmt.Errorf("text %q: a name without a value", name)
	}
	for i := 0; i < len(values); i += 2 {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%v}", values[i]), fmt.Sprint(values[i+1]))
	}
	return text, nil
}

// say is text for callers in Go.
func (l *language) say(name string, values ...any) string {
	text, err := l.text(name, values...)
	if err != nil {
		panic(err)
	}
	return text
}

// named returns the text of a word of a family, such as state.pending. A word without a text is
// returned unchanged.
func (l *language) named(family string, word any) string {
	plain := fmt.Sprint(word)
	if text, ok := l.texts[family+"."+plain]; ok {
		return text
	}
	return plain
}

// language returns the language that the visitor chose, or else the best one for the browser.
func (c *Console) language(r *http.Request) *language {
	if l := c.byCode[cookie(r, langCookie)]; l != nil {
		return l
	}
	return c.byCode[preferred(r.Header.Get("Accept-Language"))]
}

// preferred chooses a language by an Accept-Language header.
func preferred(header string) string {
	best, weight := languages[0].code, 0.0
	for part := range strings.SplitSeq(header, ",") {
		tag, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if text, is := strings.CutPrefix(strings.TrimSpace(rest), "q="); is {
			var err error
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		base, _, _ := strings.Cut(strings.ToLower(tag), "-")
		for _, l := range languages {
			if l.code == base && q > weight {
				best, weight = l.code, q
			}
		}
	}
	return best
}

func themeOf(r *http.Request) string {
	switch theme := cookie(r, themeCookie); theme {
	case "light", "dark":
		return theme
	}
	return ""
}

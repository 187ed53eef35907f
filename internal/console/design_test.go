package console

import (
	"regexp"
	"strings"
	"testing"
)

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	queries  = regexp.MustCompile(`@(?:media|container)[^{]*`) // custom properties do not work there
	raw      = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|oklch|color-mix|light-dark)\(|\b[0-9.]*[0-9](?:px|rem|pt)\b|:[^;{}]*\b(?:white|black|red|green|blue|gr[ae]y|orange)\b`)
	uses     = regexp.MustCompile(`var\((--[a-z0-9-]+)\)`)
)

// Stylesheets and pages have no colour and no length of their own: they use the tokens, of which
// each is used.
func TestOnlyTokens(t *testing.T) {
	known, used := map[string]bool{}, map[string]bool{}
	groups := tokens()
	if len(groups) != len(tokenGroups) {
		t.Fatalf("tokens.css has %d groups; want %d", len(groups), len(tokenGroups))
	}
	for _, g := range groups {
		for _, one := range g.Tokens {
			known[one.Name] = true
		}
	}
	for _, name := range []string{"style.css", "figures.css", "icons.svg"} {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		css := string(data)
		for _, m := range uses.FindAllStringSubmatch(css, -1) {
			if used[m[1]] = true; !known[m[1]] {
				t.Errorf("%s uses %s, which tokens.css does not have", name, m[1])
			}
		}
		if !strings.HasSuffix(name, ".css") {
			continue
		}
		for i, line := range strings.Split(queries.ReplaceAllString(comments.ReplaceAllStringFunc(css, func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) }), ""), "\n") {
			if found := raw.FindString(line); found != "" {
				t.Errorf("%s, line %d: %q is raw: want a token of tokens.css", name, i+1, found)
			}
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("no stylesheet uses %s", name)
		}
	}
}

package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/order"
)

// What the watch of an order calls an attempt, an event or a reason has a word in each language:
// pages would show the name itself. The names are read out of the source, so that a new one is
// missed.
func TestOrdersHaveWords(t *testing.T) {
	found := map[string][]string{}
	add := func(family string, e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[family] = append(found[family], text)
		}
	}
	for _, name := range []string{"handler.go", "step.go", "tell.go", "check.go", "poll/handler.go", "poll/step.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), "../../order/"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr: // move{reason: …}, Verdict{Reason: …}
				if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "reason") {
					add("reason", n.Value)
				}
			case *ast.ValueSpec: // askQuery, EventWatch
				for i, id := range n.Names {
					switch {
					case i >= len(n.Values):
					case strings.HasPrefix(id.Name, "ask"), strings.HasPrefix(id.Name, "act"):
						add("action", n.Values[i])
					case strings.HasPrefix(id.Name, "Event"):
						add("event", n.Values[i])
					}
				}
			}
			return true
		})
	}
	for r := order.Paid; r <= order.Failed; r++ { // a decision is a reason, and an event
		found["reason"] = append(found["reason"], strings.ToLower(r.String()))
		found["event"] = append(found["event"], "order."+strings.ToLower(r.String()))
	}
	for family, want := range map[string][]string{
		"action": {"query", "close", "reverse", "announce", "request"},
		"event":  {"poll.watch", "poll.done", "poll.failed", "order.watch", "order.late_watch", "order.late_payment", "order.undecided", "order.paid", "order.failed"},
		"reason": {"exhausted", "reverse_failed", "gave_up", "late_payment", "watched", "unreadable", "paid"},
	} {
		for _, word := range want {
			if !slices.Contains(found[family], word) {
				t.Errorf("the source has no %s %s: is it looked for in the right place? There are %v", family, word, found[family])
			}
		}
	}
	for _, l := range languages {
		texts, err := readTexts(l.code)
		if err != nil {
			t.Fatal(err)
		}
		for family, words := range found {
			for _, word := range words {
				if texts[family+"."+word] == "" {
					t.Errorf("words/%s.json has no %s.%s", l.code, family, word)
				}
			}
		}
	}
}

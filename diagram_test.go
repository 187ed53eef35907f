package bellman_test

import (
	"os"
	"strings"
	"testing"
)

// The drawing of an order's stages is in a comment of order/step.go and in order/DESIGN.md. Both
// are the same.
func TestDiagram(t *testing.T) {
	code, err := os.ReadFile("order/step.go")
	if err != nil {
		t.Fatal(err)
	}
	var drawing strings.Builder
	for line := range strings.Lines(string(code)) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok && strings.ContainsAny(text, "─│►▼┌┐┘└") || drawing.Len() > 0 && ok && strings.Contains(text, "CLOSED") {
			drawing.WriteString(text)
		}
	}
	design, err := os.ReadFile("order/DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(drawing.String(), "\n"); n < 15 {
		t.Fatalf("%d lines of the drawing in order/step.go were found; want all", n)
	}
	for line := range strings.Lines(drawing.String()) {
		if !strings.Contains(string(design), strings.TrimSpace(line)) {
			t.Errorf("order/DESIGN.md lacks the line of order/step.go\n%s", line)
		}
	}
}

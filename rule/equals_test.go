package rule

import (
	"strings"
	"testing"
)

// Who writes = where CEL wants == is told so.
func TestOneEqualsSign(t *testing.T) {
	_, err := new(Cache).Compile("status = 200")
	if err == nil || !strings.Contains(err.Error(), "use ==") {
		t.Errorf("Compile(status = 200) = %v; want the advice to use ==", err)
	}
}

// A text without its closing quotation mark is named as such.
func TestTextNotClosed(t *testing.T) {
	for _, text := range []string{`body == "ok`, `body == 'ok`} {
		_, err := new(Cache).Compile(text)
		if err == nil || !strings.Contains(err.Error(), "a text is not closed") {
			t.Errorf("Compile(%s) = %v; want that a text is not closed", text, err)
		}
	}
}

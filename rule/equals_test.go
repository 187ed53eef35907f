package rule

import (
	"strings"
	"testing"
)

// If a text has = where CEL needs ==, the error says so.
func TestOneEqualsSign(t *testing.T) {
	_, err := new(Cache).Compile("status = 200")
	if err == nil || !strings.Contains(err.Error(), "use ==") {
		t.Errorf("Compile(status = 200) = %v; want the advice to use ==", err)
	}
}

// A string without its closing quotation mark gets an error that says so.
func TestTextNotClosed(t *testing.T) {
	for _, text := range []string{`body == "ok`, `body == 'ok`} {
		_, err := new(Cache).Compile(text)
		if err == nil || !strings.Contains(err.Error(), "a text is not closed") {
			t.Errorf("Compile(%s) = %v; want an error that the string is not closed", text, err)
		}
	}
}

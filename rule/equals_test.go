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

package flatxml_test

import (
	"testing"

	"github.com/bellmanhq/bellman/internal/flatxml"
)

// The structure of a document in GBK survives, and so do its ASCII fields. UTF-16 would be read
// wrong, and is refused.
func TestEncodings(t *testing.T) {
	const shop = "\xc9\xcc\xbb\xa7\x81\x7c" // in GBK; the last character ends with a byte that is ASCII's |
	read := func(encoding string) (map[string]string, error) {
		got := map[string]string{}
		doc := `<?xml version="1.0" encoding="` + encoding + `"?><xml><name>` + shop + `</name><code>SUCCESS</code></xml>`
		return got, flatxml.Read([]byte(doc), func(name, text string, _ bool) error {
			got[name] = text
			return nil
		})
	}
	for _, name := range []string{"GBK", "gb18030", "GB2312"} {
		if got, err := read(name); err != nil || got["code"] != "SUCCESS" || got["name"] != "?????|" {
			t.Errorf("Read in %s = %v, %v; want ?????| and SUCCESS", name, got, err)
		}
	}
	if got, err := read("utf-16"); err == nil {
		t.Errorf("Read in utf-16 = %q, want an error", got)
	}
}

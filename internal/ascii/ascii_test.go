package ascii_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bellmanhq/bellman/internal/ascii"
)

// The structure of a document in GBK survives, and so do its ASCII fields, however it
// comes in; UTF-16 would be read wrong, and is refused.
func TestOf(t *testing.T) {
	const shop = "\xc9\xcc\xbb\xa7\x81\x7c" // in GBK; the last character ends with a byte that is ASCII's |
	for _, name := range []string{"GBK", "gb18030", "GB2312"} {
		doc := `<?xml version="1.0" encoding="` + name + `"?><xml><name>` + shop + `</name><code>SUCCESS</code></xml>`
		d := xml.NewDecoder(iotest.OneByteReader(strings.NewReader(doc)))
		d.CharsetReader = ascii.Of
		var got struct {
			Name string `xml:"name"`
			Code string `xml:"code"`
		}
		if err := d.Decode(&got); err != nil || got.Code != "SUCCESS" || got.Name != "?????|" {
			t.Errorf("Decode in %s = %+v, %v; want ?????| and SUCCESS", name, got, err)
		}
	}
	if r, err := ascii.Of("utf-16", strings.NewReader("")); err == nil {
		all, _ := io.ReadAll(r)
		t.Errorf("Of(utf-16) reads %q, want an error", all)
	}
}

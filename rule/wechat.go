package rule

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"

	"github.com/bellmanhq/bellman/internal/ascii"
)

// returnCode returns the text of /xml/return_code of a WeChat v2 answer, and
// nothing when body is not one whole document of that form, has the field twice,
// or has a document type: no entity is ever expanded but XML's own five.
func returnCode(body []byte) string {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = ascii.Of
	var code strings.Builder
	var path []string
	roots, codes := 0, 0
	for {
		token, err := d.RawToken()
		if err == io.EOF && len(path) == 0 && roots == 1 && codes == 1 {
			return code.String()
		}
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case xml.Directive:
			return ""
		case xml.StartElement:
			name := t.Name.Local
			if len(path) == 0 {
				roots++
			}
			if len(path) == 0 && name != "xml" || len(path) == 2 && path[1] == "return_code" || len(path) == 8 {
				return ""
			}
			if len(path) == 1 && name == "return_code" {
				codes++
			}
			path = append(path, name)
		case xml.EndElement:
			if len(path) == 0 || path[len(path)-1] != t.Name.Local {
				return ""
			}
			path = path[:len(path)-1]
		case xml.CharData:
			switch {
			case len(path) == 0 && len(bytes.Trim(t, " \t\r\n")) > 0:
				return ""
			case len(path) == 2 && path[1] == "return_code":
				code.Write(t)
			}
		}
	}
}

// Package flatxml reads documents such as <xml><name>text</name>…</xml>, which WeChat Pay v2 sends
// and expects. It reads the encodings that channels and merchants in China declare, and keeps only
// their ASCII.
package flatxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth is how deep elements may nest.
const maxDepth = 20

// Read calls field for each element below the root <xml>, in order. text is the element's text, in
// CDATA or not; nested says that the element has elements inside. Read returns the error of field,
// or why body is not such a document. A document type is an error: no entity is expanded except the
// five of XML itself.
func Read(body []byte, field func(name, text string, nested bool) error) error {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = charset
	var path []string
	var text strings.Builder
	roots, nested := 0, false
	for {
		token, err := d.RawToken()
		switch {
		case err == io.EOF && len(path) == 0 && roots == 1:
			return nil
		case err == io.EOF:
			return errors.New("the body is not XML: it ends too early")
		case err != nil:
			return fmt.Errorf("the body is not XML: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return errors.New("the body has a document type")
		case xml.StartElement:
			name := nameOf(t.Name)
			switch len(path) {
			case 0:
				if roots++; name != "xml" || roots > 1 {
					return fmt.Errorf("the body is not one document <xml>: it has <%.40s>", name)
				}
			case 1:
				text.Reset()
				nested = false
			case maxDepth:
				return errors.New("the body nests deeper than 20")
			default:
				nested = true
			}
			path = append(path, name)
		case xml.EndElement:
			name, last := nameOf(t.Name), len(path)-1
			if last < 0 || path[last] != name {
				return fmt.Errorf("the body is not XML: </%.40s> closes nothing", name)
			}
			if path = path[:last]; last == 1 {
				if err := field(name, text.String(), nested); err != nil {
					return err
				}
			}
		case xml.CharData:
			switch {
			case len(path) == 2:
				text.Write(t)
			case len(path) == 0 && len(bytes.Trim(t, " \t\r\n")) > 0:
				return errors.New("the body is not XML: text around the document")
			}
		}
	}
}

func nameOf(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// charset is a CharsetReader of encoding/xml. It replaces each byte that is not ASCII by a question
// mark. In these encodings the bytes < and & are always those characters, so the structure of a
// document survives.
func charset(encoding string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(encoding) {
	case "us-ascii", "iso-8859-1", "gbk", "gb2312", "gb18030":
		return &reader{r}, nil
	}
	return nil, fmt.Errorf("unknown encoding %.40q", encoding)
}

type reader struct{ r io.Reader }

func (a *reader) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	for i, c := range p[:n] {
		if c >= 0x80 {
			p[i] = '?'
		}
	}
	return n, err
}

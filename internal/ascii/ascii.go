// Package ascii reads text of the encodings that channels and merchants in China declare
// for XML, for those who need its structure and its ASCII fields alone.
package ascii

import (
	"fmt"
	"io"
	"strings"
)

// Of reads text of an encoding, by its name in any case, with a question mark for each
// byte that is not ASCII; an encoding that is not known is an error. In these the
// bytes < and & are always those characters, so that the structure of a document survives. It is a
// CharsetReader of encoding/xml.
func Of(encoding string, r io.Reader) (io.Reader, error) {
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

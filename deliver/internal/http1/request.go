package http1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// maxBody is the largest body that is sent here, in bytes. A socket's buffer takes that much at
// once, so a server that answers before it has read the body is heard.
const maxBody = 16 << 10

// messages are buffers for requests while they are sent.
var messages = sync.Pool{New: func() any { return new(make([]byte, 0, 1<<10)) }}

// fits reports whether this package sends a request itself. All other requests, valid or not, go
// through net/http.
func fits(r *http.Request) bool {
	switch {
	case r.URL == nil || r.URL.Scheme != "http" && r.URL.Scheme != "https" || r.URL.Opaque != "" || !isPlainHost(r.URL.Host),
		r.Host != "" && r.Host != r.URL.Host,
		r.Method == http.MethodConnect || !httpguts.ValidHeaderFieldName(r.Method),
		r.Close || r.Header == nil || len(r.Trailer) > 0 || len(r.TransferEncoding) > 0,
		r.ContentLength < 0 || r.ContentLength > maxBody || r.ContentLength > 0 && r.GetBody == nil,
		r.ContentLength == 0 && r.Body != nil && r.Body != http.NoBody:
		return false
	}
	for name, values := range r.Header {
		switch name {
		case "Connection", "Expect", "Upgrade":
			return false
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return false
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return false
			}
		}
	}
	return true
}

// isPlainHost reports whether net/http sends a host as it stands in the URL.
func isPlainHost(host string) bool {
	for i := range len(host) {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', c == '-', c == '.', c == ':', c == '_', c == '[', c == ']':
		default:
			return false
		}
	}
	return host != "" && host[0] != ':'
}

// appendRequest appends a request as it is sent, with the same bytes as net/http would send, and
// closes its body.
func appendRequest(b []byte, r *http.Request) ([]byte, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	uri := r.URL.RequestURI()
	if strings.ContainsFunc(uri, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return b, errors.New("the URL has a control character")
	}
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, uri...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.URL.Host...)
	b = append(b, "\r\n"...)
	agent, given := r.Header["User-Agent"]
	switch {
	case !given:
		b = appendField(b, "User-Agent", "Go-http-client/1.1")
	case len(agent) > 0 && agent[0] != "":
		b = appendField(b, "User-Agent", agent[0])
	}
	switch {
	case r.ContentLength > 0, r.Method == http.MethodPost, r.Method == http.MethodPut, r.Method == http.MethodPatch:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, r.ContentLength, 10)
		b = append(b, "\r\n"...)
	}
	var few [16]string
	names := few[:0]
	for name := range r.Header {
		switch name {
		case "Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range r.Header[name] {
			b = appendField(b, name, v)
		}
	}
	b = append(b, "\r\n"...)
	return appendBody(b, r)
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, textproto.TrimString(value)...)
	return append(b, "\r\n"...)
}

// appendBody appends the body of a request, which must be as long as the request says.
func appendBody(b []byte, r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return b, nil
	}
	start, size := len(b), int(r.ContentLength)
	b = slices.Grow(b, size+1)[:start+size+1] // one byte more, to see that nothing follows
	n, err := io.ReadFull(r.Body, b[start:])
	if n != size || !errors.Is(err, io.ErrUnexpectedEOF) {
		return b, fmt.Errorf("ContentLength is %d, and the body is shorter or longer", size)
	}
	return b[:start+size], nil
}

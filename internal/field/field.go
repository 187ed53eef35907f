// Package field has the rules for header fields of requests: those that a task sets, and those in
// the template of an order queue.
package field

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/bellmanhq/bellman"
)

// Reserved returns why only bellman may set a header, by its canonical name; empty: users may set
// it too.
func Reserved(canonical string) string {
	switch canonical {
	case "Host":
		return "is set from the URL: leave it out"
	case "Content-Length", "Transfer-Encoding", "Trailer":
		return "is set from the body: leave it out"
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Upgrade", "Http2-Settings":
		return "belongs to the connection, which requests share"
	case "Expect":
		return "a body is sent without asking first"
	case "Accept-Encoding":
		return "answers are read as they are, without decoding"
	}
	if strings.HasPrefix(canonical, "Bellman-") {
		return "names that begin with Bellman- are set by bellman"
	}
	return ""
}

// LooksJSON reports whether a body begins and ends like an object or a list. Such a body is sent as
// JSON unless its task sets a content type.
func LooksJSON(body []byte) bool {
	body = bytes.TrimSpace(body)
	n := len(body)
	return n >= 2 && (body[0] == '{' && body[n-1] == '}' || body[0] == '[' && body[n-1] == ']')
}

// IsName reports whether s is a field name of RFC 9110, section 5.1.
func IsName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 || c <= ' ' || c == 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}

// IsValue reports whether s is a field value of RFC 9110, section 5.5.
func IsValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return strings.Trim(s, " \t") == s
}

// Propagate sets the fields traceparent and tracestate to those of a trace; nil changes nothing.
func Propagate(header http.Header, t *bellman.Trace) {
	if t == nil {
		return
	}
	header.Set("Traceparent", t.Parent())
	if header.Del("Tracestate"); t.State != "" {
		header.Set("Tracestate", t.State)
	}
}

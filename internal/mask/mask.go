// Package mask hides secrets before people see URLs, forms, JSON and texts. It goes by the names of
// fields. Text without secrets stays unchanged byte for byte.
package mask

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/client"
)

// names are the fields of bodies and addresses whose values are hidden: in lower case, without -
// and _.
var names = []string{
	"password", "passwd", "pwd", "secret", "clientsecret", "appsecret", "token", "accesstoken", "refreshtoken",
	"apikey", "privatekey", "authorization", "cvv", "cvv2", "cvc", "pin",
}

// Name reports whether the value of a field with this name is hidden.
func Name(name string) bool {
	name = strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
	return slices.Contains(names, name)
}

// URL hides the user, the password and the values of secret fields of the query.
func URL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil { // its parts cannot be told apart
		return roughly(address)
	}
	if u.User == nil && !strings.ContainsRune(address, '?') {
		return address
	}
	rest, fragment, hasFragment := strings.Cut(address, "#")
	rest, raw, asks := strings.Cut(rest, "?")
	if u.User != nil {
		scheme, after, _ := strings.Cut(rest, "//")
		host := after
		path := ""
		if i := strings.IndexByte(after, '/'); i >= 0 {
			host, path = after[:i], after[i:]
		}
		host = host[strings.LastIndexByte(host, '@')+1:]
		rest = scheme + "//" + client.Masked + "@" + host + path
	}
	if asks {
		rest += "?" + Query(raw)
	}
	if hasFragment {
		rest += "#" + fragment
	}
	return rest
}

// roughly masks everything before an @ in a text that is no valid address.
func roughly(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return client.Masked + s[i:]
	}
	return s
}

// Query masks the secret fields of an address's query. There key is one too, as in the addresses of
// WeCom's robots. In a body it is often the key of a task, which is none.
func Query(raw string) string {
	return pairs(raw, func(name string) bool { return Name(name) || strings.EqualFold(name, "key") })
}

// Form masks the secret fields of a form in a body.
func Form(raw string) string { return pairs(raw, Name) }

func pairs(raw string, hidden func(name string) bool) string {
	fields := strings.Split(raw, "&")
	for i, f := range fields {
		name, value, has := strings.Cut(f, "=")
		if plainName, err := url.QueryUnescape(name); err == nil && has && value != "" && hidden(plainName) {
			fields[i] = name + "=" + client.Masked
		}
	}
	return strings.Join(fields, "&")
}

// Body masks the secret fields of a body of a media type.
func Body(body, contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	trimmed := strings.TrimSpace(body)
	switch {
	case trimmed == "":
		return body
	case (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(body)):
		return object([]byte(body))
	case strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded"):
		return Form(body)
	}
	text, _ := Text(body)
	return text
}

// ContentType returns the content type that the header of a task declares for its body; empty:
// none.
func ContentType(header map[string]string) string {
	for name, value := range header {
		if strings.EqualFold(name, "Content-Type") {
			return value
		}
	}
	return ""
}

// object masks the secret fields of valid JSON.
func object(text []byte) string {
	w := walk{text: text, in: json.NewDecoder(bytes.NewReader(text))}
	w.in.UseNumber()
	if err := w.value(); err != nil { // cannot fail: it is valid
		return client.Masked
	}
	if w.done == 0 {
		return string(text)
	}
	return w.out.String() + string(text[w.done:])
}

type walk struct {
	text []byte
	in   *json.Decoder
	done int // bytes of text that were copied to out, or hidden
	out  strings.Builder
}

func (w *walk) value() error {
	token, err := w.in.Token()
	open, is := token.(json.Delim)
	if err != nil || !is {
		return err
	}
	for w.in.More() {
		if open == '{' {
			err = w.member()
		} else {
			err = w.value()
		}
		if err != nil {
			return err
		}
	}
	_, err = w.in.Token()
	return err
}

func (w *walk) member() error {
	name, err := w.in.Token()
	if err != nil {
		return err
	}
	if text, _ := name.(string); !Name(text) {
		return w.value()
	}
	var hidden json.RawMessage
	if err := w.in.Decode(&hidden); err != nil {
		return err
	}
	end := int(w.in.InputOffset())
	w.out.Write(w.text[w.done : end-len(hidden)])
	w.out.WriteString(`"` + client.Masked + `"`)
	w.done = end
	return nil
}

// fieldName finds the names of fields in invalid JSON, such as an answer that was cut.
var fieldName = regexp.MustCompile(`"([^"\\]{1,40})"\s*:\s*`)

// Text masks what looks like a secret in a text that is neither JSON nor a form.
func Text(s string) (text string, masked bool) {
	var out strings.Builder
	done := 0 // bytes of s that were copied to out, or hidden
	for _, m := range fieldName.FindAllStringSubmatchIndex(s, -1) {
		if m[0] < done || !Name(s[m[2]:m[3]]) {
			continue
		}
		if n := valueLen(s[m[1]:]); n > 0 {
			out.WriteString(s[done:m[1]] + `"` + client.Masked + `"`)
			done = m[1] + n
		}
	}
	if done == 0 {
		return s, false
	}
	return out.String() + s[done:], true
}

// valueLen returns the length of the text, number, object or array with which s begins. One that
// was cut ends with s. 0: s begins with another value.
func valueLen(s string) int {
	if s == "" || !strings.ContainsRune(`"{[`, rune(s[0])) {
		return len(s) - len(strings.TrimLeft(s, "0123456789.eE+-"))
	}
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
		if depth == 0 && !quoted {
			return i + 1
		}
	}
	return len(s)
}

// Headers masks the header of an answer, as [bellman.Attempt] keeps it. A Location is kept without
// what may be secret.
func Headers(kept map[string]string) map[string]string {
	if kept == nil {
		return nil
	}
	shown := client.MaskHeaders(kept)
	if to, has := kept["Location"]; has {
		shown["Location"] = URL(to)
	}
	return shown
}

package sign

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// field is the parameter that holds the signature.
const field = "sign"

// params signs sorted parameters, as WeChat Pay v2 does and the gateways that
// followed it.
//
// The parameters are the members of a body that is a JSON object, or those of a
// form body, or, where there is no body, those of the query. Names and values
// are taken decoded. A JSON string counts as its text; a number, true, false, an
// array or an object as it is written in the body, without white space between
// its tokens; null as empty. Empty values and "sign" itself are left out. What
// remains is sorted by the bytes of its names, written name=value, joined with &,
// and &key= and the secret are put behind it. MD5 of that, or HMAC-SHA256 with
// the secret as its key, in upper-case hex, becomes the parameter "sign", the
// last of the same body or query, in place of one that was there. The others are
// sent byte for byte as given.
//
// Two gateways do two things otherwise. jeepay and xxpay (JeepayKit.getSign,
// PayDigestUtil.getSign) sort the texts name=value& by String.CASE_INSENSITIVE_ORDER.
// roncoo-pay (MerchantApiUtil.getSign) writes &paySecret= and the secret, and leaves
// out values of white space alone.
type params struct {
	scheme string

	// sum returns the signature of the sorted parameters, to which it appends. A
	// function, so that nothing that prints a params can show the key.
	sum func(sorted []byte) string
}

func newParams(secrets [][]byte, scheme string) *params {
	secret, key := secrets[0], "key="
	if scheme == RoncooMD5 {
		key = "paySecret="
	}
	return &params{scheme: scheme, sum: func(text []byte) string {
		if len(text) > 0 {
			text = append(text, '&')
		}
		text = append(append(text, key...), secret...)
		var sum []byte
		if scheme == HMACParams {
			h := hmac.New(sha256.New, secret)
			h.Write(text)
			sum = h.Sum(nil)
		} else {
			s := md5.Sum(text)
			sum = s[:]
		}
		return strings.ToUpper(hex.EncodeToString(sum))
	}}
}

// A param is one parameter, and how it stands in the message.
type param struct {
	name, value string // decoded
	raw         string // as written, without separators
}

func (p *params) Sign(m *Message) error {
	list, form, err := parseParams(m)
	if err != nil {
		return err
	}
	signature := p.sum(sorted(list, p.scheme))
	list = slices.DeleteFunc(list, func(p param) bool { return p.name == field })
	switch form {
	case inJSON:
		m.Body = joinJSON(list, signature)
	case inForm:
		m.Body = []byte(joinForm(list, signature))
	default:
		m.Query = joinForm(list, signature)
	}
	return nil
}

func (p *params) Check(m *Message) error {
	_, _, err := parseParams(m)
	return err
}

func (p *params) Headers() []string { return nil }

type place uint8

const (
	inQuery place = iota
	inForm
	inJSON
)

func parseParams(m *Message) (list []param, in place, err error) {
	body := bytes.TrimSpace(m.Body)
	media, _, _ := mime.ParseMediaType(m.Header.Get("Content-Type"))
	switch {
	case len(body) == 0:
		list, err = parseForm(m.Query)
	case media == "application/x-www-form-urlencoded":
		in = inForm
		list, err = parseForm(string(m.Body))
	case body[0] == '{':
		in = inJSON
		list, err = parseJSON(body)
	default:
		return nil, 0, errors.New("parameters are signed in a JSON object, a form (Content-Type application/x-www-form-urlencoded) or a query: the body is neither")
	}
	if err != nil {
		return nil, 0, err
	}
	seen := make(map[string]bool, len(list))
	for _, p := range list {
		if seen[p.name] {
			return nil, 0, fmt.Errorf("parameter %.40q stands there twice: no receiver can tell which was signed", p.name)
		}
		seen[p.name] = true
	}
	return list, in, nil
}

// sorted returns the text that is signed, without the key.
func sorted(list []param, scheme string) []byte {
	list = slices.DeleteFunc(slices.Clone(list), func(p param) bool {
		return p.value == "" || p.name == field || scheme == RoncooMD5 && strings.TrimSpace(p.value) == ""
	})
	order := func(a, b param) int { return cmp.Compare(a.name, b.name) }
	if scheme == JeepayMD5 {
		order = func(a, b param) int { return ignoreCase(a.name+"="+a.value+"&", b.name+"="+b.value+"&") }
	}
	slices.SortStableFunc(list, order)
	text := make([]byte, 0, 512)
	for i, p := range list {
		if i > 0 {
			text = append(text, '&')
		}
		text = append(append(append(text, p.name...), '='), p.value...)
	}
	return text
}

// ignoreCase compares as Java's String.CASE_INSENSITIVE_ORDER does: character by
// character, in upper and then in lower case; what is the beginning of the other is
// less. Characters beyond U+FFFF are compared whole here.
func ignoreCase(a, b string) int {
	for a != "" && b != "" {
		x, m := utf8.DecodeRuneInString(a)
		y, n := utf8.DecodeRuneInString(b)
		x, y = unicode.ToLower(unicode.ToUpper(x)), unicode.ToLower(unicode.ToUpper(y))
		if x != y {
			return cmp.Compare(x, y)
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(len(a), len(b))
}

func parseForm(text string) ([]param, error) {
	var list []param
	for raw := range strings.SplitSeq(text, "&") {
		if raw == "" {
			continue
		}
		name, value, _ := strings.Cut(raw, "=")
		p := param{raw: raw}
		var err error
		if p.name, err = url.QueryUnescape(name); err == nil {
			p.value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return nil, errors.New("a parameter is not percent-encoded as a form must be")
		}
		list = append(list, p)
	}
	return list, nil
}

func joinForm(list []param, signature string) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.raw)
		b.WriteByte('&')
	}
	b.WriteString(field + "=" + signature)
	return b.String()
}

// parseJSON reads the members of an object. body has no white space at its ends.
func parseJSON(body []byte) ([]param, error) {
	broken := errors.New("the body begins as a JSON object and is none")
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, broken
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return nil, broken
	}
	var list []param
	for d.More() {
		start := int(d.InputOffset())
		start += len(body[start:]) - len(bytes.TrimLeft(body[start:], ", \t\r\n"))
		name, err := d.Token()
		if err != nil {
			return nil, broken
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, broken
		}
		p := param{raw: string(body[start:d.InputOffset()])}
		p.name, _ = name.(string)
		if p.value, err = textOf(value); err != nil {
			return nil, broken
		}
		list = append(list, p)
	}
	return list, nil
}

func textOf(value json.RawMessage) (string, error) {
	switch value[0] {
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case 'n':
		return "", nil
	case '{', '[':
		var b bytes.Buffer
		err := json.Compact(&b, value)
		return b.String(), err
	}
	return string(value), nil
}

func joinJSON(list []param, signature string) []byte {
	b := []byte{'{'}
	for _, p := range list {
		b = append(append(b, p.raw...), ',')
	}
	return append(b, `"`+field+`":"`+signature+`"}`...)
}

package sign

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// params signs parameters.
//
// The parameters are those of the body: the members of a JSON object, the elements of flat XML, or
// the fields of a form. Without a body they are those of the query. Names and values are decoded. A
// JSON string counts as its text, and null as the empty text. A number, true, false, an array or an
// object counts as it is written, without white space between its tokens.
//
// The signed text is name=value for each parameter, joined with &, followed by Key and the secret.
// The signature is its MD5, or its HMAC-SHA256 with the secret as the key, in hex. It becomes the
// last parameter of the same body or query, and replaces a parameter of that name. All others are
// sent byte for byte as given.
type params struct {
	Params
	scheme string

	// also are parameters that are added before the signature, and not signed.
	also []param

	// drop says that parameters without a value are not sent.
	drop bool

	// keyed says that Key and the secret follow the signed parameters.
	keyed bool

	// sum returns the signature of the parameters. It may append to text. It is a function, so that
	// printing a params cannot show the key.
	sum func(text []byte) (string, error)
}

func newParams(secrets [][]byte, scheme string, p Params) (*params, error) {
	if preset, is := map[string]string{JeepayMD5: "jeepay", RoncooMD5: "roncoo"}[scheme]; is {
		p = Params{Preset: preset}
	}
	p, err := p.complete()
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	secret := secrets[0]
	return &params{Params: p, scheme: scheme, keyed: true, sum: func(text []byte) (string, error) {
		text = append(p.appendKey(text), secret...)
		var sum []byte
		if scheme == HMACParams {
			h := hmac.New(sha256.New, secret)
			h.Write(text)
			sum = h.Sum(nil)
		} else {
			s := md5.Sum(text)
			sum = s[:]
		}
		if p.Case == "lower" {
			return hex.EncodeToString(sum), nil
		}
		return upperHex(sum), nil
	}}, nil
}

// appendKey appends the text between the parameters and the secret.
func (p *Params) appendKey(text []byte) []byte {
	if len(text) == 0 {
		return append(text, strings.TrimPrefix(p.Key, "&")...)
	}
	return append(text, p.Key...)
}

// A param is one parameter of a message.
type param struct {
	name, value string // decoded
	raw         string // as written, without separators
}

func (p *params) Sign(m *Message) error {
	list, form, err := p.parse(m)
	if err != nil {
		return err
	}
	signature, err := p.sum(p.text(list))
	if err != nil {
		return err
	}
	added := append(slices.Clip(p.also), param{name: p.Name, value: signature})
	switch form {
	case inJSON:
		m.Body = joinJSON(list, added)
	case inXML:
		m.Body = joinXML(m.Body, list, added)
	case inForm:
		m.Body = []byte(joinForm(list, added))
	default:
		m.Query = joinForm(list, added)
	}
	return nil
}

// parse reads the parameters of a message, without those that Sign replaces or leaves out.
func (p *params) parse(m *Message) (list []param, in place, err error) {
	list, in, err = parseParams(m)
	return slices.DeleteFunc(list, func(one param) bool {
		return one.name == p.Name || p.drop && one.value == "" || slices.ContainsFunc(p.also, func(a param) bool { return a.name == one.name })
	}), in, err
}

// Text returns the parameters as they are signed, with Key and [Hidden] behind them where Key and
// the secret are signed too.
func (p *params) Text(m *Message) ([]byte, error) {
	list, _, err := p.parse(m)
	if err != nil {
		return nil, err
	}
	text := p.text(list)
	if p.keyed {
		text = append(p.appendKey(text), Hidden...)
	}
	return text, nil
}

func (p *params) Check(m *Message) error {
	_, _, err := parseParams(m)
	return err
}

func (p *params) Scheme() string { return p.scheme }

func (p *params) Headers() []string { return nil }

type place uint8

const (
	inQuery place = iota
	inForm
	inJSON
	inXML
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
	case media == "text/xml" || media == "application/xml":
		in = inXML
		list, err = parseXML(body)
	default:
		return nil, 0, errors.New("parameters are signed in a JSON object, a form (Content-Type application/x-www-form-urlencoded), flat XML (text/xml) or a query: the body is none of them")
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

// text returns what is signed of parameters, without the key.
func (p *params) text(list []param) []byte {
	list = slices.DeleteFunc(slices.Clone(list), func(one param) bool {
		return p.Empty != "keep" && one.value == "" || p.Empty == "skip_blank" && strings.TrimSpace(one.value) == "" ||
			p.Fields != nil && !slices.Contains(p.Fields, one.name)
	})
	switch p.Order {
	case "sorted":
		slices.SortStableFunc(list, func(a, b param) int { return cmp.Compare(a.name, b.name) })
	case "ignore_case":
		slices.SortStableFunc(list, func(a, b param) int { return ignoreCase(a.name+"="+a.value+"&", b.name+"="+b.value+"&") })
	default:
		if p.Fields != nil {
			slices.SortStableFunc(list, func(a, b param) int {
				return cmp.Compare(slices.Index(p.Fields, a.name), slices.Index(p.Fields, b.name))
			})
		}
	}
	text := make([]byte, 0, 512)
	for i, one := range list {
		if i > 0 {
			text = append(text, '&')
		}
		text = append(append(append(text, one.name...), '='), one.value...)
	}
	return text
}

// ignoreCase compares as Java's String.CASE_INSENSITIVE_ORDER does: character by character,
// converted to upper and then to lower case; a prefix of the other text is less. Unlike Java, it
// compares a character beyond U+FFFF as a whole.
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

func joinForm(list, added []param) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.raw)
		b.WriteByte('&')
	}
	for i, p := range added {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value))
	}
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

func joinJSON(list, added []param) []byte {
	b := []byte{'{'}
	for _, p := range list {
		b = append(append(b, p.raw...), ',')
	}
	for i, p := range added {
		if i > 0 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(p.name) // a text always can
		b = append(append(append(append(b, name...), `:"`...), p.value...), '"')
	}
	return append(b, '}')
}

// parseXML reads the elements in the root of an XML document, which hold text alone.
func parseXML(body []byte) (list []param, err error) {
	flat := errors.New("the body is no XML document of one root with elements that hold text alone")
	d := xml.NewDecoder(bytes.NewReader(body))
	depth, start := 0, 0
	var one param
	for {
		before := int(d.InputOffset())
		token, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, flat
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > 2 || len(t.Attr) > 0 {
				return nil, flat
			}
			one, start = param{name: t.Name.Local}, before
		case xml.EndElement:
			if depth == 2 {
				one.raw = string(body[start:d.InputOffset()])
				list = append(list, one)
			}
			depth--
		case xml.CharData:
			if depth == 2 {
				one.value += string(t)
			} else if len(bytes.TrimSpace(t)) > 0 {
				return nil, flat
			}
		case xml.Directive, xml.Comment: // a directive could define entities
			return nil, flat
		}
	}
	if depth != 0 || len(list) == 0 {
		return nil, flat
	}
	return list, nil
}

// joinXML puts parameters into the root of the body that parseXML read.
func joinXML(body []byte, list, added []param) []byte {
	inner := bytes.IndexByte(body, '>')
	for body[inner-1] == '?' { // after the declaration
		inner += 1 + bytes.IndexByte(body[inner+1:], '>')
	}
	b := bytes.NewBuffer(bytes.Clone(body[:inner+1]))
	for _, p := range list {
		b.WriteString(p.raw)
	}
	for _, p := range added {
		b.WriteString("<" + p.name + ">" + p.value + "</" + p.name + ">") // hex, base64 or RSA2: nothing to escape
	}
	b.Write(body[bytes.LastIndex(body, []byte("</")):])
	return b.Bytes()
}

// Package lines reads files of merchants or accounts, one JSON object a line, and reports what is
// wrong with each line. Their registries check the values.
package lines

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/client"
)

// maxLine bounds the bytes of a line.
const maxLine = 8 << 20

// A Line is a line that is not empty.
type Line[T any] struct {
	N     int    // number in the file, from 1; empty lines count
	Entry T      // as far as it could be read
	ID    string // of the entry; empty: it has none, or could not be read
	Wrong error  // why the line cannot be imported, in English, the field first; nil: it can
}

// A Kind is what the lines of a file are.
type Kind[T any] struct {
	Noun string // merchant
	ID   string // the field that tells entries apart: merchant_no
	Of   func(*T) string
}

// The kinds of files.
var (
	Merchants = Kind[client.PutMerchant]{"merchant", "merchant_no", func(m *client.PutMerchant) string { return m.MerchantNo }}
	Accounts  = Kind[client.PutAccount]{"account", "account", func(a *client.PutAccount) string { return a.Account }}
)

// An AgainError says that an earlier line is about the same entry. The earlier line is imported.
type AgainError struct {
	Field, ID string
	First     int // line
}

func (e *AgainError) Error() string {
	return fmt.Sprintf("%s: %q stands in line %d already: want each once", e.Field, e.ID, e.First)
}

// Read yields the lines of a file in order. If the file cannot be read further, it yields an error
// that names the line, and ends.
func (k Kind[T]) Read(in io.Reader) iter.Seq2[Line[T], error] {
	return func(yield func(Line[T], error) bool) {
		s := bufio.NewScanner(in)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		first := map[string]int{} // the line of each entry
		n := 0
		for s.Scan() {
			n++
			text := s.Bytes()
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff")) // as some editors begin a file
			}
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			l := Line[T]{N: n}
			l.Entry, l.Wrong = k.parse(string(text))
			if l.ID = k.Of(&l.Entry); l.Wrong == nil && l.ID != "" {
				if at, again := first[l.ID]; again {
					l.Wrong = &AgainError{k.ID, l.ID, at}
				} else {
					first[l.ID] = n
				}
			}
			if !yield(l, nil) {
				return
			}
		}
		err := s.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("is longer than 8 MiB: want one %s a line", k.Noun)
		}
		if err != nil {
			yield(Line[T]{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// ErrNotUTF8 means that a line has another encoding.
var ErrNotUTF8 = errors.New("is not UTF-8")

// A TypeError says that a field has a value of the wrong type.
type TypeError struct {
	Field string       // with the objects around it: sign.secrets
	Got   string       // as JSON calls it: string, number, bool, array, object
	Want  reflect.Kind // of the field in Go
}

// Names of types for people.
var (
	got = map[string]string{
		"string": "text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object",
	}
	want = map[reflect.Kind]string{
		reflect.String: `text in quotes, such as "M1001"`, reflect.Int: "a whole number without quotes, such as 16",
		reflect.Int64: "a whole number without quotes, such as 8800", reflect.Bool: "true or false", reflect.Map: `an object of texts, such as {"…": "…"}`,
		reflect.Slice: `a list of texts, such as ["…"]`, reflect.Struct: `an object, such as {"…": …}`,
	}
)

func (e *TypeError) Error() string {
	return fmt.Sprintf("%s: has %s: want %s", e.Field, got[e.Got], cmp.Or(want[e.Want], "another type"))
}

// An UnknownError names a field that entries do not have.
type UnknownError string // in quotes

func (e UnknownError) Error() string {
	return "unknown field " + string(e) + ": mend its name, or leave it out"
}

// A TwiceError names a field that an object has twice. A decoder would take the last one.
type TwiceError string

func (e TwiceError) Error() string { return string(e) + ": is given twice: give it once" }

// parse reads one line.
func (k Kind[T]) parse(text string) (in T, err error) {
	if !utf8.ValidString(text) { // a decoder would replace invalid bytes
		return in, ErrNotUTF8
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&in); err != nil {
		return in, Undecoded(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, fmt.Errorf("has text behind its JSON: want one %s a line", k.Noun)
	}
	return in, once(json.NewDecoder(strings.NewReader(text)), "")
}

// Undecoded converts the error of a JSON decoder into one of this package, which names the field.
func Undecoded(why error) error {
	if e, is := errors.AsType[*json.UnmarshalTypeError](why); is && e.Field != "" {
		kind, _, _ := strings.Cut(e.Value, " ")
		return &TypeError{e.Field, kind, e.Type.Kind()}
	}
	if name, is := strings.CutPrefix(why.Error(), "json: unknown field "); is {
		return UnknownError(name)
	}
	return fmt.Errorf("is no JSON object: %w", why)
}

// Once returns a [TwiceError] if the object in text, which is valid JSON, has a field twice. It
// does not look into the values of the fields. Names of fields are compared without case.
func Once(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // as all names are
		folded := strings.ToLower(name)
		if seen[folded] {
			return TwiceError(name)
		}
		seen[folded] = true
		if err := d.Decode(new(json.RawMessage)); err != nil {
			return err
		}
	}
	return nil
}

// once reads a value, and returns a [TwiceError] if an object in it has a field twice. Names of
// fields are compared without case.
func once(d *json.Decoder, path string) error {
	begin, err := d.Token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for begin == json.Delim('{') || begin == json.Delim('[') {
		if !d.More() {
			_, err = d.Token()
			return err
		}
		at := path
		if begin == json.Delim('{') {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string) // as all names are
			at += name
			folded := strings.ToLower(name)
			if seen[folded] {
				return TwiceError(at)
			}
			seen[folded] = true
			at += "."
		}
		if err := once(d, at); err != nil {
			return err
		}
	}
	return nil
}

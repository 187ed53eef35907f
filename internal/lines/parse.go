package lines

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/client"
)

// ErrNotUTF8 is why a line in another encoding is no merchant.
var ErrNotUTF8 = errors.New("is not UTF-8")

// A TypeError says that a field has a value of another kind than it should have.
type TypeError struct {
	Field string       // with what it is in: sign.secrets
	Got   string       // as JSON calls it: string, number, bool, array, object
	Want  reflect.Kind // of the field in Go
}

// What a field has and should have, in words.
var (
	got = map[string]string{
		"string": "text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object",
	}
	want = map[reflect.Kind]string{
		reflect.String: `text in quotes, such as "M1001"`, reflect.Int: "a whole number without quotes, such as 16",
		reflect.Slice: `a list of texts, such as ["…"]`, reflect.Struct: `an object, such as {"…": …}`,
	}
)

func (e *TypeError) Error() string {
	return fmt.Sprintf("%s: has %s: want %s", e.Field, got[e.Got], want[e.Want])
}

// An UnknownError names a field that merchants do not have.
type UnknownError string // in quotes

func (e UnknownError) Error() string {
	return "unknown field " + string(e) + ": mend its name, or leave it out"
}

// A TwiceError names a field that an object has twice, of which a decoder takes the last.
type TwiceError string

func (e TwiceError) Error() string { return string(e) + ": is given twice: give it once" }

// parse reads one line.
func parse(text string) (in client.PutMerchant, err error) {
	if !utf8.ValidString(text) { // a decoder would replace what is not
		return in, ErrNotUTF8
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&in); err != nil {
		return in, unread(err)
	}
	if d.More() {
		return in, errors.New("has text behind its JSON: want one merchant a line")
	}
	return in, once(json.NewDecoder(strings.NewReader(text)), "")
}

// unread says why a decoder could not read a line.
func unread(why error) error {
	if e := (*json.UnmarshalTypeError)(nil); errors.As(why, &e) && e.Field != "" {
		kind, _, _ := strings.Cut(e.Value, " ")
		return &TypeError{e.Field, kind, e.Type.Kind()}
	}
	if name, is := strings.CutPrefix(why.Error(), "json: unknown field "); is {
		return UnknownError(name)
	}
	return fmt.Errorf("is no JSON object: %w", why)
}

// once reads a value, and returns a [TwiceError] if an object in it has a field twice. In
// upper and lower case a field is the same.
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
			if folded := strings.ToLower(name); seen[folded] {
				return TwiceError(at)
			} else {
				seen[folded] = true
			}
			at += "."
		}
		if err := once(d, at); err != nil {
			return err
		}
	}
	return nil
}

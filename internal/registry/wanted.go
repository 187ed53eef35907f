package registry

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/coded"
)

// MaxEntryName is the length of a name for people, in characters.
const MaxEntryName = 100

// A Request is the requested state of an entry.
type Request[T any] interface {
	// Names returns the ID of the entry, the version that it must still have, or "" or [None], and
	// fields that could not be parsed.
	Names() (id, version string, wrong []bellman.FieldError)

	// Make returns the entry as requested, and the errors of its fields. was is how it is; nil: it
	// does not exist, or its ID is wrong. The caller sets the ID and the times of the entry.
	Make(was *T, masters *Masters, now time.Time) (T, *bellman.Invalid)
}

// None is the version of an entry that does not exist.
const None = "none"

// stands returns an error if the entry no longer has the expected version. was is nil if it does
// not exist.
func (k *Kind[T, K]) stands(id, version string, was *Head) *ChangedError {
	switch {
	case version == "", version == None && was == nil, was != nil && version == was.Version():
		return nil
	case was == nil:
		return &ChangedError{Kind: k.Name, ID: id}
	}
	return &ChangedError{Kind: k.Name, ID: id, Version: was.Version(), At: was.Updated.Time}
}

// CheckID reports the errors of an ID in a field.
func CheckID(bad *bellman.Invalid, field, id string) {
	if id == "" {
		bad.Note(field, coded.Errorf("registry.required", "is required"))
		return
	}
	if !Text(bad, field, id, bellman.MaxName) {
		return
	}
	// IDs that look alike on every page would be different entries.
	for i, r := range id {
		if !unicode.IsPrint(r) || r == ' ' && (i == 0 || i == len(id)-1) {
			bad.Note(field, coded.Errorf("registry.unseen", "has a character that nobody sees, %U: want none", r))
			return
		}
	}
}

// CheckNew reports the errors of a new entry's ID. An earlier version allowed blanks inside: such
// merchants can still be changed.
func CheckNew(bad *bellman.Invalid, field, id string) {
	if strings.Contains(id, " ") {
		bad.Note(field, coded.Errorf("registry.blank", "has a blank: want one without"))
	}
}

// Text reports the errors of a text of at most that many characters. It returns whether there are
// none.
func Text(bad *bellman.Invalid, field, s string, most int) bool {
	if !Bounded(bad, field, s, most) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			bad.Note(field, coded.Errorf("registry.control", "has a control character"))
			return false
		}
	}
	return true
}

// Address reports the errors of an address, if there is one. allowed returns why an address is not
// allowed; nil: every address is.
func Address(bad *bellman.Invalid, field, address string, allowed func(string) error) {
	switch {
	case address == "" || !Text(bad, field, address, bellman.MaxURL):
	case strings.Contains(address, client.Masked):
		bad.Note(field, coded.Errorf("registry.masked", "*** stands for a secret that was hidden: want the whole address, which a key with the role admin exports"))
	case allowed != nil:
		if err := allowed(address); err != nil {
			bad.Note(field, err)
		}
	}
}

// Bounded is Text for a text that may have several lines.
func Bounded(bad *bellman.Invalid, field, s string, most int) bool {
	switch {
	case !utf8.ValidString(s):
		bad.Note(field, coded.Errorf("registry.not_utf8", "is not UTF-8"))
	case len(s) > most && utf8.RuneCountInString(s) > most:
		bad.Note(field, coded.Errorf("registry.long", "is longer than %d characters", most))
	default:
		return true
	}
	return false
}

// InOrder sorts errors by the order of the fields in a document.
func InOrder(fields []bellman.FieldError, order []string) {
	at := func(f bellman.FieldError) int {
		for _, mark := range []string{"[", "."} { // secrets[0], platform_keys.ID
			name, _, _ := strings.Cut(f.Field, mark)
			if i := slices.Index(order, name); i >= 0 {
				return i
			}
		}
		return len(order)
	}
	slices.SortStableFunc(fields, func(a, b bellman.FieldError) int { return at(a) - at(b) })
}

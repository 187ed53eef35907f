package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// A Head is what entries of every kind have. Their types embed it. Its JSON is a part of the
// document in the store.
type Head struct {
	ID      string   `json:"-"`                 // the document's name
	Name    string   `json:"name,omitempty"`    // for people
	Secrets []Secret `json:"secrets,omitempty"` // of each field the newest first
	Created Stamp    `json:"created_ms"`
	Updated Stamp    `json:"updated_ms"`

	kept []byte // the stored document; empty but not nil: none was stored yet
}

func (h *Head) head() *Head { return h }

// Version identifies the stored state of the entry: every change changes it.
func (h *Head) Version() string {
	sum := sha256.Sum256(h.kept)
	return hex.EncodeToString(sum[:8])
}

// Active returns the secrets that are valid at a time, and when that set changes; zero: never.
func (h *Head) Active(now time.Time) (active []Secret, changes time.Time) {
	for _, secret := range h.Secrets {
		switch {
		case secret.Until.IsZero():
		case !secret.Until.After(now):
			continue
		case changes.IsZero() || secret.Until.Before(changes):
			changes = secret.Until.Time
		}
		active = append(active, secret)
	}
	return active, changes
}

// A Stamp is a time in UTC, in whole milliseconds. Its JSON is Unix ms.
type Stamp struct{ time.Time }

// MarshalJSON writes Unix ms.
func (s Stamp) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, s.UnixMilli(), 10), nil }

// UnmarshalJSON reads Unix ms.
func (s *Stamp) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	s.Time = time.UnixMilli(ms).UTC()
	return err
}

// An Entry is a pointer to a type that embeds [Head].
type Entry[T any] interface {
	*T
	head() *Head
}

// A Kind says what the entries of a registry are. T is the type of an entry, K what it is used as.
type Kind[T, K any] struct {
	// Name is the kind of the documents, and the word for an entry in errors and audit records.
	// Hints use it for all changes.
	Name string

	IDField string // the name of the ID in errors: merchant_no

	// Know prepares an entry for use. active are its secrets that are valid now.
	Know func(e *T, active []Secret) K

	// Recorded returns the fields of an entry under the names of the API, with their values for an
	// audit record; never a secret. Of the zero T it returns the same fields.
	Recorded func(e *T) [][2]string

	// Index returns further documents that are written and deleted with an entry. Nil: none.
	Index func(e *T) []store.Doc

	// Touched returns keys besides the ID whose [Registry.Mark] changes with the entry. Nil: none.
	Touched func(e *T) []string
}

// The kinds of documents of a registry, besides its entries.
func (k *Kind[T, K]) nameKind() string   { return k.Name + "-name" }   // NAME, 0x1f, ID: finds entries by name
func (k *Kind[T, K]) changeKind() string { return k.Name + "-change" } // two hexadecimal digits, the number of a part: an entry of that part has changed
func (k *Kind[T, K]) masterKind() string { return k.Name + "-master" } // the id of a master key under which secrets may be sealed
func (k *Kind[T, K]) endKind() string    { return k.Name + "-end" }    // TIME, 0x1f, ID: a secret may end at that time, in Unix ms with fifteen digits

// Documents returns the kinds of all documents of a registry whose Kind has that Name, without
// those of its Index.
func Documents(name string) []string {
	k := Kind[Head, Head]{Name: name}
	return []string{name, k.nameKind(), k.changeKind(), k.masterKind(), k.endKind()}
}

// mark separates the parts of a document's name: a name has no control characters.
const mark = "\x1f"

// document returns the document of an entry, which replaces was; nil: there must be none.
func (r *Registry[T, P, K]) document(e P, was *T) store.Doc {
	d := store.DocOf(r.kind.Name, e.head().ID, e)
	d.Was = []byte{}
	if was != nil {
		d.Was = P(was).head().kept
	}
	return d
}

// parse reads what document wrote.
func (r *Registry[T, P, K]) parse(doc store.Doc) (e T, err error) {
	if err := json.Unmarshal(doc.Value, &e); err != nil {
		var none T
		return none, fmt.Errorf("read %s %q: %w", r.kind.Name, doc.Name, err)
	}
	h := P(&e).head()
	h.ID, h.kept = doc.Name, doc.Value
	return e, nil
}

// named returns the document that finds an entry by its name.
func (r *Registry[T, P, K]) named(h *Head) store.Doc {
	return store.Doc{Kind: r.kind.nameKind(), Name: fold(h.Name) + mark + h.ID, Value: []byte("{}")}
}

// fold maps names that differ only in upper and lower case to one text.
func fold(name string) string { return strings.ToLower(name) }

// Entries are divided into parts. Each write of an entry also writes the document of its part, so a
// process with a cache needs to read only these few documents.
const parts = 256

func partOf(id string) uint8 {
	h := uint32(2166136261) // FNV-1a: the stored names depend on it, so it must never change
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return uint8(h ^ h>>8)
}

// partOf returns the part whose change a document announces.
func (k *Kind[T, K]) partOf(d store.Doc) (part uint8, is bool) {
	if d.Kind != k.changeKind() {
		return 0, false
	}
	n, err := strconv.ParseUint(d.Name, 16, 8)
	return uint8(n), err == nil
}

// changed returns the document that announces a change in a part.
func (r *Registry[T, P, K]) changed(part uint8) store.Doc {
	return store.Doc{Kind: r.kind.changeKind(), Name: fmt.Sprintf("%02x", part), Value: []byte(`"` + bellman.NewID().String() + `"`)}
}

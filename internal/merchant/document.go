package merchant

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/store"
)

// The kinds of documents of the registry.
const (
	Kind = "merchant" // a merchant, by its number; hints use this kind for all of them

	nameKind   = "merchant-name"   // NAME, 0x1f, NUMBER: finds merchants by name
	changeKind = "merchant-change" // two hexadecimal digits, the number of a part: a merchant of that part has changed
	masterKind = "merchant-master" // the id of a master key under which secrets may be sealed
	endKind    = "merchant-end"    // TIME, 0x1f, NUMBER: a secret may end at that time, in Unix ms with fifteen digits
)

const nameEnd = "\x1f" // a name has no control characters

// document returns the document of a merchant, which replaces was; nil: there must be none.
func document(m, was *Merchant) store.Doc {
	d := store.Doc{Kind: Kind, Name: m.No, Value: encode(m), Was: []byte{}}
	if was != nil {
		d.Was = was.kept
	}
	return d
}

// encode returns the stored form of a merchant.
func encode(m *Merchant) []byte {
	value, err := json.Marshal(m)
	if err != nil {
		panic(err) // cannot fail: texts and finite numbers
	}
	return value
}

// parse reads what document wrote.
func parse(doc store.Doc) (Merchant, error) {
	m := Merchant{No: doc.Name, kept: doc.Value}
	if err := json.Unmarshal(doc.Value, &m); err != nil {
		return Merchant{}, fmt.Errorf("read merchant %q: %w", doc.Name, err)
	}
	return m, nil
}

// named returns the document that finds a merchant by its name.
func named(m *Merchant) store.Doc {
	return store.Doc{Kind: nameKind, Name: fold(m.Name) + nameEnd + m.No, Value: []byte("{}")}
}

// fold maps names that differ only in upper and lower case to one text.
func fold(name string) string { return strings.ToLower(name) }

// Merchants are divided into parts. Each write of a merchant also writes the document of its part, so a
// process with a cache needs to read only these few documents.
const parts = 256

func partOf(no string) uint8 {
	h := uint32(2166136261) // FNV-1a: the stored names depend on it, so it must never change
	for i := range len(no) {
		h = (h ^ uint32(no[i])) * 16777619
	}
	return uint8(h ^ h>>8)
}

func partName(part uint8) string { return fmt.Sprintf("%02x", part) }

// changed returns the document that announces a change in a part.
func changed(part uint8) store.Doc {
	return store.Doc{Kind: changeKind, Name: partName(part), Value: []byte(`"` + bellman.NewID().String() + `"`)}
}

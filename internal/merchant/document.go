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
	Kind = "merchant" // a merchant, by its number; hints name this one for all

	nameKind   = "merchant-name"   // NAME, 0x1f, NUMBER: who is found by a name
	changeKind = "merchant-change" // two hexadecimal digits: something of that part of the merchants changed
	masterKind = "merchant-master" // a master key's id: secrets may be sealed under it
	endKind    = "merchant-end"    // TIME, 0x1f, NUMBER: a secret may end then, in Unix ms of fifteen digits
)

const nameEnd = "\x1f" // a name has no control characters

// document returns what is to be kept of a merchant, where it is still was; nil: where
// there is none.
func document(m, was *Merchant) store.Doc {
	d := store.Doc{Kind: Kind, Name: m.No, Value: encode(m), Was: []byte{}}
	if was != nil {
		d.Was = was.kept
	}
	return d
}

// encode writes what is kept of a merchant.
func encode(m *Merchant) []byte {
	value, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts and finite numbers
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

// named is the document by which a merchant is found by its name.
func named(m *Merchant) store.Doc {
	return store.Doc{Kind: nameKind, Name: fold(m.Name) + nameEnd + m.No, Value: []byte("{}")}
}

// fold makes names that differ in upper and lower case the same.
func fold(name string) string { return strings.ToLower(name) }

// The merchants are in parts. Who writes a merchant writes its part's document too,
// and who keeps some in memory looks at these few documents.
const parts = 256

func partOf(no string) uint8 {
	h := uint32(2166136261) // FNV-1a: kept in the documents' names, so it must never change
	for i := range len(no) {
		h = (h ^ uint32(no[i])) * 16777619
	}
	return uint8(h ^ h>>8)
}

func partName(part uint8) string { return fmt.Sprintf("%02x", part) }

// changed is the document that says that a part has changed.
func changed(part uint8) store.Doc {
	return store.Doc{Kind: changeKind, Name: partName(part), Value: []byte(`"` + bellman.NewID().String() + `"`)}
}

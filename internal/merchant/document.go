package merchant

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

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

// kept is the JSON of a document.
type kept struct {
	Name        string        `json:"name,omitempty"`
	NotifyURL   string        `json:"notify_url,omitempty"`
	Scheme      string        `json:"scheme,omitempty"`
	Serial      string        `json:"serial,omitempty"`
	Secrets     []keptSecret  `json:"secrets,omitempty"`
	Schedule    string        `json:"schedule,omitempty"`
	Success     string        `json:"success,omitempty"`
	Timeout     time.Duration `json:"timeout_ns,omitempty"`
	Concurrency int           `json:"concurrency,omitempty"`
	Rate        float64       `json:"rate,omitempty"` // a second
	Created     int64         `json:"created_ms"`
	Updated     int64         `json:"updated_ms"`
}

type keptSecret struct {
	Sealed string `json:"sealed"`
	Ending string `json:"ending,omitempty"`
	Added  int64  `json:"added_ms"`
	Until  int64  `json:"until_ms,omitempty"`
}

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
	k := kept{
		Name: m.Name, NotifyURL: m.NotifyURL, Scheme: m.Sign.Scheme, Serial: m.Sign.Serial,
		Schedule: m.Schedule, Success: m.Success, Timeout: m.Timeout, Concurrency: m.Concurrency, Rate: m.Rate,
		Created: m.Created.UnixMilli(), Updated: m.Updated.UnixMilli(),
	}
	for _, s := range m.Sign.Secrets {
		secret := keptSecret{Sealed: s.Sealed, Ending: s.Ending, Added: s.Added.UnixMilli()}
		if !s.Until.IsZero() {
			secret.Until = s.Until.UnixMilli()
		}
		k.Secrets = append(k.Secrets, secret)
	}
	value, err := json.Marshal(k)
	if err != nil {
		panic(err) // texts and finite numbers
	}
	return value
}

// parse reads what document wrote.
func parse(doc store.Doc) (Merchant, error) {
	var k kept
	if err := json.Unmarshal(doc.Value, &k); err != nil {
		return Merchant{}, fmt.Errorf("read merchant %q: %w", doc.Name, err)
	}
	m := Merchant{
		No: doc.Name, Name: k.Name, NotifyURL: k.NotifyURL, Sign: Sign{Scheme: k.Scheme, Serial: k.Serial},
		Schedule: k.Schedule, Success: k.Success, Timeout: k.Timeout, Concurrency: k.Concurrency, Rate: k.Rate,
		Created: time.UnixMilli(k.Created).UTC(), Updated: time.UnixMilli(k.Updated).UTC(), kept: doc.Value,
	}
	for _, s := range k.Secrets {
		secret := Secret{Sealed: s.Sealed, Ending: s.Ending, Added: time.UnixMilli(s.Added).UTC()}
		if s.Until != 0 {
			secret.Until = time.UnixMilli(s.Until).UTC()
		}
		m.Sign.Secrets = append(m.Sign.Secrets, secret)
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

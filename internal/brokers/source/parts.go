package source

import (
	"bytes"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// parts find the parts of a JSON body that a mapping uses, in one pass over the body. After the
// last call of want, parts is safe for concurrent use.
type parts struct {
	root  place
	wants int
}

// A place is a path of field names that a mapping uses, or the beginning of one.
type place struct {
	slots []int // the slots of this path
	names []string
	below []*place // by field name
}

// A span is the position of a part in a body.
type span struct{ from, to int }

func (s span) has() bool             { return s.to > 0 }
func (s span) of(body []byte) []byte { return body[s.from:s.to] }

// want returns the slot of a path, which is a list of field names.
func (p *parts) want(names []string) int {
	at := &p.root
	for _, name := range names {
		next := at.child(name)
		if next == nil {
			next = new(place)
			at.names, at.below = append(at.names, name), append(at.below, next)
		}
		at = next
	}
	at.slots = append(at.slots, p.wants)
	p.wants++
	return p.wants - 1
}

// child returns the place of a field; nil: no mapping uses it.
func (p *place) child(name string) *place {
	if p == nil {
		return nil
	}
	if i := slices.Index(p.names, name); i >= 0 {
		return p.below[i]
	}
	return nil
}

// forget drops the parts found at p and below. If an object has a field twice, the last one counts,
// as in encoding/json.
func (p *place) forget(found []span) {
	for _, slot := range p.slots {
		found[slot] = span{}
	}
	for _, next := range p.below {
		next.forget(found)
	}
}

// find returns the spans of the parts by slot; nil: the body is not JSON. It uses the memory of buf
// if that is large enough.
func (p *parts) find(body []byte, buf []span) []span {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	found := append(buf[:0], make([]span, p.wants)...)
	if p.root.read(d, found) != nil {
		return nil
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil
	}
	return found
}

// read reads the next value and notes the spans of its parts.
func (p *place) read(d *jsontext.Decoder, found []span) error {
	switch {
	case p == nil:
		return d.SkipValue()
	case len(p.below) == 0 || d.PeekKind() != '{':
		value, err := d.ReadValue()
		p.note(int(d.InputOffset())-len(value), d, found)
		return err
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	from := int(d.InputOffset()) - 1
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		child := p.child(name.String())
		if child != nil {
			child.forget(found)
		}
		if err := child.read(d, found); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	p.note(from, d, found)
	return err
}

// note stores the span of the value that the decoder has just read; the value begins at from.
func (p *place) note(from int, d *jsontext.Decoder, found []span) {
	for _, slot := range p.slots {
		found[slot] = span{from, int(d.InputOffset())}
	}
}

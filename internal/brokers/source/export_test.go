package source

import "slices"

// WithoutPlain is a mapping that asks CEL for everything.
func (m *Mapping) WithoutPlain() *Mapping {
	byCEL := &Mapping{fields: slices.Clone(m.fields)}
	for i := range byCEL.fields {
		byCEL.fields[i].plain = nil
	}
	return byCEL
}

package source

import "slices"

// WithoutPlain returns a mapping that evaluates everything with CEL.
func (m *Mapping) WithoutPlain() *Mapping {
	byCEL := &Mapping{fields: slices.Clone(m.fields)}
	for i := range byCEL.fields {
		byCEL.fields[i].plain = nil
	}
	return byCEL
}

// Package invalidtest tells tests which fields an error is about.
package invalidtest

import (
	"errors"

	"github.com/bellmanhq/bellman"
)

// Fields returns the fields of a *bellman.Invalid that err is or wraps, in its order; nil: err is
// another error, or nil.
func Fields(err error) (fields []string) {
	if invalid, is := errors.AsType[*bellman.Invalid](err); is {
		for _, f := range invalid.Fields {
			fields = append(fields, f.Field)
		}
	}
	return fields
}

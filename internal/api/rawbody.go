package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// A rawBody is a body of type T as it was received. Its operation skips huma's check and calls
// checker.read, so that one answer lists the mistakes of the schema and those of the registry.
type rawBody[T any] struct{ raw []byte }

// Schema returns T's schema, for the OpenAPI document.
func (rawBody[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// keep copies data: it is in a buffer of huma's that the next request gets before this one's
// handler runs.
func (s *rawBody[T]) keep(data []byte) { s.raw = bytes.Clone(data) }

// A checker decodes values of type T by T's schema. It is safe for concurrent use.
type checker[T any] struct {
	registry huma.Registry
	schema   *huma.Schema
}

func newChecker[T any]() checker[T] {
	r := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	return checker[T]{r, r.Schema(reflect.TypeFor[T](), true, "")}
}

// read decodes the value at a location. Fields that violate the schema are in faulty, and not in v.
// A problem concerns the whole value: it is no JSON, or of another type. The value of the field
// named free may have fields twice.
func (c checker[T]) read(data []byte, location, free string) (v T, faulty []bellman.FieldError, refused *client.Problem) {
	if err := strict(data, free); err != nil {
		return v, nil, malformed(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return v, nil, malformed(err)
	}
	var found huma.ValidateResult
	huma.Validate(c.registry, c.schema, huma.NewPathBuffer([]byte(location), len(location)), huma.ModeWriteToServer, tree, &found)
	if len(found.Errors) == 0 {
		if err := json.Unmarshal(data, &v); err != nil {
			return v, nil, malformed(err)
		}
		return v, nil, nil
	}
	for _, err := range found.Errors[:min(len(found.Errors), maxFaults)] {
		f := fault(err.(*huma.ErrorDetail)) // Validate adds no other type
		field, below := strings.CutPrefix(f.Location, location+".")
		if !below {
			return v, nil, newProblem(http.StatusUnprocessableEntity, wrong(1), f)
		}
		faulty = append(faulty, bellman.FieldError{Field: field, Problem: f.Message})
		without(tree, field)
	}
	rest, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(rest, &v)
	}
	if err != nil {
		return v, nil, malformed(err)
	}
	return v, faulty, nil
}

// without removes a field such as sign.secrets[2] from an object: of an array, the whole array.
func without(tree any, field string) {
	object, is := tree.(map[string]any)
	if !is {
		return
	}
	name, rest, below := strings.Cut(field, ".")
	name, _, element := strings.Cut(name, "[")
	if below && !element {
		without(object[name], rest)
		return
	}
	delete(object, name)
}

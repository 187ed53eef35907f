package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// A sent is a body of type T as it came. Its operation skips huma's check and calls checker.read,
// so that one answer names what the schema refuses and what the registry refuses.
type sent[T any] struct{ raw []byte }

// Schema is T's, for the OpenAPI document.
func (sent[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

func (s *sent[T]) keep(data []byte) { s.raw = data }

// A checker reads values of type T by T's schema. It is safe for concurrent use.
type checker[T any] struct {
	registry huma.Registry
	schema   *huma.Schema
}

func newChecker[T any]() checker[T] {
	r := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	return checker[T]{r, r.Schema(reflect.TypeFor[T](), true, "")}
}

// read decodes a value at a location. Fields that the schema refuses are in faulty and not in v. The
// problem is of the whole value: it is malformed, or of another type. The value of a field named free
// may have fields twice.
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
		f := fault(err.(*huma.ErrorDetail)) // Validate adds no other
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

// without takes a field such as sign.secrets[2] out of an object: an array as a whole.
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

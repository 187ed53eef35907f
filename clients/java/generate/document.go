package main

import (
	"encoding/json"
	"strings"
)

// A doc is what is read of an OpenAPI document.
type doc struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

type operation struct {
	OperationID          string
	Summary, Description string
	Parameters           []struct {
		Name, In, Description string
		Schema                *schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 types
	Format, Description  string
	Enum                 []string
	Items                *schema
	Properties           map[string]*schema
	Required             []string
	AnyOf                []*schema
	AdditionalProperties json.RawMessage
}

// types is one type or several.
type types []string

func (t *types) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		*t = make(types, 1)
		return json.Unmarshal(text, &(*t)[0])
	}
	return json.Unmarshal(text, (*[]string)(t))
}

const refs = "#/components/schemas/"

// ref is the name of the schema that s is, or may be; empty: it has no name.
func (s *schema) ref() string {
	for _, one := range s.AnyOf {
		if one.Ref != "" {
			return strings.TrimPrefix(one.Ref, refs)
		}
	}
	return strings.TrimPrefix(s.Ref, refs)
}

// reach adds all named schemas that s leads to.
func (d *doc) reach(s *schema, seen map[string]bool) {
	if s == nil {
		return
	}
	if name := s.ref(); name != "" && !seen[name] {
		seen[name] = true
		d.reach(d.Components.Schemas[name], seen)
	}
	d.reach(s.Items, seen)
	for _, p := range s.Properties {
		d.reach(p, seen)
	}
}

// uploads reports whether the body of an operation is a file.
func (o *operation) uploads() bool {
	return o.RequestBody != nil && o.RequestBody.Content["application/json"].Schema == nil
}

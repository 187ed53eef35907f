package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// A schema has the part of JSON Schema that the document of the API uses.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Default     any               `json:"default"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	MaxLength   int               `json:"maxLength"`
	Format      string            `json:"format"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
}

// shape describes the values of a schema in a few words, with links to schemas that have their own
// description.
func (s schema) shape() string {
	if name := strings.TrimPrefix(s.Ref, "#/components/schemas/"); name != "" {
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	var parts []string
	if s.Type != nil {
		parts = append(parts, fmt.Sprint(s.Type))
	}
	if s.Items != nil {
		parts = []string{"array of " + s.Items.shape()}
	}
	if len(s.Enum) > 0 {
		parts = nil
		for _, v := range s.Enum {
			parts = append(parts, tick(fmt.Sprint(v)))
		}
	}
	if s.Format == "date-time" {
		parts = append(parts, "RFC 3339")
	}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("%v–%v", *s.Minimum, *s.Maximum))
	}
	if s.MaxLength > 0 {
		parts = append(parts, fmt.Sprintf("≤ %d", s.MaxLength))
	}
	if s.Default != nil {
		parts = append(parts, fmt.Sprintf("default %v", s.Default))
	}
	return strings.Join(parts, ", ")
}

func apiPage(p *sheet) {
	type media map[string]struct{ Schema schema }
	var doc struct {
		Info  struct{ Description string }
		Paths map[string]map[string]struct {
			Summary, Description string
			Parameters           []struct {
				Name, In, Description string
				Required              bool
				Schema                schema
			}
			RequestBody *struct{ Content media }
			Responses   map[string]struct {
				Description string
				Content     media
			}
		}
		Components struct{ Schemas map[string]schema }
	}
	text, err := os.ReadFile("../../clients/openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	of := func(m media) (all string) {
		for _, kind := range slices.Sorted(maps.Keys(m)) {
			all = cmp.Or(m[kind].Schema.shape(), kind)
		}
		return all
	}
	p.heading(1, titles["api"])
	p.text(doc.Info.Description)
	p.text("Every refusal is application/problem+json: see Problem below. The same document for generators is at `/openapi.json`.")
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			o := doc.Paths[path][method]
			fmt.Fprintf(p, "## %s %s\n\n", strings.ToUpper(method), path)
			p.text(o.Summary)
			if o.Description != "" {
				p.text(o.Description)
			}
			var rows [][]string
			for _, a := range o.Parameters {
				rows = append(rows, []string{tick(a.Name), p.w(a.In), a.Schema.shape(), p.w(a.Description)})
			}
			if o.RequestBody != nil {
				rows = append(rows, []string{"", p.w("body"), of(o.RequestBody.Content), ""})
			}
			p.table("Name, In, Values, Meaning", rows)
			rows = nil
			for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
				if status == "default" { // a Problem, described at the top of the page
					continue
				}
				rows = append(rows, []string{status, of(o.Responses[status].Content), p.w(o.Responses[status].Description)})
			}
			p.table("Status, Body, Meaning", rows)
		}
	}
	p.heading(2, "Bodies")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		s := doc.Components.Schemas[name]
		fmt.Fprintf(p, "### %s\n\n", name)
		var rows [][]string
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			f := s.Properties[field]
			must := ""
			if slices.Contains(s.Required, field) {
				must = p.w("yes")
			}
			rows = append(rows, []string{tick(field), must, f.shape(), p.w(f.Description)})
		}
		p.table("Field, Always, Values, Meaning", rows)
	}
}

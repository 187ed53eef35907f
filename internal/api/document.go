package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/bellmanhq/bellman/client"
)

// described is the introduction of the document.
const described = "Tasks are attempted on a schedule until their answer ends them. Times are RFC 3339 in UTC with milliseconds, durations are text (\"15s\"). A body is read as JSON whatever its Content-Type says. A newer server may answer with more fields, and with values that an enum does not have here: ignore the former, expect the latter."

// groups are the tags, each with the first path segment of its operations.
var groups = []struct{ name, description, parts string }{
	{"tasks", "Create, read, send again, cancel.", "tasks keys resends"},
	{"orders", "Everything about one order; decide it, settle many; compare them with the channel's bill.", "orders reconciliations"},
	{"accounts", "Accounts at payment channels: whose they are, their keys and rates.", "accounts account-export"},
	{"merchants", "Addresses, keys, rules and pauses of merchants; links that show them their notices.", "merchants merchant-export links"},
	{"operation", "Queues, endpoints, nodes, figures, records.", "queues endpoints nodes sources alarms attention stats events audit backup"},
	{"server", "Whether it is alive, and this document.", "healthz readyz metrics openapi.json"},
}

// group returns the tag of a path.
func group(path string) string {
	part := strings.Split(strings.TrimPrefix(path, "/v1"), "/")[1]
	if strings.HasPrefix(path, keyedPath) {
		part = "keys"
	}
	for _, g := range groups {
		if slices.Contains(strings.Fields(g.parts), part) {
			return g.name
		}
	}
	return ""
}

// Document returns the OpenAPI document of a server with every option, including metrics.
func Document(version string) ([]byte, error) {
	a, err := New(Options{Engine: struct{ Engine }{}, Version: version, Metrics: http.NotFoundHandler()}) // nobody calls it
	if err != nil {
		return nil, err
	}
	return a.docText, nil
}

// document completes the document of huma, and returns its text.
func document(doc *huma.OpenAPI) ([]byte, error) {
	schemas := doc.Components.Schemas
	problem := schemas.Schema(reflect.TypeFor[client.Problem](), true, "Problem")
	for path, item := range doc.Paths {
		for _, op := range operations(item) {
			op.Tags = []string{group(path)}
			for _, p := range op.Parameters {
				if p.Schema.Type == huma.TypeInteger {
					p.Schema.Format = "int32"
				}
			}
			op.Responses["default"] = &huma.Response{
				Description: "A refusal.",
				Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
			}
			delete(op.Responses, "422")
			delete(op.Responses, "500")
			if rest, is := strings.CutPrefix(path, taskPath); is {
				doc.AddOperation(keyedTwin(op, keyedPath+rest))
			}
		}
	}
	for _, g := range groups {
		doc.Tags = append(doc.Tags, &huma.Tag{Name: g.name, Description: g.description})
	}
	delete(schemas.Map(), "ErrorModel")
	delete(schemas.Map(), "ErrorDetail")
	for _, field := range []struct{ schema, name string }{
		{"Task", "last"}, {"TaskDetail", "last"}, {"Queue", "paused"}, {"Endpoint", "paused"}, {"Endpoint", "last_hour"}, {"Hour", "last_failure"}, {"Attention", "failure"},
	} {
		s := schemas.Map()[field.schema]
		if s == nil || s.Properties[field.name] == nil {
			return nil, errors.New("there is no " + field.schema + "." + field.name)
		}
		s.Properties[field.name] = &huma.Schema{
			Description: s.Properties[field.name].Description,
			AnyOf:       []*huma.Schema{{Ref: s.Properties[field.name].Ref}, {Type: "null"}},
		}
	}
	for name, s := range schemas.Map() {
		integers(s, schemas.TypeFromRef("#/components/schemas/"+name))
	}
	return opened(doc)
}

// integers sets the width of integers in a schema: an int becomes int32 in generated clients; an
// int64 may be larger, and is below 2^53.
func integers(s *huma.Schema, of reflect.Type) {
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if p := s.Properties[name]; p != nil && kind.Kind() == reflect.Int {
			p.Format = "int32"
		}
	}
}

// opened writes the document so that answers may have more fields than it names: a client that is
// older than its server keeps working.
func opened(doc *huma.OpenAPI) ([]byte, error) {
	asked := make(map[string]bool)
	var ask func(s *huma.Schema)
	ask = func(s *huma.Schema) {
		if s == nil {
			return
		}
		if name, is := strings.CutPrefix(s.Ref, "#/components/schemas/"); is && !asked[name] {
			asked[name] = true
			ask(doc.Components.Schemas.Map()[name])
		}
		ask(s.Items)
		for _, p := range s.Properties {
			ask(p)
		}
	}
	for _, item := range doc.Paths {
		for _, op := range operations(item) {
			if op.RequestBody == nil {
				continue
			}
			if body := op.RequestBody.Content["application/json"]; body != nil {
				ask(body.Schema)
			}
		}
	}
	for name, s := range doc.Components.Schemas.Map() {
		if closed := s.AdditionalProperties; !asked[name] {
			s.AdditionalProperties = nil
			defer func() { s.AdditionalProperties = closed }() // this server returns no further fields
		}
	}
	return json.Marshal(doc)
}

func operations(item *huma.PathItem) []*huma.Operation {
	return slices.DeleteFunc([]*huma.Operation{item.Get, item.Post, item.Put, item.Delete}, func(op *huma.Operation) bool { return op == nil })
}

// keyedTwin returns an operation on a task by queue and key instead of id.
func keyedTwin(op *huma.Operation, path string) *huma.Operation {
	twin := *op
	twin.OperationID += "-by-key"
	twin.Path = path
	twin.Description = strings.TrimSpace(op.Description + " The key's slashes may be escaped (%2F), which is always exact, or not.")
	text := &huma.Schema{Type: huma.TypeString}
	twin.Parameters = []*huma.Param{
		{Name: "queue", In: "path", Required: true, Schema: text},
		{Name: "key", In: "path", Required: true, Schema: text},
	}
	for _, p := range op.Parameters {
		if p.In != "path" {
			twin.Parameters = append(twin.Parameters, p)
		}
	}
	return &twin
}

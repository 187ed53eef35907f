package api

import (
	"encoding/json"
	"os"
	"testing"
)

// A linter of OpenAPI documents (redocly, with its recommended rules) requires a server, and for
// every operation whether it needs a key.
func TestDocumentNamesServersAndSecurity(t *testing.T) {
	text, err := os.ReadFile("../../clients/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct{ Security *[]map[string][]string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Servers) == 0 || doc.Servers[0].URL == "" || len(doc.Paths) < 20 {
		t.Errorf("servers %+v, and %d paths", doc.Servers, len(doc.Paths))
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Security == nil {
				t.Errorf("%s %s does not say whether it takes a key", method, path)
			}
		}
	}
}

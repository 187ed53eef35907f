// Package clients_test tests the clients of other languages against a real server, and against the
// OpenAPI document from which they are made.
package clients_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/bellmanhq/bellman/internal/api"
)

var update = flag.Bool("update", false, "write clients/openapi.json")

// The document in the repository is the one that a server serves.
func TestDocument(t *testing.T) {
	text, err := api.Document("dev")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if *update {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("openapi.json is not what the server serves: make clients")
	}
}

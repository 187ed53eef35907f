package check

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// cyclonedx compiles the schema of CycloneDX. testdata has it and the schemas to which it refers,
// as the project publishes them.
func cyclonedx(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, name := range []string{"bom-1.6", "spdx", "jsf-0.82"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".SNAPSHOT.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("http://cyclonedx.org/schema/"+name+".SNAPSHOT.schema.json", schema); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.SNAPSHOT.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every bill of materials of make dist is valid by the schema of CycloneDX. DIST names their
// directory.
func TestBills(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(cmp.Or(os.Getenv("DIST"), "../../dist"), "*.cdx.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("no bill of materials was made, %v: make dist makes them", err)
	}
	schema := cyclonedx(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bill, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := schema.Validate(bill); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		// A schema that takes everything would prove nothing.
		bill.(map[string]any)["components"].([]any)[0].(map[string]any)["type"] = "thing"
		if schema.Validate(bill) == nil {
			t.Error("the schema took a component of type thing")
		}
	}
}

// Command generate writes the generated part of the Java client from the OpenAPI
// document: a record for each schema, an enum for each set of values, and one
// method for each operation. It knows as much of OpenAPI as the document uses, and
// fails on what it does not know.
//
//	go run ./clients/java/generate clients/openapi.json DIRECTORY
//
// Existing generators do not fit: the registries from which this repository builds have OpenAPI
// Generator only in a release of 2020, which cannot read OpenAPI 3.1. Others write types without
// calls, or need a framework at run time.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate OPENAPI-DOCUMENT DIRECTORY")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate replaces the files in dir by what is made from a document.
func generate(document, dir string) error {
	text, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	var d doc
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	files, err := d.files()
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".java"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files are all classes, by name.
func (d *doc) files() (map[string][]byte, error) {
	m, err := d.model()
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	write := func(name, template string, of any) error {
		var b bytes.Buffer
		if err := java.ExecuteTemplate(&b, template, of); err != nil {
			return err
		}
		if files[name] != nil {
			return fmt.Errorf("two things are called %s", name)
		}
		files[name] = b.Bytes()
		return nil
	}
	for _, e := range m.Enums {
		if err := write(e.Name, "enum", e); err != nil {
			return nil, err
		}
	}
	for _, r := range m.Records {
		if err := write(r.Name, "record", r); err != nil {
			return nil, err
		}
	}
	return files, write("Operations", "operations", m)
}

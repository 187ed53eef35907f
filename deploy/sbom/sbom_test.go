package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Every module that was linked into a program is in its bill, once, and everything
// that something depends on is there.
func TestBill(t *testing.T) {
	p, err := open(os.Args[0]) // this test: a program with no module beside its own
	if err != nil {
		t.Fatal(err)
	}
	p.version = "v1.2.3"
	u, err := read(strings.NewReader(`
{"ImportPath": "fmt", "Standard": true}
{"ImportPath": "example.org/a/x", "Imports": ["fmt", "example.org/b"], "Module": {"Path": "example.org/a"}}
{"ImportPath": "example.org/a/y", "Imports": ["example.org/a/x"], "Module": {"Path": "example.org/a"}}
{"ImportPath": "example.org/b", "Imports": ["example.org/test"], "Module": {"Path": "example.org/b"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := u.of("example.org/a"); !slices.Equal(got, []string{"example.org/b", standard}) {
		t.Errorf("example.org/a uses %q; want example.org/b and std", got)
	}
	bill := document(p, u)
	seen := map[string]bool{bill.Metadata.Component.Ref: true}
	for _, c := range bill.Components {
		if seen[c.Ref] {
			t.Errorf("%s is there twice", c.Ref)
		}
		seen[c.Ref] = true
	}
	if want := "pkg:golang/std@" + strings.TrimPrefix(runtime.Version(), "go"); !seen[want] {
		t.Errorf("the bill lacks %s", want)
	}
	for _, d := range bill.Dependencies {
		if !seen[d.Ref] || slices.ContainsFunc(d.On, func(ref string) bool { return !seen[ref] }) {
			t.Errorf("%s depends on %q, which are not all there", d.Ref, d.On)
		}
	}
	if first, second := marshal(t, bill), marshal(t, document(p, u)); !bytes.Equal(first, second) {
		t.Error("two bills of one program differ")
	}
}

func TestPURL(t *testing.T) {
	if got, want := purl("example.org/a/v2", "v2.0.0+incompatible"), "pkg:golang/example.org/a/v2@v2.0.0%2Bincompatible"; got != want {
		t.Errorf("purl() = %s, want %s", got, want)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

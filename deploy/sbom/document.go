package main

import (
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// A bom is a CycloneDX 1.6 document: https://cyclonedx.org/docs/1.6/json/
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licenses   []licensed `json:"licenses,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licensed struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// document describes the parts of a program. Modules are ordered by path, as the linker recorded
// them, with the standard library last.
func document(p program, u uses) bom {
	main := component{
		Ref:     purl(p.info.Main.Path, p.version),
		Type:    "application",
		Name:    p.file,
		Version: p.version,
		Hashes:  []hash{{"SHA-256", hex.EncodeToString(p.sum[:])}},
		PURL:    purl(p.info.Main.Path, p.version),
	}
	main.Licenses = make([]licensed, 1)
	main.Licenses[0].License.ID = "Apache-2.0"
	for _, s := range p.info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	refs := map[string]string{p.info.Main.Path: main.Ref}
	var parts []component
	for _, m := range p.info.Deps {
		parts = append(parts, library(m))
		refs[m.Path] = parts[len(parts)-1].Ref
	}
	std := library(&debug.Module{Path: standard, Version: strings.TrimPrefix(p.info.GoVersion, "go")})
	parts = append(parts, std)
	refs[standard] = std.Ref

	var on []dependency
	add := func(path string) {
		d := dependency{Ref: refs[path], On: []string{}}
		for _, other := range u.of(path) {
			if refs[other] != "" { // modules that only tests use are not linked
				d.On = append(d.On, refs[other])
			}
		}
		on = append(on, d)
	}
	add(p.info.Main.Path)
	for _, m := range p.info.Deps {
		add(m.Path)
	}
	add(standard)
	return bom{
		Schema:       "http://cyclonedx.org/schema/bom-1.6.schema.json",
		Format:       "CycloneDX",
		Spec:         "1.6",
		Serial:       serial(p.sum[:]),
		Version:      1,
		Metadata:     metadata{p.made.Format(time.RFC3339), main},
		Components:   parts,
		Dependencies: on,
	}
}

// library describes a linked module. If it is replaced, the replacement is described.
func library(m *debug.Module) component {
	path, as := m.Path, m
	if m.Replace != nil {
		as = m.Replace
	}
	c := component{Ref: purl(path, as.Version), Type: "library", Name: path, Version: as.Version, Scope: "required", PURL: purl(as.Path, as.Version)}
	if as.Sum != "" {
		c.Properties = []property{{"go:sum", as.Sum}}
	}
	return c
}

// purl returns the package URL of a module's version: https://github.com/package-url/purl-spec
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// serial makes a UUID of version 8 (custom) from a program's checksum.
func serial(sum []byte) string {
	var id [16]byte
	copy(id[:], sum)
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

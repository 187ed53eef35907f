package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
)

// uses holds the modules that each module imports from, by path.
type uses map[string]map[string]bool

// standard is the path that stands for the standard library.
const standard = "std"

// read reads the output of go list for packages.
func read(in io.Reader) (uses, error) {
	type listedPackage struct {
		ImportPath string
		Imports    []string
		Standard   bool
		Module     *struct{ Path string }
	}
	of := make(map[string]string) // module by package
	var all []listedPackage
	for d := json.NewDecoder(in); ; {
		var p listedPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if p.Module != nil {
			of[p.ImportPath] = p.Module.Path
		} else if p.Standard {
			of[p.ImportPath] = standard
		}
		all = append(all, p)
	}
	found := make(uses)
	for _, p := range all {
		from := of[p.ImportPath]
		if found[from] == nil {
			found[from] = make(map[string]bool)
		}
		for _, path := range p.Imports {
			if to := of[path]; to != "" && to != from {
				found[from][to] = true
			}
		}
	}
	return found, nil
}

// of returns the modules that a module uses, in order.
func (u uses) of(module string) []string { return slices.Sorted(maps.Keys(u[module])) }

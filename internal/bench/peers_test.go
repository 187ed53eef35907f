package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestPeersFindTheirNames checks that the names which the module in peers uses exist. It is a
// module of its own, so no other test compiles it.
func TestPeersFindTheirNames(t *testing.T) {
	declared := map[string]map[string]bool{"bench": namesIn(t, "."), "scratch": namesIn(t, "scratch")}
	used := 0
	for _, file := range parsed(t, "peers") {
		ast.Inspect(file, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if of, is := s.X.(*ast.Ident); is && declared[of.Name] != nil {
				used++
				if !declared[of.Name][s.Sel.Name] {
					t.Errorf("peers uses %s.%s, which does not exist", of.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
	if used == 0 {
		t.Error("peers uses no name of bench: want some")
	}
}

// namesIn returns the names that the package in a folder declares.
func namesIn(t *testing.T, dir string) map[string]bool {
	names := map[string]bool{}
	for _, file := range parsed(t, dir) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

// parsed returns the files of a folder that are not tests.
func parsed(t *testing.T, dir string) (files []*ast.File) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

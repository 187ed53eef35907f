package bellman_test

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of the engine have a reading order: no file uses a name from a file that uses its own
// names, directly or through other files.
func TestFilesHaveAnOrder(t *testing.T) {
	if build.Default.GOROOT == "" { // the test was built with -trimpath
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(root))
	}
	folder, err := build.ImportDir("engine", 0)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	fset := token.NewFileSet()
	for _, name := range folder.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join("engine", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check(folder.ImportPath, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	uses := make(map[string]map[string]string) // file → file → one name
	for id, object := range info.Uses {
		if from, to := fileOf(id.Pos()), fileOf(object.Pos()); object.Pkg() == pkg && from != to {
			if uses[from] == nil {
				uses[from] = make(map[string]string)
			}
			uses[from][to] = object.Name()
		}
	}
	if len(uses) < 30 {
		t.Fatalf("only %d files use names of others, so the test shows too little", len(uses))
	}
	done := make(map[string]bool)
	var path []string
	var visit func(string)
	visit = func(file string) {
		if i := slices.Index(path, file); i >= 0 {
			circle := append(slices.Clone(path[i:]), file)
			var text strings.Builder
			for i, from := range circle[:len(circle)-1] {
				text.WriteString("\n\t" + from + " uses " + uses[from][circle[i+1]] + " of " + circle[i+1])
			}
			t.Fatalf("files use each other in a circle:%s", text.String())
		}
		if done[file] {
			return
		}
		path = append(path, file)
		for _, to := range slices.Sorted(maps.Keys(uses[file])) {
			visit(to)
		}
		path = path[:len(path)-1]
		done[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		visit(file)
	}
}

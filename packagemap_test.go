package bellman_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list of packages in DESIGN.md names every package of the tree and no other. Programs in
// examples and deploy/check, and test suites below a package, need no line.
func TestPackageMap(t *testing.T) {
	text, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## 3. Packages\n\n```\n")
	list, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("DESIGN.md has no list of packages in its third section")
	}
	var listed []string
	for line := range strings.Lines(list) {
		names := regexp.MustCompile(`^((?:[a-z][a-z0-9/]* ?)+?) {2,}|^((?:[a-z]+/[a-z/]+ )+)`).FindString(line)
		listed = append(listed, strings.Fields(names)...)
	}
	err = filepath.WalkDir(".", func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case dir != "." && strings.ContainsAny(entry.Name()[:1], "._"), entry.Name() == "testdata",
			slices.Contains([]string{"examples", "deploy/check", "node_modules"}, filepath.ToSlash(dir)),
			strings.HasSuffix(dir, "test") && entry.Name() != "storetest":
			return fs.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			return err
		}
		name := filepath.ToSlash(dir)
		switch name {
		case ".":
			name = "bellman"
		case "clients", "deploy": // only tests
			return nil
		}
		if i := slices.Index(listed, name); i >= 0 {
			listed = slices.Delete(listed, i, i+1)
			return nil
		}
		t.Errorf("DESIGN.md has no line for the package %s", name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) > 0 {
		t.Errorf("DESIGN.md lists packages that do not exist: %s", strings.Join(listed, ", "))
	}
}

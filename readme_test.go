package bellman_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The program in the README runs and prints what the README says.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(text)
	if program == nil {
		t.Fatal("README.md has no Go program")
	}
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, program[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	run := exec.Command(binary)
	run.Dir = dir
	out, err := run.Output()
	if want := "1\n2\nsucceeded <nil>\n"; err != nil || string(out) != want {
		t.Errorf("it prints %q, %v; want %q", out, err, want)
	}
}

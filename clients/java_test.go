package clients_test

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const generatedJava = "java/src/generated/java/io/github/bellmanhq/client"

// What is generated of the Java client is what the document gives.
func TestJavaIsGenerated(t *testing.T) {
	dir := t.TempDir()
	run(t, ".", "go", "run", "./java/generate", "openapi.json", dir)
	got, want := texts(t, generatedJava), texts(t, dir)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s/%s is not what the document gives: make clients", generatedJava, name)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("%s has other files than the document gives: make clients", generatedJava)
	}
}

// The Java client compiles with the JDK alone, without a warning, and works against a server.
func TestJava(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	for _, program := range []string{"javac", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s: apt-get install default-jdk-headless", program)
		}
	}
	var sources []string
	for _, dir := range []string{"java/src/main", "java/src/generated", "java/src/test"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".java") {
				sources = append(sources, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	classes, w := t.TempDir(), newWorld(t)
	run(t, ".", "javac", append([]string{"-Xlint:all", "-Werror", "--release", "17", "-encoding", "UTF-8", "-d", classes}, sources...)...)
	t.Log(run(t, ".", "java", "-XX:TieredStopAtLevel=1", "-cp", classes, "io.github.bellmanhq.client.Check", w.server, adminKey, readKey, w.merchant))
}

// texts are the files of a directory, by name.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// run runs a program in dir to its end, and returns its output. A program that hangs is ended, so
// that its output is shown.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.WaitDelay = 5 * time.Second // its children may hold what it writes to
	c.Dir = dir
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
	return string(said)
}

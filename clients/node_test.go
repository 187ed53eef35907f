package clients_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// node returns a copy of a folder with the packages of its lock file. The packages are cached for
// the user, so only the first run needs npm's registry. It skips the test if there is no Node 20,
// or the packages cannot be had.
func node(t *testing.T, folder string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s: apt-get install nodejs npm", program)
		}
	}
	major, version := 0, run(t, ".", "node", "--version")
	if _, err := fmt.Sscanf(version, "v%d.", &major); err != nil || major < 20 {
		t.Skipf("node is %s; want 20 or newer", strings.TrimSpace(version))
	}
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserCacheDir()
	if err != nil {
		home = t.TempDir()
	}
	kept := filepath.Join(home, "bellman", fmt.Sprintf("%s-%x", folder, sha256.Sum256(lock))[:len(folder)+14])
	if _, err := os.Stat(kept); err != nil {
		install(t, folder, kept)
	}
	dir := filepath.Join(t.TempDir(), folder)
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"node_modules", "dist"} { // of whoever works on it here
		if err := os.RemoveAll(filepath.Join(dir, made)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(kept, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install puts the packages of a folder's lock file into a directory: all of them or none.
func install(t *testing.T, folder, into string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(into), 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(into), "install-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund",
		"--fetch-timeout=20000", "--fetch-retries=1")
	c.Dir = dir
	if said, err := c.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		for _, line := range lines { // the first that is an error, for the last one is where a log is
			if strings.HasPrefix(line, "npm error") {
				lines = []string{line}
				break
			}
		}
		t.Skipf("npm cannot install the packages of clients/%s: %s", folder, lines[len(lines)-1])
	}
	if err := os.Rename(dir, into); err != nil {
		if _, there := os.Stat(into); there != nil { // another process was faster
			t.Fatal(err)
		}
	}
}

package deploy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dist is the directory in which make dist-test leaves its files. Without it, tests that take
// minutes are skipped.
var dist = flag.String("dist", "", "directory of releases; what takes minutes is tested there")

// made says what every release of these tests is, wherever it is made.
var made = []string{"VERSION=v1.2.3", "SOURCE_DATE_EPOCH=1795268568", "TARGETS=linux/" + runtime.GOARCH}

// release makes a release of the sources in a directory.
func release(t *testing.T, sources, out string, env ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(sources, "scripts/dist"), out)
	cmd.Env = append(append(os.Environ(), made...), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/dist: %v\n%s", err, said)
	}
}

// copied copies the sources to a directory.
func copied(t *testing.T, to string) {
	t.Helper()
	list, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("git does not say what the sources are: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		info, serr := os.Stat(filepath.Join("..", name))
		if err != nil || serr != nil {
			t.Fatal(err, serr)
		}
		file := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// sums returns the files of a release with their checksums, computed here and compared with
// SHA256SUMS.
func sums(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	listed := read(t, filepath.Join(dir, "SHA256SUMS"))
	for _, e := range entries {
		sum := sha256.Sum256([]byte(read(t, filepath.Join(dir, e.Name()))))
		line := hex.EncodeToString(sum[:]) + "  " + e.Name()
		if e.Name() != "SHA256SUMS" && !strings.Contains(listed, line+"\n") {
			t.Errorf("SHA256SUMS lacks %s", line)
		}
		all = append(all, line)
	}
	return all
}

// The same sources give the same bytes: in another directory, from another cache, by another user
// in another time zone.
func TestDistTwice(t *testing.T) {
	if *dist == "" {
		t.Skip("make dist-test runs it")
	}
	release(t, "..", *dist)
	there := filepath.Join(t.TempDir(), "quite", "elsewhere")
	copied(t, there)
	cache := t.TempDir()
	again := filepath.Join(t.TempDir(), "out")
	release(t, there, again, "GOCACHE="+cache, "TZ=Asia/Shanghai", "LC_ALL=C.UTF-8", "GOFLAGS=-buildvcs=false", "GOAMD64=v3", "USER=somebody")
	first, second := sums(t, *dist), sums(t, again)
	if !slices.Equal(first, second) {
		t.Errorf("two releases of the same sources:\n%s\n\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
	if len(first) != 4 {
		t.Errorf("a release for one platform has %d files: %q; want the program, its bill, a package and SHA256SUMS", len(first), first)
	}
	said, err := exec.Command(filepath.Join(*dist, "bellman-linux-"+runtime.GOARCH), "version").Output()
	if string(said) != "bellman v1.2.3\n" {
		t.Errorf("bellman version says %q, %v", said, err)
	}
}

// A version that would break a package's name, or a shell's line, is refused.
func TestDistVersion(t *testing.T) {
	for _, env := range []string{"VERSION=v1; rm", "VERSION=v1/2", "SOURCE_DATE_EPOCH=today"} {
		cmd := exec.Command("../scripts/dist", t.TempDir())
		cmd.Env = append(append(os.Environ(), made...), env)
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !bytes.Contains(said, []byte("want ")) {
			t.Errorf("scripts/dist with %s: %v, %s; want status 2 and what is wanted", env, err, said)
		}
	}
}

// The package installs into a Debian, starts, is upgraded, removed and purged.
func TestDebian(t *testing.T) {
	switch {
	case *dist == "":
		t.Skip("make dist-test runs it")
	case os.Geteuid() != 0:
		t.Skip("only root may make a Debian to install into")
	}
	older, err := filepath.Glob(filepath.Join(*dist, "bellman_1.2.3_*.deb"))
	if err != nil || len(older) != 1 {
		t.Fatalf("%s has %d packages, %v; TestDistTwice makes one", *dist, len(older), err)
	}
	newer := t.TempDir()
	cmd := exec.Command("../scripts/dist-deb", filepath.Join(*dist, "bellman-linux-"+runtime.GOARCH), runtime.GOARCH, newer)
	cmd.Env = append(append(os.Environ(), made...), "VERSION=v1.2.4")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/dist-deb: %v\n%s", err, said)
	}
	packages, _ := filepath.Glob(filepath.Join(newer, "*.deb"))
	if len(packages) != 1 {
		t.Fatalf("scripts/dist-deb made %q", packages)
	}
	if said, err := exec.Command("../scripts/deb-chroot", older[0], packages[0]).CombinedOutput(); err != nil {
		t.Errorf("scripts/deb-chroot: %v\n%s", err, said)
	}
}

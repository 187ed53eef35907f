package torture

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// upgrade is the version to upgrade from. Before the first release there is no tag, and make
// dist-test names the first build with the formats of the first release.
var upgrade = flag.String("upgrade", "", "commit or tag of the older version in TestRollingUpgrade; empty: it is skipped")

// olderCopies builds programs of that version, one for each node, with names by which a receiver
// can tell nodes apart.
func olderCopies(t *testing.T) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	sources := filepath.Join(dir, "sources")
	if err := os.Mkdir(sources, 0o700); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, "tree.tar")
	must(t, exec.Command("git", "-C", "../..", "archive", "--output="+tree, *upgrade))
	must(t, exec.Command("tar", "-xf", tree, "-C", sources))
	first := filepath.Join(dir, agent(0))
	b := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-X main.version="+agent(0), "-o", first, "./cmd/bellman")
	b.Dir, b.Env = sources, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	must(t, b)
	text, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	for node := range nodes {
		path := filepath.Join(dir, agent(node))
		if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(agent(0)), []byte(agent(node))), 0o755); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestRollingUpgrade upgrades a cluster node by node under load. Older and newer nodes run
// together, on tables that the older ones created. Nothing is lost, and nothing is delivered twice,
// because the journal has nothing that excuses it.
func TestRollingUpgrade(t *testing.T) {
	if *upgrade == "" {
		t.Skip("it builds another version: make dist-test, or -upgrade COMMIT")
	}
	if exec.Command("git", "-C", "../..", "diff", "--quiet", *upgrade, "--", "*.go").Run() == nil {
		t.Fatalf("%s is the program under test, so there is nothing to upgrade", *upgrade)
	}
	older := olderCopies(t)
	s := newPostgres(t, "postgres")
	s.start(t)
	c := &cluster{receiver: receive(t), journal: &journal{}, dice: dice(t), store: postgresURL(s.address)}
	newer := make([]string, nodes)
	for i := range nodes {
		n := newNode(t, i, c.store)
		newer[i], n.path = n.path, older[i]
		c.nodes = append(c.nodes, n)
		n.start(t)
		c.awaitReady(t, n)
	}
	made := create(t, load, c.receiver.url, c.nodes, c.dice)
	for i, n := range c.nodes {
		c.balanced(t) // takes at least 3 s, in which both versions have shards
		n.stop(t)
		n.path = newer[i]
		n.start(t)
		c.awaitReady(t, n)
	}
	c.balanced(t)
	ledger := made.finish(t)
	tasks := c.settle(t)
	check(t, ledger, c.receiver, c.journal, tasks)
	c.exits(t)

	by := map[string]int{}
	var late time.Duration
	for _, task := range tasks {
		for _, a := range task.AttemptLog {
			name, _, _ := strings.Cut(a.Node, "/")
			by[name]++
			late = max(late, time.Duration(a.LatenessMS)*time.Millisecond)
		}
	}
	if len(by) != nodes {
		t.Errorf("attempts are of the nodes %v; want of %d", by, nodes)
	}
	t.Logf("upgrade from %s: %d tasks, %d accepted, attempts by node %v, most late %v", *upgrade, len(tasks), len(ledger), by, late)
}

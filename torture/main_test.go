package torture

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var (
	long   = flag.Duration("long", 0, "how long each kind of database is tortured; 0: the short run, without those that fail over")
	seed   = flag.Uint64("seed", 0, "of the order in which trouble comes; 0: another each time")
	rounds = flag.Int("rounds", 0, "rounds of each figure; 0: no figures")
)

// nodes is how many processes share a database.
const nodes = 3

// binaries are the program under test, one copy for each node.
var binaries [nodes]string

// patient is how long a test waits for what should come soon.
const patient = 60 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bellman-torture-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if err := build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// agent is the version that a node's copy has, and so what its requests say
// who sent them: a receiver tells the nodes apart.
func agent(node int) string { return fmt.Sprintf("torture-node-%d", node) }

// build links the program once. The copies differ in their version alone, which
// has the same length in each.
func build(dir string) error {
	first := filepath.Join(dir, agent(0))
	b := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version="+agent(0), "-o", first, "../cmd/bellman")
	b.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := b.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	text, err := os.ReadFile(first)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(agent(0))) {
		return fmt.Errorf("%s does not hold its version as text", first)
	}
	for i := range binaries {
		binaries[i] = filepath.Join(dir, agent(i))
		if i == 0 {
			continue
		}
		if err := os.WriteFile(binaries[i], bytes.ReplaceAll(text, []byte(agent(0)), []byte(agent(i))), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// dice is a source of chance for one test, the same each time for a seed.
func dice(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", *seed)
	var name [32]byte
	copy(name[8:], t.Name())
	for i := range 8 {
		name[i] = byte(*seed >> (8 * i))
	}
	return rand.New(rand.NewChaCha8(name))
}

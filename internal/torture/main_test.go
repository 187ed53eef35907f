package torture

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	long   = flag.Duration("long", 0, "how long each kind of database is tortured; 0: the short run, without those that fail over")
	seed   = flag.Uint64("seed", 0, "of the order in which trouble comes; 0: another each time")
	rounds = flag.Int("rounds", 0, "rounds of each figure; 0: no figures")
)

// nodes is the number of processes that share a database.
const nodes = 3

// patient is how long a test waits for a condition. It suits a slow and busy machine.
const patient = 5 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	*seed = cmp.Or(*seed, rand.Uint64())
	status := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(status)
}

// agent returns the version in a node's copy of the program. The node's requests contain it, so
// that a receiver can tell the nodes apart.
func agent(node int) string { return fmt.Sprintf("torture-node-%d", node) }

// copyOf returns the path of a node's copy of the program under test.
func copyOf(t testing.TB, node int) string {
	t.Helper()
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, agent(node))
}

// built is the directory of the copies, which is removed at the end. Empty: nothing was built.
var built string

// binaries returns the directory of the copies, which are made at the first call. The program is
// linked once. The copies differ only in their versions, which have the same length.
var binaries = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "bellman-torture-"); err != nil {
		return "", err
	}
	built = dir
	first := filepath.Join(dir, agent(0))
	b := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version="+agent(0), "-o", first, "../../cmd/bellman")
	b.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := b.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	text, err := os.ReadFile(first)
	if err != nil {
		return dir, err
	}
	if !bytes.Contains(text, []byte(agent(0))) {
		return dir, fmt.Errorf("%s does not contain its version as text", first)
	}
	for node := 1; node < nodes; node++ {
		if err := os.WriteFile(filepath.Join(dir, agent(node)), bytes.ReplaceAll(text, []byte(agent(0)), []byte(agent(node))), 0o755); err != nil {
			return dir, err
		}
	}
	return dir, nil
})

// dice returns a random source for one test. A seed gives the same numbers each time.
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

package torture

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
)

// galeraProviders are the places of the library that makes MariaDB a cluster.
var galeraProviders = []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so", "/usr/lib/*/galera/libgalera_smm.so"}

// A galera is a MariaDB Galera cluster of three servers. Each accepts writes. If two writes
// conflict, one of them fails at COMMIT.
type galera struct {
	members []*galeraMember
	mu      sync.Mutex // held while one of the members is in trouble
	turn    int        // index of the next member to hit
}

// A galeraMember is one server of a cluster.
type galeraMember struct {
	*mariadb
	found    bool   // whether it starts a new cluster
	position string // where it continues after a crash
}

// newGalera starts a cluster with an empty database. Without Galera the test is skipped.
func newGalera(t testing.TB) *galera {
	t.Helper()
	provider := ""
	for _, pattern := range galeraProviders {
		if found := glob(pattern); found != "" {
			provider = found
		}
	}
	if provider == "" || program("rsync") == "" {
		t.Skip("no Galera on this machine, or no rsync: make torture installs them")
	}
	g := &galera{}
	group := []string{freeport.Address(t), freeport.Address(t), freeport.Address(t)}
	for i, address := range group {
		m := &galeraMember{found: i == 0}
		m.mariadb = newMariaDB(t, fmt.Sprintf("galera-%d", i),
			"--wsrep-on=ON", "--wsrep-provider="+provider, "--wsrep-cluster-name=bellman-torture",
			"--wsrep-cluster-address=gcomm://"+strings.Join(group, ","), "--wsrep-node-name="+fmt.Sprint("member-", i), "--wsrep-node-address="+address,
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+freeport.Address(t),
			"--wsrep-provider-options=gmcast.listen_addr=tcp://"+address+";ist.recv_addr="+freeport.Address(t)+";gcache.size=64M",
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2")
		plain := m.command
		m.command = func() *exec.Cmd {
			cmd := plain()
			if m.found {
				cmd.Args = append(cmd.Args, "--wsrep-new-cluster")
			}
			if m.position != "" {
				cmd.Args = append(cmd.Args, "--wsrep-start-position="+m.position)
			}
			return cmd
		}
		m.ping = m.synced
		g.members = append(g.members, m)
		m.start(t)
		m.found = false
	}
	g.members[0].create(t)
	return g
}

// status returns one of a member's status variables.
func (m *galeraMember) status(ctx context.Context, name string) (value string, err error) {
	db, err := m.open()
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "SHOW STATUS LIKE '"+name+"'").Scan(&name, &value)
	return value, err
}

// synced returns nil if the member accepts writes and has all writes.
func (m *galeraMember) synced(ctx context.Context) error {
	value, err := m.status(ctx, "wsrep_local_state_comment")
	if err == nil && value != "Synced" {
		err = fmt.Errorf("the member is %s", value)
	}
	return err
}

var recovered = regexp.MustCompile(`Recovered position:\s*(\S+:-?\d+)`)

// restart starts a crashed member at its last position, as the package's scripts do. The others
// then send it only what it missed.
func (m *galeraMember) restart(t testing.TB) {
	t.Helper()
	cmd := m.command()
	cmd.Args = append(cmd.Args, "--wsrep-recover")
	out, err := cmd.CombinedOutput()
	if found := recovered.FindSubmatch(out); err == nil && found != nil {
		m.position = string(found[1])
	} else {
		t.Logf("%s: no position was found: %v\n%s", m.name, err, out)
	}
	m.start(t)
	m.position = ""
}

// isolate cuts a member off from the others, or reconnects it. Its clients still reach it.
func (m *galeraMember) isolate(t testing.TB, cut bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	text := "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'"
	if cut {
		text = "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'"
	}
	if err := m.exec(ctx, text); err != nil {
		t.Errorf("%s: %v", m.name, err)
	}
}

// hit makes trouble for one member, each in its turn and never two at once. Two of three members
// must work, or nothing can be written.
func (g *galera) hit(c *cluster, kind string, do func(t *testing.T, m *galeraMember, length time.Duration)) trouble {
	return func(t *testing.T, length time.Duration) {
		g.mu.Lock()
		defer g.mu.Unlock()
		m := g.members[g.turn%len(g.members)]
		g.turn++
		over := c.journal.begin(t, kind, all)
		defer over()
		do(t, m, length)
		eventually.True(t, "one again: the cluster", g.whole)
	}
}

// whole reports whether all members are synced and agree on who belongs to the cluster. A member
// that had stopped may believe for a while that nothing has changed.
func (g *galera) whole() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	views := map[string]bool{}
	for _, m := range g.members {
		size, err := m.status(ctx, "wsrep_cluster_size")
		if err != nil || size != fmt.Sprint(len(g.members)) || m.synced(ctx) != nil {
			return false
		}
		view, err := m.status(ctx, "wsrep_cluster_conf_id")
		if err != nil {
			return false
		}
		views[view] = true
	}
	return len(views) == 1
}

// away makes a member crash and rejoin.
func away(t *testing.T, m *galeraMember, length time.Duration) {
	m.crash(syscall.SIGKILL)
	wait(length * 4)
	m.restart(t)
}

// split cuts a member off until the others have expelled it, and reconnects it.
func split(t *testing.T, m *galeraMember, length time.Duration) {
	m.isolate(t, true)
	wait(6*time.Second + 6*length)
	m.isolate(t, false)
	eventually.True(t, "synced: "+m.name, m.answers)
}

// stopped stops a member for a while, in which the others may expel it.
func stopped(t *testing.T, m *galeraMember, length time.Duration) {
	m.current().signal(syscall.SIGSTOP)
	wait(3*time.Second + 6*length)
	m.current().signal(syscall.SIGCONT)
	eventually.True(t, "synced: "+m.name, m.answers)
}

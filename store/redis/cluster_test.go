package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/eventually"
	"github.com/bellmanhq/bellman/internal/freeport"
	"github.com/bellmanhq/bellman/store"
	"github.com/bellmanhq/bellman/store/storetest"
)

// TestCluster runs storetest on a Cluster of three servers.
func TestCluster(t *testing.T) {
	t.Parallel()
	var servers []*server
	var hosts []string
	for range 3 {
		s := start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "60000") // no server that is only slow is taken for dead
		servers = append(servers, s)
		hosts = append(hosts, s.address)
	}
	for i, s := range servers {
		s.do(t, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		s.do(t, "CLUSTER", "ADDSLOTSRANGE", i*16384/3, (i+1)*16384/3-1)
	}
	for _, s := range servers[1:] {
		_, port, _ := net.SplitHostPort(servers[0].address)
		s.do(t, "CLUSTER", "MEET", "127.0.0.1", port)
	}
	for _, s := range servers {
		s.until(t, "joins the Cluster", func(c *client.Client) bool {
			text, err := c.ClusterInfo(context.Background()).Result()
			return err == nil && strings.Contains(text, "cluster_state:ok") && strings.Contains(text, "cluster_known_nodes:3")
		})
	}
	n := 0
	storetest.Run(t, func(t *testing.T) store.Store {
		n++ // stores with different prefixes are on different servers
		return openTest(t, fmt.Sprintf("redis+cluster://%s?prefix=store%d", strings.Join(hosts, ","), n), Options{Connections: 4})
	})
	if _, err := Open(t.Context(), "redis://"+hosts[0], Options{}); err == nil || !strings.Contains(err.Error(), "part of a Cluster") {
		t.Errorf("Open() of one server alone = %v; want an error that it is part of a Cluster", err)
	}
}

// sentinel starts a Sentinel that watches a primary with the name main, and takes it for down after
// so long a silence.
func sentinel(t *testing.T, primary string, quorum int, down time.Duration) string {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary)
	address := freeport.Address(t)
	_, own, _ := net.SplitHostPort(address)
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	write(t, file, fmt.Sprintf("port %s\nbind 127.0.0.1\nlogfile %s\nsentinel monitor main %s %s %d\nsentinel down-after-milliseconds main %d\nsentinel failover-timeout main 5000\n",
		own, file+".log", host, port, quorum, down.Milliseconds()))
	cmd := exec.Command("redis-server", file, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return address
}

// TestFailover kills a primary under load. Sentinels watch it. With replicas=1 the new primary has
// everything that was answered, and writing goes on there.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := start(t)
	host, port, _ := net.SplitHostPort(primary.address)
	replica := start(t, "--replicaof", host+" "+port)
	replica.until(t, "follows", func(c *client.Client) bool {
		text, err := c.Info(context.Background(), "replication").Result()
		return err == nil && strings.Contains(text, "master_link_status:up")
	})
	var sentinels []string
	for range 3 {
		sentinels = append(sentinels, sentinel(t, primary.address, 2, 5*time.Second))
	}
	for _, address := range sentinels {
		s := &server{address: address}
		s.until(t, "knows the replica and the other Sentinels", func(c *client.Client) bool {
			reply, err := c.Do(context.Background(), "SENTINEL", "MASTER", "main").StringSlice()
			text := strings.Join(reply, " ")
			if err != nil { // RESP3: a map
				m, err := c.Do(context.Background(), "SENTINEL", "MASTER", "main").Result()
				if err != nil {
					return false
				}
				text = fmt.Sprint(m)
			}
			return strings.Contains(text, "num-slaves:1") && strings.Contains(text, "num-other-sentinels:2") ||
				strings.Contains(text, "num-slaves 1") && strings.Contains(text, "num-other-sentinels 2")
		})
	}
	s := openTest(t, "redis+sentinel://"+strings.Join(sentinels, ",")+"/main?replicas=1", Options{Connections: 4})
	var mu sync.Mutex
	var answered []bellman.ID
	add := func() error {
		now := time.Now()
		task := &bellman.Task{ID: bellman.NewID(), Queue: "q", Status: bellman.Status{Version: 1, Due: now, VisibleAt: now}}
		err := s.Commit(context.Background(), &store.Batch{Adds: []store.Add{{Task: task}}})
		if err == nil {
			mu.Lock()
			answered = append(answered, task.ID)
			mu.Unlock()
		}
		return err
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := add(); err != nil && !errors.Is(err, bellman.ErrUnknown) && !errors.Is(err, bellman.ErrUnreachable) {
					t.Errorf("Commit() = %v; want ErrUnknown or ErrUnreachable", err)
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(answered)
	}
	eventually.True(t, "200 tasks are answered", func() bool { return count() >= 200 })
	primary.kill()
	replica.until(t, "is promoted", func(c *client.Client) bool {
		text, err := c.Info(context.Background(), "replication").Result()
		return err == nil && strings.Contains(text, "role:master")
	})
	close(stop)
	group.Wait()
	promoted := replica.ask(t)
	for _, id := range answered {
		key := s.row(id)
		if n, err := promoted.Exists(context.Background(), key).Result(); err != nil || n != 1 {
			t.Fatalf("Task(%v) after the fail-over = %[2]v; want the task, because it was answered", id, err)
		}
	}
	t.Logf("%d tasks were answered before the fail-over", len(answered))
	// No replica is left, so an answer would wait in vain. The store returns an error instead of
	// hiding this.
	eventually.True(t, "a commit reaches the new primary", func() bool {
		_, err := s.State(context.Background(), "")
		return err == nil
	})
	if err := add(); !errors.Is(err, bellman.ErrUnknown) || !strings.Contains(err.Error(), "0 replicas have it, and 1 must") {
		t.Errorf("Commit() without a replica = %v; want ErrUnknown, because no replica has the task", err)
	}
}

// TestKill kills the server repeatedly under load. Everything that was answered exists afterwards,
// and each batch exists as a whole or not at all.
func TestKill(t *testing.T) {
	s := start(t)
	db := openTest(t, "redis://"+s.address, Options{Connections: 4})
	ctx := context.Background()
	type pair struct{ first, second bellman.ID }
	var mu sync.Mutex
	var answered, unknown []pair
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				now := time.Now()
				status := bellman.Status{Version: 1, Due: now, VisibleAt: now}
				p := pair{bellman.NewID(), bellman.NewID()}
				err := db.Commit(ctx, &store.Batch{Adds: []store.Add{{Task: &bellman.Task{ID: p.first, Queue: "q", Status: status}}, {Task: &bellman.Task{ID: p.second, Queue: "q", Status: status}}}})
				mu.Lock()
				switch {
				case err == nil:
					answered = append(answered, p)
				case errors.Is(err, bellman.ErrUnknown):
					unknown = append(unknown, p)
				case !errors.Is(err, bellman.ErrUnreachable):
					t.Errorf("Commit() = %v", err)
				}
				mu.Unlock()
			}
		})
	}
	for range 3 {
		before := 0
		mu.Lock()
		before = len(answered)
		mu.Unlock()
		eventually.True(t, "100 batches are answered", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(answered) >= before+100
		})
		s.kill()
		s.launch(t)
	}
	close(stop)
	group.Wait()
	// The client tries a failed server again each second.
	eventually.True(t, "the server is found again", func() bool {
		_, err := db.State(ctx, "")
		return err == nil
	})
	has := func(id bellman.ID) bool {
		_, err := db.Task(ctx, id)
		if err != nil && !errors.Is(err, bellman.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	written := 0
	for _, p := range answered {
		if !has(p.first) || !has(p.second) {
			t.Fatalf("a batch that was answered is missing after the kill")
		}
		written++
	}
	for _, p := range unknown {
		if has(p.first) != has(p.second) {
			t.Errorf("a part of a batch exists; want all of it or nothing")
		}
		if has(p.first) {
			written++
		}
	}
	depths, err := db.Depths(ctx)
	if err != nil || len(depths) != 1 || depths[0].Pending != int64(2*written) {
		t.Errorf("Depths() = %+v, %v; want %d pending", depths, err, 2*written)
	}
	t.Logf("%d batches answered, %d unknown", len(answered), len(unknown))
}

// TestCutCommit cuts the end of the append-only file, as a crash in the middle of a write does, and
// starts the server twice. Nothing of the cut commit may exist then, and everything that was
// answered.
func TestCutCommit(t *testing.T) {
	t.Parallel()
	for _, cut := range []int64{3, 60, 200} { // bytes: in EXEC, in the counts, before them
		s := start(t)
		db := openTest(t, "redis://"+s.address, Options{Connections: 2})
		lost, kept := adding(), adding()
		if err := db.Commit(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		s.kill()
		files, err := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*.incr.aof"))
		if err != nil || len(files) != 1 {
			t.Fatalf("append-only files = %v, %v; want one", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(files[0], info.Size()-cut); err != nil {
			t.Fatal(err)
		}
		s.launch(t)
		eventually.True(t, "a commit is answered", func() bool {
			err := db.Commit(t.Context(), kept)
			if err != nil && !errors.Is(err, bellman.ErrUnreachable) {
				t.Fatal(err)
			}
			return err == nil
		})
		s.kill()
		s.launch(t)
		eventually.True(t, "the server is found again", func() bool {
			_, err := db.State(t.Context(), "")
			return err == nil
		})
		if _, err := db.Task(t.Context(), lost.Adds[0].Task.ID); !errors.Is(err, bellman.ErrNotFound) {
			t.Errorf("cut %d bytes: Task() of the commit that was cut = %v; want ErrNotFound", cut, err)
		}
		if _, err := db.Task(t.Context(), kept.Adds[0].Task.ID); err != nil {
			t.Errorf("cut %d bytes: Task() of the next commit = %v", cut, err)
		}
		if depths, err := db.Depths(t.Context()); err != nil || len(depths) != 1 || depths[0].Pending != 1 {
			t.Errorf("cut %d bytes: Depths() = %+v, %v; want 1 pending", cut, depths, err)
		}
	}
}

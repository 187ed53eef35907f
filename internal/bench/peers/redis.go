package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	client "github.com/redis/go-redis/v9"
)

// A redis is a server of this program's own.
type redis struct {
	address string
	dir     string
	process *exec.Cmd
	client  *client.Client
}

func startRedis(ctx context.Context, program, dir, fsync string) (*redis, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	if dir, err = os.MkdirTemp(dir, "bellman-peers-"); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	r := &redis{address: address, dir: dir}
	r.process = exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--appendonly", "yes",
		"--appendfsync", fsync, "--maxmemory-policy", "noeviction", "--logfile", filepath.Join(dir, "log"))
	if err := r.process.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start Redis: %w", err), os.RemoveAll(dir))
	}
	r.client = client.NewClient(&client.Options{Addr: address})
	for began := time.Now(); r.client.Ping(ctx).Err() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 10*time.Second || ctx.Err() != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			return nil, errors.Join(fmt.Errorf("Redis does not answer: %s", log), r.stop())
		}
	}
	return r, nil
}

// flush deletes everything.
func (r *redis) flush(ctx context.Context) error { return r.client.FlushAll(ctx).Err() }

func (r *redis) stop() error {
	r.client.Close()
	r.process.Process.Signal(syscall.SIGTERM)
	r.process.Wait()
	return os.RemoveAll(r.dir)
}

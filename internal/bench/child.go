package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// ChildCommand is the argument with which [Run] starts this program again. A program that calls Run
// must call [Child] if ChildCommand is its first argument.
const ChildCommand = "bench-child"

// A role is what a child is: a server under test, or the bare loop that the server is compared
// with. The child reads its role from standard input, because a URL may have a password, and
// arguments are readable by every user.
type role struct {
	Store    string // of the server
	Settings string // of the server, as YAML; empty: the default
	Profile  string // file for the server's CPU profile; empty: none
	Env      string // a variable of the environment, as NAME=VALUE; empty: none

	PostTo string        // URL that the bare loop posts to; empty: the child is a server
	Others []string      // more URLs, to which it posts in turn
	For    time.Duration // how long the loop posts; 0: it receives notices instead, and posts once for each
	Verify *verify       // what the loop verifies before each post; nil: nothing

	Posts []duePost // what a bare client posts, each when it is due; empty: the child is another one
}

func childCommand(ctx context.Context) (*exec.Cmd, error) {
	program, err := os.Executable()
	return exec.CommandContext(ctx, program, ChildCommand), err
}

// Child is the child that [Run] started. It returns when it has done its work, or when standard
// input ends.
func Child() error {
	in := json.NewDecoder(os.Stdin)
	var r role
	if err := in.Decode(&r); err != nil {
		return fmt.Errorf("%s is started by bench alone: %w", ChildCommand, err)
	}
	switch {
	case len(r.Posts) > 0:
		return postWhenDue(r.Posts)
	case r.PostTo != "" && r.For == 0:
		return relay(r)
	case r.PostTo != "":
		return postFor(r)
	}
	return serve(r)
}

// serve runs a server until standard input ends, also because the parent died, and then stops it
// cleanly.
func serve(r role) (err error) {
	if r.Profile != "" {
		f, err := os.Create(r.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	c := config.Default()
	if r.Settings != "" {
		if c, err = config.Parse([]byte(r.Settings)); err != nil {
			return err
		}
	}
	c.Listen = "127.0.0.1:0"
	c.Store = r.Store
	c.Egress.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	slog.SetDefault(log)
	server.TuneMemory(c.Store)
	s, err := server.Open(server.Options{Config: c, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, stop := context.WithCancel(context.Background())
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { server.GiveBackMemory(ctx) })
	input := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		input <- err
		stop()
	}()
	if _, err := fmt.Println(s.Addr(), s.NoticesAddr()); err != nil {
		return fmt.Errorf("say where the server listens: %w", err)
	}
	if err := s.Run(ctx); err != nil {
		return err
	}
	return <-input // Run returns nil only after stop
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// The variables that make this program a process of workers.
const (
	envOf      = "PEERS_OF"
	envStore   = "PEERS_STORE"
	envTo      = "PEERS_TO"
	envWorkers = "PEERS_WORKERS"
	envLooks   = "PEERS_LOOKS"
)

// crews start the workers of each peer, which deliver with post until they are
// stopped.
var crews = map[string]func(store string, e effort, post func(context.Context, string) error) (stop func() error, err error){
	"asynq": startAsynq,
	"river": startRiver,
}

// child turns this process into a peer's workers, if it was started to be that, and
// then never returns. It ends when its standard input does.
func child() {
	start := crews[os.Getenv(envOf)]
	if start == nil {
		return
	}
	var e effort
	var err, wrong error
	e.workers, err = strconv.Atoi(os.Getenv(envWorkers))
	e.looks, wrong = time.ParseDuration(os.Getenv(envLooks))
	if err = errors.Join(err, wrong); err == nil {
		var stop func() error
		if stop, err = start(os.Getenv(envStore), e, poster(os.Getenv(envTo), e.workers)); err == nil {
			fmt.Println("ready")
			io.Copy(io.Discard, os.Stdin)
			err = stop()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// poster delivers to an address, for so many workers.
func poster(to string, workers int) func(context.Context, string) error {
	transport := &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: workers, DisableCompression: true, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	return func(ctx context.Context, body string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
		if err == nil && string(said) != "success" {
			err = fmt.Errorf("it answered %d %q", resp.StatusCode, said)
		}
		return err
	}
}

// A crew is the process of workers.
type crew struct {
	*exec.Cmd
	in io.Closer
}

func startCrew(p peer, e effort, to string) (*crew, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crew{Cmd: exec.Command(self)}
	of, store := p.crew()
	c.Env = append(os.Environ(), envOf+"="+of, envStore+"="+store, envTo+"="+to, envWorkers+"="+strconv.Itoa(e.workers), envLooks+"="+e.looks.String())
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.in = in
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		return nil, errors.Join(fmt.Errorf("the workers of %s did not start: %w", p.name(), err), c.stop())
	}
	return c, nil
}

func (c *crew) stop() error {
	c.in.Close()
	return c.Wait()
}

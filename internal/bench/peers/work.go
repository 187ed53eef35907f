package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/internal/bench"
)

// workCommand is the argument that makes this program a process of workers.
const workCommand = "work"

// A post delivers a body.
type post func(ctx context.Context, body string) error

// starts start the workers of each peer in this process.
var starts = map[string]func(store string, e bench.Effort, post post) (stop func() error, err error){
	"asynq": startAsynq,
	"river": startRiver,
}

// startWork starts workers of a peer in a process of its own.
func startWork(of, store string, e bench.Effort, url string) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stop, err = startProcess(exec.Command(self, workCommand, of, url, strconv.Itoa(e.Workers), e.Looks.String()), store)
	if err != nil {
		return nil, fmt.Errorf("the workers of %s: %w", of, err)
	}
	return stop, nil
}

// startProcess starts a process of workers. It gets the store as a line of its standard input, says
// that it is ready, and stops when its input ends.
func startProcess(c *exec.Cmd, store string) (stop func() error, err error) {
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	stop = func() error {
		in.Close()
		return c.Wait()
	}
	fmt.Fprintln(in, store) // it may have a password, and arguments are readable by every user
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		return nil, errors.Join(fmt.Errorf("they did not start: %w", err), stop())
	}
	return stop, nil
}

// work is the process that startWork starts. It ends when its standard input ends.
func work(args []string) error {
	if len(args) != 4 || starts[args[0]] == nil {
		return fmt.Errorf("%s is started by this program alone", workCommand)
	}
	workers, err := strconv.Atoi(args[2])
	looks, wrong := time.ParseDuration(args[3])
	if err = errors.Join(err, wrong); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	store, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	stop, err := starts[args[0]](strings.TrimSpace(store), bench.Effort{Workers: workers, Looks: looks}, poster(args[1], workers))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, in)
	return stop()
}

// poster delivers to a URL, for so many workers.
func poster(to string, workers int) post {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}, Timeout: 5 * time.Second}
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

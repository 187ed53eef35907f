package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// rawClients is what bellman allows one endpoint at once by default.
const rawClients = 64

// raw measures the bare loop, posts a second. It is a process of its own, as the
// server is: within the receiver's it would gain a third by being woken cheaply.
func (r *run) raw() (float64, error) {
	if since := time.Since(r.rawAt); len(r.report.Raw) > 0 && since < time.Second {
		return r.report.Raw[len(r.report.Raw)-1], nil // the one after the last scenario
	}
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	loop := exec.CommandContext(r.ctx, program)
	loop.Env = append(withoutOurs(os.Environ()), envRaw+"="+r.url, envFor+"="+r.sizes.raw.String())
	var log tail
	loop.Stderr = &log
	out, err := loop.Output()
	if err != nil {
		return 0, fmt.Errorf("raw: %w\n%s", err, &log)
	}
	perSecond, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("raw: %w", err)
	}
	r.report.Raw = append(r.report.Raw, perSecond)
	r.rawAt = time.Now()
	return perSecond, nil
}

// postFor posts to an address for some time and prints how often a second.
func postFor(to, d string) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	span, err := time.ParseDuration(d)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: rawClients}
	body := appendBody(nil, 0, 0)
	var posts atomic.Int64
	g, ctx := errgroup.WithContext(context.Background())
	begun := time.Now()
	for range rawClients {
		g.Go(func() error {
			p := &poster{transport: transport, url: u}
			for time.Since(begun) < span {
				if status, _, err := p.post(ctx, body); err != nil || status != http.StatusOK {
					return fmt.Errorf("post: %d, %w", status, err)
				}
				posts.Add(1)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	_, err = fmt.Println(float64(posts.Load()) / time.Since(begun).Seconds())
	return err
}

// rawAlone measures raw for its own sake.
func (r *run) rawAlone() error {
	perSecond, err := r.raw()
	if err != nil {
		return err
	}
	r.figure("posts", perSecond, "/s")
	took, err := syncs(filepath.Join(r.dir, "sync"))
	if err != nil {
		return err
	}
	r.figure("4 KiB written and synced, p50", took.ms(50), "ms")
	r.figure("4 KiB written and synced, p99", took.ms(99), "ms")
	return nil
}

// syncs measures what the disk takes to make an append durable.
func syncs(path string) (durations, error) {
	took := newDurations()
	f, err := os.Create(path)
	if err != nil {
		return took, err
	}
	defer f.Close()
	block := make([]byte, 4<<10)
	for range 300 {
		begun := time.Now()
		if _, err := f.Write(block); err != nil {
			return took, err
		}
		if err := f.Sync(); err != nil {
			return took, err
		}
		took.add(int64(time.Since(begun)))
	}
	return took, os.Remove(path)
}

// besideRaw notes a throughput with raw from right before it and right after.
func (r *run) besideRaw(name string, measure func() (perSecond float64, err error), ratios ...goal) error {
	before, err := r.raw()
	if err != nil {
		return err
	}
	at := len(r.report.Figures)
	r.figure(name, 0, "/s")
	perSecond, err := measure()
	if err != nil {
		return err
	}
	after, err := r.raw()
	if err != nil {
		return err
	}
	f := &r.report.Figures[at]
	f.Value = perSecond
	r.must(f.against("raw", (before+after)/2), ratios...)
	return nil
}

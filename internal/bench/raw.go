package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// rawClients is bellman's default for concurrent attempts to one endpoint.
const rawClients = 64

// raw measures the bare loop in posts a second. The loop is a process of its own, as the server is:
// within the receiver's process it would be a third faster, because goroutines are woken more
// cheaply than processes.
func (r *run) raw() float64 {
	if since := time.Since(r.rawAt); len(r.report.Raw) > 0 && since < time.Second {
		return r.report.Raw[len(r.report.Raw)-1] // the one after the last scenario
	}
	perSecond := r.loop(role{PostTo: r.url, For: r.sizes.raw})
	r.report.Raw = append(r.report.Raw, perSecond)
	r.rawAt = time.Now()
	return perSecond
}

// loop runs a bare loop in a process of its own and returns its posts a second.
func (r *run) loop(as role) float64 {
	loop, err := childCommand(r.ctx)
	try(err)
	loop.Stdin = bytes.NewReader(must(json.Marshal(as)))
	var log tail
	loop.Stderr = &log
	out, err := loop.Output()
	if err != nil {
		try(fmt.Errorf("bare loop: %w\n%s", err, &log))
	}
	return must(strconv.ParseFloat(strings.TrimSpace(string(out)), 64))
}

// postFor posts to one URL or several for some time and prints the number of posts a second.
func postFor(as role) error {
	var urls []*url.URL
	for _, text := range append(as.Others, as.PostTo) {
		u, err := url.Parse(text)
		if err != nil {
			return err
		}
		urls = append(urls, u)
	}
	verified, err := as.Verify.next()
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: rawClients}
	body := appendBody(nil, 0, 0)
	var posts, next atomic.Int64
	g, ctx := errgroup.WithContext(context.Background())
	begun := time.Now()
	for range rawClients {
		g.Go(func() error {
			p := &poster{transport: transport}
			for time.Since(begun) < as.For {
				p.url = urls[int(next.Add(1))%len(urls)]
				if err := verified(); err != nil {
					return err
				}
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

// rawAlone reports raw and the disk's speed by themselves.
func (r *run) rawAlone() {
	r.figure("posts", r.raw(), "/s")
	took := must(syncs(filepath.Join(r.dir, "sync")))
	r.figure("4 KiB written and synced, p50", took.ms(50), "ms")
	r.figure("4 KiB written and synced, p99", took.ms(99), "ms")
}

// syncs measures how long the disk takes to make an append durable.
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

// besideRaw reports a throughput and compares it with raw from right before and right after it.
func (r *run) besideRaw(name string, measure func() (perSecond float64), goals ...goal) {
	before := r.raw()
	f := r.figure(name, 0, "/s") // before those of measure
	f.Value = measure()
	r.require(f.against("raw", (before+r.raw())/2), goals...)
}

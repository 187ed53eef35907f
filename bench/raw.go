package bench

import (
	"context"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// rawClients is what bellman allows one endpoint at once by default.
const rawClients = 64

// raw measures the bare loop: posts a second.
func (r *run) raw() (float64, error) {
	if since := time.Since(r.rawAt); len(r.report.Raw) > 0 && since < time.Second {
		return r.report.Raw[len(r.report.Raw)-1], nil // the one after the last scenario
	}
	perSecond, err := postRaw(r.ctx, r.url, r.sizes.raw)
	if err != nil {
		return 0, err
	}
	r.report.Raw = append(r.report.Raw, perSecond)
	r.rawAt = time.Now()
	return perSecond, nil
}

func postRaw(ctx context.Context, to string, d time.Duration) (perSecond float64, err error) {
	u, err := url.Parse(to)
	if err != nil {
		return 0, err
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: rawClients}
	defer transport.CloseIdleConnections()
	body := appendBody(nil, 0, 0)
	var posts atomic.Int64
	var over atomic.Bool
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	stop := time.AfterFunc(d, func() { over.Store(true) })
	defer stop.Stop()
	for range rawClients {
		g.Go(func() error {
			p := &poster{transport: transport, url: u}
			for !over.Load() {
				if _, _, err := p.try(ctx, body); err != nil {
					return err
				}
				posts.Add(1)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	return float64(posts.Load()) / time.Since(begun).Seconds(), nil
}

// rawAlone measures raw for its own sake.
func (r *run) rawAlone() error {
	perSecond, err := r.raw()
	if err != nil {
		return err
	}
	r.figure("posts", perSecond, "/s")
	return nil
}

// besideRaw notes a throughput with raw from right before it and right after.
func (r *run) besideRaw(name string, ratio float64, measure func() (perSecond float64, err error)) error {
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
	r.must(f.against("raw", (before+after)/2), atLeast(ratio))
	return nil
}

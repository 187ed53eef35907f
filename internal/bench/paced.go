package bench

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// A duePost is one post of a bare client: task Task of load Load, to URL when it is due.
type duePost struct {
	Due  int64 // Unix ms
	URL  string
	Load int
	Task int
}

// What bellman's own connections have by default.
const (
	bareIdle      = 2048
	bareIdleFor   = 15 * time.Second
	bareHandshake = 5 * time.Second
	bareTimeout   = 5 * time.Second // of one post
)

// postWhenDue is a bare net/http client: it sends each post when it is due, whatever became of
// those before, and keeps nothing. The posts are in order. It ends when standard input does.
func postWhenDue(posts []duePost) error {
	ctx, stop := context.WithCancel(context.Background())
	var sent sync.WaitGroup
	defer sent.Wait()
	defer stop()
	urls := map[string]*url.URL{}
	for _, p := range posts {
		if urls[p.URL] != nil {
			continue
		}
		u, err := url.Parse(p.URL)
		if err != nil {
			return err
		}
		urls[p.URL] = u
	}
	transport := &http.Transport{
		DisableCompression: true, MaxIdleConns: bareIdle, MaxIdleConnsPerHost: rawClients,
		IdleConnTimeout: bareIdleFor, TLSHandshakeTimeout: bareHandshake,
		TLSClientConfig: &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(bareIdle)},
	}
	defer transport.CloseIdleConnections()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	for _, p := range posts {
		sleepUntil(time.UnixMilli(p.Due))
		if ctx.Err() != nil {
			return nil
		}
		sent.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, bareTimeout)
			defer cancel()
			from := poster{transport: transport, url: urls[p.URL]}
			from.post(ctx, appendBody(nil, p.Load, p.Task)) // a host that hangs is no error here
		})
	}
	<-ctx.Done()
	return nil
}

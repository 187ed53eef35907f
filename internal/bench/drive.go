package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman/internal/sleep"
)

// A poster sends encoded bodies with as little CPU time as net/http allows.
type poster struct {
	transport *http.Transport
	url       *url.URL
	answer    bytes.Buffer // of the last post; reused
}

var jsonHeader = http.Header{"Content-Type": {"application/json"}}

// post sends one body and reads the whole answer.
func (p *poster) post(ctx context.Context, body []byte) (status int, header http.Header, err error) {
	req := (&http.Request{
		Method: "POST", URL: p.url, Host: p.url.Host, Header: jsonHeader,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(ctx)
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	p.answer.Reset()
	_, err = p.answer.ReadFrom(resp.Body)
	resp.Body.Close()
	return resp.StatusCode, resp.Header, err
}

// A creator sends creates to a server.
type creator struct {
	server *process
	poster poster
	body   []byte // of the last create; reused
}

func (p *process) creator(path string) *creator {
	return &creator{server: p, poster: poster{transport: p.http, url: &url.URL{Scheme: "http", Host: p.addr, Path: path}}}
}

// send sends the body. After a 429 it waits and sends again, as often as needed.
func (c *creator) send(ctx context.Context) (status int, err error) {
	for {
		status, header, err := c.poster.post(ctx, c.body)
		if err != nil || status != http.StatusTooManyRequests {
			return status, err
		}
		c.server.refused.Add(1)
		seconds, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil {
			return 0, fmt.Errorf("429 with Retry-After %q: want seconds", header.Get("Retry-After"))
		}
		if !sleep.For(ctx, time.Duration(seconds)*time.Second) {
			return 0, ctx.Err()
		}
	}
}

// one creates task i of a plan.
func (c *creator) one(ctx context.Context, p *plan, i int) error {
	c.body = p.appendCreate(c.body[:0], i)
	status, err := c.send(ctx)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("create: %d %.300s", status, c.poster.answer.Bytes())
	}
	return err
}

// created is the text of a batch's answer for a new task.
var created = []byte(`{"status":201,`)

// several creates n tasks of a plan, starting with task i.
func (c *creator) several(ctx context.Context, p *plan, i, n int) error {
	return c.batch(ctx, n, func(b []byte, k int) []byte { return p.appendCreate(b, i+k) })
}

// batch creates n tasks with one request. create appends the JSON of task k.
func (c *creator) batch(ctx context.Context, n int, create func(b []byte, k int) []byte) error {
	c.body = append(c.body[:0], `{"tasks":[`...)
	for k := range n {
		if k > 0 {
			c.body = append(c.body, ',')
		}
		c.body = create(c.body, k)
	}
	c.body = append(c.body, `]}`...)
	status, err := c.send(ctx)
	if err != nil {
		return err
	}
	if got := bytes.Count(c.poster.answer.Bytes(), created); status != http.StatusOK || got != n {
		return fmt.Errorf("create a batch: %d, %d of %d created: %.300s", status, got, n, c.poster.answer.Bytes())
	}
	return nil
}

// createSingly creates all tasks of a plan, one per request.
func (p *process) createSingly(ctx context.Context, plan plan, clients int) error {
	return inSteps(ctx, plan.tasks, 1, clients, func(ctx context.Context) func(i, n int) error {
		c := p.creator("/v1/tasks")
		return func(i, _ int) error { return c.one(ctx, &plan, i) }
	})
}

// batchClients is the number of clients that send batches concurrently.
const batchClients = 4

// createInBatches creates all tasks of a plan in the largest batches of the run. With several
// servers, the clients are divided among them.
func createInBatches(ctx context.Context, plan plan, servers ...*process) error {
	var clients atomic.Int64
	return inSteps(ctx, plan.tasks, servers[0].batch, batchClients, func(ctx context.Context) func(i, n int) error {
		c := servers[int(clients.Add(1))%len(servers)].creator("/v1/tasks/batch")
		return func(i, n int) error { return c.several(ctx, &plan, i, n) }
	})
}

// rateClients is the most clients of a fixed rate, unless a rate needs fewer.
const rateClients = 1024

// atRate calls the function of a client for 0 to n−1 at a fixed rate, whether or not earlier calls
// have returned. Idle clients are used again. While all clients are busy it waits, and then catches
// up.
func atRate(ctx context.Context, n, perSecond, clients int, client func() func(ctx context.Context, i int) error) error {
	gap := time.Second / time.Duration(perSecond)
	idle := sync.Pool{New: func() any { return client() }}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(clients)
	begun := time.Now().Add(10 * time.Millisecond)
	for i := range n {
		sleepUntil(begun.Add(time.Duration(i) * gap))
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			do := idle.Get().(func(context.Context, int) error)
			defer idle.Put(do)
			return do(ctx, i)
		})
	}
	return g.Wait()
}

// inSteps processes 0 to total−1 in steps with a number of concurrent clients. client returns the
// function of each client.
func inSteps(ctx context.Context, total, step, clients int, client func(context.Context) func(i, n int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range clients {
		g.Go(func() error {
			do := client(ctx)
			for {
				i := int(next.Add(1)-1) * step
				if i >= total {
					return nil
				}
				if err := do(i, min(step, total-i)); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

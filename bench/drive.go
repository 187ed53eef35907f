package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A poster sends bodies that are encoded already, with as little of this
// machine's CPU as net/http allows.
type poster struct {
	transport *http.Transport
	url       *url.URL
	answer    []byte // of the last post; reused
}

var jsonHeader = http.Header{"Content-Type": {"application/json"}}

// post sends one body and reads the whole answer. A 429 is waited out, as often
// as it comes.
func (p *poster) post(ctx context.Context, body []byte) (status, refused int, err error) {
	for {
		var after time.Duration
		status, after, err = p.try(ctx, body)
		if err != nil || status != http.StatusTooManyRequests {
			return status, refused, err
		}
		refused++
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return status, refused, ctx.Err()
		}
	}
}

func (p *poster) try(ctx context.Context, body []byte) (status int, after time.Duration, err error) {
	req := (&http.Request{
		Method: "POST", URL: p.url, Host: p.url.Host, Header: jsonHeader,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(ctx)
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return 0, 0, err
	}
	p.answer, err = readAll(p.answer[:0], resp.Body)
	resp.Body.Close()
	if seconds, e := strconv.Atoi(resp.Header.Get("Retry-After")); e == nil {
		after = time.Duration(seconds) * time.Second
	}
	return resp.StatusCode, max(after, 10*time.Millisecond), err
}

func readAll(b []byte, from io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

func (p *process) poster(path string) *poster {
	return &poster{transport: p.http, url: &url.URL{Scheme: "http", Host: p.addr, Path: path}}
}

// createOne creates task i of a plan.
func (p *poster) createOne(ctx context.Context, plan *plan, i int, buf []byte) (_ []byte, refused int, err error) {
	buf = plan.appendCreate(buf[:0], i)
	status, refused, err := p.post(ctx, buf)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("create: %d %.300s", status, p.answer)
	}
	return buf, refused, err
}

// createSingly creates all of a plan, one task a request.
func (p *process) createSingly(ctx context.Context, plan plan, clients int) (refused int64, err error) {
	var next, told atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range clients {
		g.Go(func() error {
			to, buf := p.poster("/v1/tasks"), []byte(nil)
			for {
				i := int(next.Add(1)) - 1
				if i >= plan.tasks {
					return nil
				}
				var n int
				var err error
				if buf, n, err = to.createOne(ctx, &plan, i, buf); err != nil {
					return err
				}
				told.Add(int64(n))
			}
		})
	}
	err = g.Wait()
	return told.Load(), err
}

// batchClients is how many clients send batches at the same time.
const batchClients = 4

// createInBatches creates all of a plan, 1,000 tasks a request.
func (p *process) createInBatches(ctx context.Context, plan plan) (refused int64, err error) {
	var next, told atomic.Int64
	created := []byte(`{"status":201,`)
	g, ctx := errgroup.WithContext(ctx)
	for range batchClients {
		g.Go(func() error {
			to, buf := p.poster("/v1/tasks/batch"), []byte(nil)
			for {
				from := (int(next.Add(1)) - 1) * batch
				if from >= plan.tasks {
					return nil
				}
				n := min(batch, plan.tasks-from)
				buf = append(buf[:0], `{"tasks":[`...)
				for i := range n {
					if i > 0 {
						buf = append(buf, ',')
					}
					buf = plan.appendCreate(buf, from+i)
				}
				buf = append(buf, `]}`...)
				status, again, err := to.post(ctx, buf)
				switch {
				case err != nil:
					return err
				case status != http.StatusOK || bytes.Count(to.answer, created) != n:
					return fmt.Errorf("create a batch: %d, %d of %d created: %.300s", status, bytes.Count(to.answer, created), n, to.answer)
				}
				told.Add(int64(again))
			}
		})
	}
	err = g.Wait()
	return told.Load(), err
}

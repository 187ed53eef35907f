package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options configure a client. The zero value is for a server on this machine with its default
// settings.
type Options struct {
	Server string       // its address; default http://127.0.0.1:2355
	Key    string       // sent as Authorization: Bearer; empty: none
	HTTP   *http.Client // default: one with 256 idle connections to the server and no timeout of its own

	// Retries is how often a failed call is repeated; 0: never. A call is repeated after 429. After
	// 502, 503, 504 or a failed connection it is repeated only if a repetition changes nothing:
	// reads, PUT and DELETE, and creates whose tasks all have keys. The pauses grow from a tenth of
	// a second, and are at least Retry-After; the context ends them. If Retry-After is longer than
	// a minute, the error is returned at once. Streams of events are not repeated. If the answer of
	// a successful try was lost, its repetition may return 404 for a DELETE, and 409 for a PUT with
	// a Version.
	Retries int
}

// A Client calls a bellman server. It is safe for concurrent use.
type Client struct {
	server  string
	key     string
	http    *http.Client
	retries int
}

// maxRetryAfter is the longest Retry-After that a repetition waits for.
const maxRetryAfter = time.Minute

// maxAnswer bounds the size of an answer. The largest answer is a batch of tasks. A longer answer
// is an error.
const maxAnswer = 64 << 20

// New returns a client. It makes no connection yet. The error says what is wrong with Server.
func New(o Options) (*Client, error) {
	server := strings.TrimRight(cmp.Or(o.Server, "http://127.0.0.1:2355"), "/")
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("bellman: server %q: want an address such as http://127.0.0.1:2355", server)
	}
	c := &Client{server: server, key: o.Key, http: o.HTTP, retries: o.Retries}
	if c.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
		c.http = &http.Client{Transport: t}
	}
	return c, nil
}

// call makes one call, and repeats it as Options.Retries says.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) (int, error) {
	for tried := 0; ; tried++ {
		status, err := c.try(ctx, method, path, query, in, out)
		if err == nil || tried >= c.retries || !again(err, repeatable(method, in)) || ctx.Err() != nil {
			return status, err
		}
		pause := min(100*time.Millisecond<<min(tried, 10), 5*time.Second)
		pause = pause/2 + rand.N(pause/2)
		if p, is := errors.AsType[*Problem](err); is {
			if p.RetryAfter > maxRetryAfter {
				return status, err
			}
			pause = max(pause, p.RetryAfter)
		}
		select {
		case <-ctx.Done():
			return status, err
		case <-time.After(pause):
		}
	}
}

// again reports whether a failed call may be repeated. safe: a repetition changes nothing, even if
// the call was executed.
func again(err error, safe bool) bool {
	if _, is := errors.AsType[lasting](err); is {
		return false
	}
	switch status := StatusOf(err); status {
	case http.StatusTooManyRequests:
		return true
	case 0, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return safe
	}
	return false
}

// A lasting error would come again: the request cannot be made, or its answer is not understood.
type lasting struct{ error }

func (e lasting) Unwrap() error { return e.error }

// repeatable reports whether a repetition of the request changes nothing.
func repeatable(method string, in any) bool {
	switch in := in.(type) {
	case CreateTask:
		return in.Key != ""
	case Batch:
		return !slices.ContainsFunc(in.Tasks, func(t CreateTask) bool { return t.Key == "" })
	}
	return method != http.MethodPost
}

// try makes one request and decodes the answer into out, unless out is nil. It returns the status
// of the answer, and a *Problem for a status of 400 or more.
func (c *Client) try(ctx context.Context, method, path string, query url.Values, in, out any) (int, error) {
	resp, err := c.send(ctx, method, path, query, in)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return resp.StatusCode, problem(resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("bellman: %s %s: reading the answer: %w", method, path, err)
	}
	if len(text) > maxAnswer {
		return resp.StatusCode, lasting{fmt.Errorf("bellman: %s %s: the answer is larger than %d bytes", method, path, maxAnswer)}
	}
	switch out := out.(type) {
	case nil:
		return resp.StatusCode, nil
	case *[]byte:
		*out = text
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		if isPage(resp) {
			err = errors.New(webPage)
		}
		return resp.StatusCode, lasting{fmt.Errorf("bellman: %s %s: the answer is not what was expected: %w", method, path, err)}
	}
	return resp.StatusCode, nil
}

// send makes one request. Its body is in as JSON, or the bytes of in if that is an io.Reader; nil:
// none.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	body, raw := in.(io.Reader)
	mediaType := "application/octet-stream"
	if in != nil && !raw {
		text, err := encode(in)
		if err != nil {
			return nil, lasting{fmt.Errorf("bellman: %s %s: %w", method, path, err)}
		}
		body, mediaType = bytes.NewReader(text), "application/json"
	}
	address := c.server + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, lasting{fmt.Errorf("bellman: %s %s: %w", method, path, err)}
	}
	if in != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("bellman: %w", err)
	}
	if r := resp.Request; r != nil && r.Method != method && r.Response != nil { // a redirect made it a GET, so nothing was changed
		resp.Body.Close()
		status := r.Response.StatusCode
		return nil, &Problem{Status: status, Title: http.StatusText(status),
			Detail: fmt.Sprintf("the server redirects to %s, and the redirect drops the request: use that address of the server", r.URL.Redacted())}
	}
	return resp, nil
}

// encode returns a request as JSON. The json of a task stays byte for byte as given: package json
// would take out its white space.
func encode(in any) ([]byte, error) {
	switch in := in.(type) {
	case CreateTask:
		return appendTask(nil, in)
	case Batch:
		b := []byte(`{"tasks":[`)
		for i, t := range in.Tasks {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendTask(b, t); err != nil {
				return nil, fmt.Errorf("task %d of %d: %w", i+1, len(in.Tasks), err)
			}
		}
		b = append(b, ']')
		if in.DryRun {
			b = append(b, `,"dry_run":true`...)
		}
		return append(b, '}'), nil
	}
	return appendJSON(nil, in)
}

func appendTask(b []byte, t CreateTask) (_ []byte, err error) {
	given := t.JSON
	t.JSON = nil
	if b, err = appendJSON(b, t); err != nil || len(given) == 0 {
		return b, err
	}
	if err := json.Unmarshal(given, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	b = append(bytes.TrimSuffix(b, []byte("}")), `,"json":`...) // it has a queue
	return append(append(b, given...), '}'), nil
}

// appendJSON appends v as JSON without HTML escapes.
func appendJSON(b []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(b)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(w.Bytes(), []byte("\n")), err
}

// problem reads an error answer. An answer that is no problem document, for example from a proxy,
// becomes one.
func problem(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // the status is enough
	p := &Problem{}
	if json.Unmarshal(text, p) != nil || p.Title == "" {
		p = &Problem{Detail: strings.TrimSpace(string(text[:min(len(text), 600)]))}
		if isPage(resp) {
			p.Detail = webPage
		}
	}
	p.Status = resp.StatusCode
	p.Title = cmp.Or(p.Title, http.StatusText(p.Status), "unexpected answer")
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return p
}

const webPage = "it is a web page: is this the address of a bellman server, and no proxy's?"

func isPage(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
}

// StatusOf returns the HTTP status of an error answer, or 0 if err is none.
func StatusOf(err error) int {
	if p, is := errors.AsType[*Problem](err); is {
		return p.Status
	}
	return 0
}

// escape encodes s as one segment of a path.
func escape(s string) string {
	switch s {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	return url.PathEscape(s)
}

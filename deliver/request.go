package deliver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/field"
)

// The header values that many requests share. Nobody changes them.
var (
	typeJSON = []string{"application/json"}
	typeText = []string{"text/plain; charset=utf-8"}
)

// request builds the request of one attempt.
func (h *Handler) request(ctx context.Context, task *bellman.Task, number int, to address, signer sign.Signer) (*http.Request, error) {
	id := task.ID.String()
	header := h.header(task, id, number, signer)
	if h.propagate {
		field.Propagate(header, bellman.TraceOf(ctx))
	}
	body := task.Body
	if signer != nil {
		m := sign.Message{ID: id, Time: time.Now(), Header: header, Query: to.url.RawQuery, Body: body}
		if err := signer.Sign(&m); err != nil {
			return nil, err
		}
		body = m.Body
		if m.Query != to.url.RawQuery {
			signed := *to.url
			signed.RawQuery = m.Query
			to.url = &signed
		}
	}
	method := task.Method
	if method == "" {
		method = h.method
	}
	req := http.Request{
		Method: method, URL: to.url, Host: to.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(body)), Body: http.NoBody,
	}
	if len(body) > 0 {
		// A copy: a transport may still read when the attempt is over (an answer that
		// came before all was sent), and the task is not ours any more then. It has
		// to be a bytes.Reader: for any other net/http sends header and body apart.
		body = bytes.Clone(body)
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx), nil
}

// header returns a task's header: its own, and ours where it has none.
func (h *Handler) header(task *bellman.Task, id string, number int, signer sign.Signer) http.Header {
	signed := 0
	if signer != nil {
		signed = len(signer.Headers())
	}
	header := make(http.Header, len(task.Header)+4+signed)
	values := make([]string, 0, len(task.Header)+2)
	set := func(name, value string) {
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	for name, value := range task.Header {
		name = http.CanonicalHeaderKey(name)
		if field.Reserved(name) == "" {
			set(name, value)
		}
	}
	set("Bellman-Task", id)
	set("Bellman-Attempt", strconv.Itoa(number))
	if _, given := header["User-Agent"]; !given {
		header["User-Agent"] = h.client.agent
	}
	if _, given := header["Content-Type"]; !given && len(task.Body) > 0 {
		header["Content-Type"] = typeText
		if field.LooksJSON(task.Body) {
			header["Content-Type"] = typeJSON
		}
	}
	return header
}

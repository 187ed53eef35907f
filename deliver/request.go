package deliver

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/field"
)

// Header values that many requests share. They must not be modified.
var (
	typeJSON = []string{"application/json"}
	typeText = []string{"text/plain; charset=utf-8"}
)

// message builds and signs what one attempt sends. query is the query string of the address.
// get says that it is a GET over HTTP, which has no body. message is not inlined: see send.
//
//go:noinline
func (h *Handler) message(ctx context.Context, task *bellman.Task, number int, query string, get bool, signer sign.Signer) (Message, error) {
	id := task.ID.String()
	m := Message{ID: messageID(task, id, number), Event: task.Event, Header: h.header(task, id, number, signer), Query: query, Body: task.Body, Created: task.Created()}
	if h.propagate {
		field.Propagate(m.Header, bellman.TraceOf(ctx))
	}
	get = get && len(task.Body) > 0
	if signer == nil || get && len(signer.Headers()) > 0 { // a signature in a header covers the body, and a GET has none
		m.asGet(get)
	}
	if signer == nil {
		return m, nil
	}
	signed := sign.Message{ID: id, Time: time.Now(), Header: m.Header, Query: m.Query, Body: m.Body}
	if err := signer.Sign(&signed); err != nil {
		return m, err
	}
	m.Query, m.Body = signed.Query, signed.Body
	m.asGet(get && len(m.Body) > 0) // the parameters of the task are signed, and not those of the address
	return m, nil
}

// asGet moves the form of a GET from the body to the end of the query.
func (m *Message) asGet(get bool) {
	if !get {
		return
	}
	if m.Query != "" {
		m.Query += "&"
	}
	m.Query, m.Body = m.Query+string(m.Body), nil
	delete(m.Header, "Content-Type")
}

// isForm reports whether a task's body is a form.
func isForm(task *bellman.Task) bool {
	for name, value := range task.Header {
		if strings.EqualFold(name, "Content-Type") {
			media, _, _ := mime.ParseMediaType(value)
			return media == "application/x-www-form-urlencoded"
		}
	}
	return false
}

// request returns the HTTP request that sends a message to an address. It is not inlined: see send.
//
//go:noinline
func (c *Client) request(ctx context.Context, method string, to address, m *Message) *http.Request {
	if _, given := m.Header["User-Agent"]; !given {
		m.Header["User-Agent"] = c.agent
	}
	if m.Query != to.url.RawQuery {
		signed := *to.url
		signed.RawQuery = m.Query
		to.url = &signed
	}
	req := http.Request{
		Method: method, URL: to.url, Host: to.url.Host, Header: m.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(m.Body)), Body: http.NoBody,
	}
	if len(m.Body) > 0 {
		// A copy, because a transport may still read the body after the attempt: an answer can come
		// before the whole body was sent. It must be a bytes.Reader: for other readers net/http
		// sends header and body in separate writes.
		body := bytes.Clone(m.Body)
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx)
}

// header returns the header of a message: the task's fields except reserved ones,
// and bellman's.
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
	if _, given := header["Content-Type"]; !given && len(task.Body) > 0 {
		header["Content-Type"] = typeText
		if field.LooksJSON(task.Body) {
			header["Content-Type"] = typeJSON
		}
	}
	return header
}

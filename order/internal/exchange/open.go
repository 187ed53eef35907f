package exchange

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/bellmanhq/bellman/internal/cause"
)

// Open sends req through rt and returns the answer's body unread, for a file that is too long for
// Do. It follows no redirect. An error says why there is no answer with status 200; it never
// contains the URL's query, and begin holds the first 4 KiB of the answer, if there is one. The
// caller closes the body.
func Open(rt http.RoundTripper, req *http.Request) (body io.ReadCloser, begin []byte, err error) {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, nil, errors.New(fault(req, err, "").Error)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil, nil
	}
	defer resp.Body.Close()
	begin, _ = io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // for people; a part is better than nothing
	text := fmt.Sprintf("HTTP status %d", resp.StatusCode)
	if redirect := cause.Redirect(resp.StatusCode, resp.Header); redirect != "" {
		text += ": " + redirect
	}
	return nil, begin, errors.New(text)
}

// A Limit writes at most Left bytes to W, and then fails.
type Limit struct {
	W    io.Writer
	Left int64
}

func (l *Limit) Write(p []byte) (int, error) {
	if int64(len(p)) > l.Left {
		return 0, errors.New("the file is longer than is taken")
	}
	l.Left -= int64(len(p))
	return l.W.Write(p)
}

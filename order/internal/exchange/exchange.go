// Package exchange makes one HTTP request to a payment channel and limits its answer. It does not
// know what the request and the answer mean.
package exchange

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/cause"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/rule"
)

// Do sends req through rt and reads the answer. It follows no redirect. The answer's Result is
//
//   - Accepted: complete, with a status from 200 to 299
//   - ErrorStatus: complete, with another status, including redirects
//   - Refused: longer than 64 KiB, or in an encoding that was not requested
//   - Unreachable: no answer, or an incomplete one
//   - TimedOut: the same, because a deadline passed
//   - Unknown: the request was interrupted at a stop
//
// Only with the first two is Body the complete answer. Otherwise it is what was received, for the
// log: nothing may be decided by it.
//
// Error is empty with Accepted, and for an error status unless it is a redirect. It never contains
// the URL's query or password.
func Do(rt http.RoundTripper, req *http.Request) order.Answer {
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return fault(req, err, "")
	}
	defer resp.Body.Close()
	body, err := read(resp)
	if err != nil {
		a := fault(req, err, fmt.Sprintf("the answer broke off after %d bytes: ", len(body)))
		a.Status, a.Header, a.Body = resp.StatusCode, Header(resp.Header), body
		return a
	}
	a := order.Answer{Result: bellman.Accepted, Status: resp.StatusCode, Header: Header(resp.Header), Body: body}
	a.RetryAfter, a.Throttled = rule.RetryAfter(resp.StatusCode, resp.Header, time.Now())
	a.Throttled = a.Throttled || resp.StatusCode == http.StatusTooManyRequests // 503 counts only with a Retry-After
	encoded := cause.Encoded(resp.Header)
	switch {
	case len(body) > order.MaxBody:
		a.Result, a.Error, a.Body = bellman.Refused, "the answer is longer than 64 KiB", body[:order.MaxBody]
	case encoded != "" && len(body) > 0:
		a.Result, a.Error = bellman.Refused, encoded
	case a.Status < 200 || a.Status >= 300:
		a.Result, a.Error = bellman.ErrorStatus, cause.Redirect(a.Status, resp.Header)
	}
	return a
}

// fault returns the answer to a request without a complete answer. during names the phase and
// precedes the cause.
func fault(req *http.Request, err error, during string) order.Answer {
	result, text := cause.Of(req.Context(), err)
	secret := []string{req.URL.RawQuery}
	if password, set := req.URL.User.Password(); set {
		secret = append(secret, req.URL.User.String(), password)
	}
	for _, s := range secret {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	return order.Answer{Result: result, Error: cause.Line(during + text)}
}

// read reads an answer's body, up to one byte more than order.MaxBody.
func read(resp *http.Response) ([]byte, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, nil // the rest is not an answer
	}
	return io.ReadAll(io.LimitReader(resp.Body, order.MaxBody+1))
}

// Header returns a header with its names in lower case. Values of one name are joined with a comma
// (RFC 9110, section 5.3).
func Header(h http.Header) map[string]string {
	lower := make(map[string]string, len(h))
	for name, values := range h {
		lower[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return lower
}

// Unread returns an answer that says nothing, because of err.
func Unread(a order.Answer, err error) order.Answer {
	if a.Result == bellman.Accepted {
		a.Result = bellman.Refused
	}
	if a.Error == "" {
		a.Error = err.Error()
	}
	return a
}

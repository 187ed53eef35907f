// Package cause describes in one line why a request got no valid answer. All senders of requests
// use it, so that a fault has the same words in every log.
package cause

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/bellmanhq/bellman"
)

// A refusal is the error of an egress guard.
type refusal interface {
	error
	Blocked() bool
}

// Of returns the result that a transport's error means, and its description. ctx is the request's.
// An error of unknown kind keeps its text: the caller removes secrets, and shortens it with [Line].
func Of(ctx context.Context, err error) (bellman.Result, string) {
	var (
		blocked     refusal
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		noTLS       tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return bellman.Unknown, "cut off by us before an answer came"
	case errors.As(err, &blocked) && blocked.Blocked():
		return bellman.Blocked, blocked.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return bellman.TimedOut, "no answer in the time of one attempt"
	case errors.As(err, &dns):
		switch {
		case dns.IsNotFound:
			return bellman.Unreachable, "dns: no such host: " + dns.Name
		case dns.IsTimeout:
			return bellman.TimedOut, "dns: no answer about " + dns.Name
		}
		return bellman.Unreachable, "dns: cannot resolve " + dns.Name + ": " + dns.Err
	case errors.As(err, &certificate):
		return bellman.Unreachable, "tls: certificate not accepted: " + certificate.Err.Error()
	case errors.As(err, &noTLS):
		return bellman.Unreachable, "tls: the other end does not speak TLS"
	case errors.As(err, &alert):
		return bellman.Unreachable, "tls: " + alert.Error()
	}
	return ofConnection(err)
}

// ofConnection is Of for the errors of a connection, and for those that nothing else explains.
func ofConnection(err error) (bellman.Result, string) {
	text, prefix, dialing := err.Error(), "connection: ", false
	if op, is := errors.AsType[*net.OpError](err); is {
		switch op.Op {
		case "dial":
			prefix, dialing = "connect: ", true
		case "proxyconnect":
			prefix, dialing = "proxy: ", true
		}
	}
	if timeout(err) {
		switch {
		case dialing:
			return bellman.TimedOut, prefix + "no connection in time"
		case strings.Contains(text, "TLS handshake"):
			return bellman.TimedOut, "tls: no handshake in time"
		case strings.Contains(text, "response headers"):
			return bellman.TimedOut, "http: no header of an answer in time"
		}
		return bellman.TimedOut, "no answer in time"
	}
	for _, known := range []struct {
		err  error
		text string
	}{
		{syscall.ECONNREFUSED, "refused"},
		{syscall.ECONNRESET, "reset by the other end"},
		{syscall.EPIPE, "closed by the other end"},
		{net.ErrClosed, "closed by the other end"}, // while the request was being written
		{syscall.EHOSTUNREACH, "no route to the host"},
		{syscall.ENETUNREACH, "no route to the network"},
		{syscall.EMFILE, "too many open files here"},
		{io.ErrUnexpectedEOF, "closed before the answer was whole"},
		{io.EOF, "closed without an answer"},
	} {
		if errors.Is(err, known.err) {
			return bellman.Unreachable, prefix + known.text
		}
	}
	switch {
	case strings.Contains(text, "server closed idle connection"):
		return bellman.Unreachable, prefix + "closed without an answer"
	case strings.Contains(text, "response headers exceeded"), strings.Contains(text, "header list larger"):
		return bellman.Unreachable, "http: the answer's header is longer than 64 KiB"
	}
	return bellman.Unreachable, strings.TrimPrefix(strings.TrimPrefix(text, "net/http: "), "HTTP/1.x transport connection broken: ")
}

func timeout(err error) bool {
	t, is := errors.AsType[net.Error](err)
	return is && t.Timeout()
}

// Redirect describes a redirect, which is not followed, without the query of its target; empty: the
// answer is no redirect.
func Redirect(status int, header http.Header) string {
	to := header.Get("Location")
	if status < 300 || status >= 400 || to == "" {
		return ""
	}
	u, err := url.Parse(to)
	if err != nil {
		return "redirects are not followed"
	}
	return Line("redirects are not followed; this one leads to " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// Encoded describes an answer's encoding, which was not requested; empty: the answer has none.
func Encoded(header http.Header) string {
	encoding := header.Get("Content-Encoding")
	if encoding == "" || encoding == "identity" {
		return ""
	}
	return Line("the answer is encoded (" + encoding + "), which was not asked for")
}

// Line makes a foreign text one line of at most 300 characters.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	n := 0
	for i := range s {
		if n++; n > 300 {
			return s[:i]
		}
	}
	return s
}

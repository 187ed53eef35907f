package deliver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/bellmanhq/bellman"
)

// fault is the verdict on a request that got no whole answer. during says when
// that was, and is put before the cause.
func fault(ctx context.Context, err error, to address, during string) bellman.Verdict {
	if errors.Is(ctx.Err(), context.Canceled) {
		return bellman.Verdict{Result: bellman.Unknown, Error: during + "cut off by us before an answer came"}
	}
	result, cause := classify(ctx, err)
	if q := to.url.RawQuery; q != "" {
		cause = strings.ReplaceAll(cause, q, "…")
	}
	var r *refusal
	if errors.As(err, &r) {
		named := *r
		if named.host == "" && named.addr.String() != to.host {
			named.host = to.host
		}
		cause = named.Error()
	}
	return bellman.Verdict{Result: result, Error: line(during + cause)}
}

// classify says of an error from below what it means, and in one line what
// happened: its class, then what is known.
func classify(ctx context.Context, err error) (bellman.Result, string) {
	var (
		blocked     *refusal
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		noTLS       tls.RecordHeaderError
		alert       tls.AlertError
		op          *net.OpError
	)
	switch {
	case errors.As(err, &blocked):
		return bellman.Blocked, ""
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
	text, prefix, dialing := err.Error(), "connection: ", false
	if errors.As(err, &op) {
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
	return bellman.Unreachable, strings.TrimPrefix(text, "net/http: ")
}

func timeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

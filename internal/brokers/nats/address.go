package nats

import (
	"errors"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman/deliver"
)

// Scheme is the address scheme of NATS: nats://CONNECTION/SUBJECT.
var Scheme = &deliver.Scheme{
	Name:     "nats",
	Form:     "nats://CONNECTION/SUBJECT",
	Check:    func(path string) error { _, err := subjectOf(path); return err },
	Reserved: "Nats-",
}

// maxSubject is the longest subject, in bytes.
const maxSubject = 255

// subjectOf parses the path of an address.
func subjectOf(path string) (string, error) {
	subject, err := url.PathUnescape(path)
	if err != nil || !isSubject(subject) {
		return "", errors.New("names no subject: want nats://CONNECTION/SUBJECT, the subject as words with dots between, without * and >")
	}
	if isServers(subject) {
		return "", errors.New("its subject is the server's own ($… or _INBOX): want one of a stream")
	}
	return subject, nil
}

// isSubject reports whether a subject is valid for publishing.
func isSubject(s string) bool {
	if len(s) > maxSubject {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part == "*" || part == ">" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// isServers reports whether a subject belongs to the server, such as $JS.API.STREAM.DELETE.ORDERS
// or the subjects of answers. Tasks must not be sent to these.
func isServers(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	return strings.HasPrefix(first, "$") || first == "_INBOX"
}

package bellman

import (
	"fmt"
	"net/url"
	"time"
)

// Limits of the fields of a task. The API, the CLI and the brokers reject longer values. An engine
// accepts names and keys up to MaxStoredName and MaxStoredKey.
const (
	MaxName     = 128              // characters of a queue, a merchant's number, an order's number or an event
	MaxKey      = 255              // bytes of a Key, an Alias or an OrderingKey
	MaxURL      = 2000             // bytes
	MaxRule     = 4000             // characters of a Schedule or a Success; an expression has at most rule.MaxText bytes
	MaxHeaders  = 64               // names
	MaxTimeout  = 10 * time.Minute // of one attempt
	MaxResponse = 600              // characters that are kept of an answer
	MaxPast     = time.Minute      // how old a time given for the next attempt may be: people type it before they send it

	// MaxResponseHeader is how many characters of an answer's header are kept.
	MaxResponseHeader = 1 << 10

	// MaxConcurrency is the highest limit of concurrent attempts.
	MaxConcurrency = 100_000
)

// The longest texts that an engine accepts, in bytes, whatever its store is: a database has them in
// an index. A task with a longer text, which an earlier version stored, is still read and
// attempted.
const (
	MaxStoredName = 512  // a queue, a merchant's number, an order's number, or the host of a URL
	MaxStoredKey  = 1024 // a Key or an OrderingKey
)

// MaxData is how many bytes a Body, and the Data of a verdict, may have: databases refuse larger
// packets.
const MaxData = 8 << 20

// Other texts of a task are in one packet with its Body.
const (
	maxText   = 512 << 10 // bytes of each
	maxHeader = 2 << 20   // bytes of all names and values
)

// Oversized adds the fields of a task that are longer than MaxStoredName, MaxStoredKey and MaxData
// allow, and other texts that a database could not write.
func (e *Invalid) Oversized(t *Task) {
	for _, f := range [...]struct {
		name, text string
		most       int
	}{
		{"queue", t.Queue, MaxStoredName}, {"key", t.Key, MaxStoredKey}, {"alias", t.Alias(), MaxStoredKey}, {"merchant_no", t.MerchantNo, MaxStoredName},
		{"order_no", t.OrderNo, MaxStoredName}, {"ordering_key", t.OrderingKey, MaxStoredKey}, {"url", longHost(t.URL), MaxStoredName},
		{"event", t.Event, maxText}, {"url", t.URL, maxText}, {"method", t.Method, maxText}, {"success", t.Success, maxText},
		{"endpoint", t.Endpoint, maxText}, {"created_by", t.CreatedBy(), maxText}, {"tracestate", t.traceState(), maxText},
	} {
		if len(f.text) > f.most {
			e.Add(f.name, fmt.Sprintf("has %d bytes: want at most %d", len(f.text), f.most))
		}
	}
	headers := 0
	for name, value := range t.Header {
		headers += len(name) + len(value)
	}
	if headers > maxHeader {
		e.Add("headers", fmt.Sprintf("have %d bytes: want at most %d", headers, maxHeader))
	}
	if len(t.Body) > MaxData {
		e.Add("body", fmt.Sprintf("has %d bytes: want at most %d", len(t.Body), MaxData))
	}
}

// traceState returns the State of the task's trace.
func (t *Task) traceState() string {
	if t.Trace() == nil {
		return ""
	}
	return t.Trace().State
}

// longHost returns the host of an address that is longer than MaxStoredName; empty for all others.
func longHost(address string) string {
	if len(address) <= MaxStoredName {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

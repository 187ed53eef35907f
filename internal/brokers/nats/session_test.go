package nats

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// A dead letter fits into the server that its message came from, although bellman adds headers.
func TestADeadLetterFits(t *testing.T) {
	const most = 4096
	for _, tt := range []struct {
		name       string
		body, own  int // bytes of the message's body and of its own headers
		kept, cuts bool
	}{
		{"small", 100, 10, true, false},
		{"as large as can be", most, 0, false, true},
		{"with headers", most - 600, 500, false, true},
		{"nearly all headers", 10, most - 60, true, true},
	} {
		m := &nats.Msg{Subject: "dead.x", Header: nats.Header{}, Data: make([]byte, tt.body)}
		m.Header.Set("Own", strings.Repeat("x", tt.own))
		m.Header.Set(source.ReasonHeader, "is no JSON")
		m.Header.Set(source.SourceHeader, "ORDERS orders.paid")
		m.Header.Set(nats.MsgIdHdr, "ORDERS@1/1")
		m = fitting(m, most)
		if size := m.Size() - len(m.Subject); size > most {
			t.Errorf("%s: the dead letter has %d bytes; want at most %d", tt.name, size, most)
		}
		if kept := len(m.Data) == tt.body; kept != tt.kept || (m.Header.Get(cutHeader) != "") != tt.cuts {
			t.Errorf("%s: %d of %d bytes of the body are kept, header for the cut %q", tt.name, len(m.Data), tt.body, m.Header.Get(cutHeader))
		}
		if m.Header.Get(source.ReasonHeader) == "" || m.Header.Get(nats.MsgIdHdr) == "" {
			t.Errorf("%s: headers %v; want those of the message and of bellman", tt.name, m.Header)
		}
	}
}

// The position of a message is parsed from its reply subject, in both existing forms.
func TestPositionInReplySubject(t *testing.T) {
	for _, tt := range []struct{ reply, stream, number string }{
		{"$JS.ACK.ORDERS.bellman.1.42.7.1763765432000000000.0", "ORDERS", "42"},
		{"$JS.ACK._.hash.ORDERS.bellman.1.42.7.1763765432000000000.0", "ORDERS", "42"},
		{"$JS.ACK.hub.hash.ORDERS.bellman.1.18446744073709551615.7.1763765432000000000.0.random", "ORDERS", "18446744073709551615"},
		{"$JS.ACK.ORDERS.bellman.1.42.7.1763765432000000000", "", ""},
		{"$JS.ACK.a.ORDERS.bellman.1.42.7.1763765432000000000.0", "", ""},
		{"_INBOX.x.y.1.2.3.4.5.6", "", ""},
		{"", "", ""},
	} {
		stream, number, ok := standing(tt.reply)
		if stream != tt.stream || number != tt.number || ok != (tt.stream != "") {
			t.Errorf("standing(%q) = %q, %q, %t; want %q, %q", tt.reply, stream, number, ok, tt.stream, tt.number)
		}
	}
}

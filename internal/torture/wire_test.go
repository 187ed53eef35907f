package torture

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// A wire parses what a client sends on one connection to a database, as far as needed to recognize
// a COMMIT.
type wire interface {
	// sent takes a piece of what the client sends, and reports whether a COMMIT ends in this piece.
	sent(piece []byte) bool

	// answered takes what the server sends after that, and reports whether it has answered the
	// COMMIT.
	answered(piece []byte) bool
}

// postgresWire parses version 3 of PostgreSQL's protocol. A message has a type, a length and a
// body; the first message has no type. A COMMIT is a query, or a prepared statement that is bound.
type postgresWire struct {
	rest     []byte
	started  bool
	prepared map[string]bool // names of prepared statements that are a COMMIT
	answer   []byte
}

func (w *postgresWire) sent(piece []byte) (commit bool) {
	w.rest = append(w.rest, piece...)
	for {
		head := 1
		if !w.started {
			head = 0
		}
		if len(w.rest) < head+4 {
			return commit
		}
		size := head + int(binary.BigEndian.Uint32(w.rest[head:]))
		if size < head+4 || len(w.rest) < size {
			return commit // shorter than any message, so this is not PostgreSQL
		}
		if w.started {
			commit = w.message(w.rest[0], w.rest[5:size]) || commit
		}
		w.started = true
		w.rest = w.rest[size:]
	}
}

// message reports whether a message is a COMMIT.
func (w *postgresWire) message(kind byte, body []byte) bool {
	first, rest, _ := bytes.Cut(body, []byte{0})
	second, _, _ := bytes.Cut(rest, []byte{0})
	switch kind {
	case 'Q': // query
		return isCommit(string(first))
	case 'P': // parse: name and text of the statement
		if w.prepared == nil {
			w.prepared = map[string]bool{}
		}
		w.prepared[string(first)] = isCommit(string(second))
	case 'B': // bind: names of portal and statement
		return w.prepared[string(second)]
	}
	return false
}

// answered looks for CommandComplete with the text COMMIT. Nothing else that the server sends
// contains this text, because bellman stores no such text.
func (w *postgresWire) answered(piece []byte) bool {
	w.answer = append(w.answer, piece...)
	return bytes.Contains(w.answer, []byte("C\x00\x00\x00\x0bCOMMIT\x00"))
}

// mysqlWire parses MySQL's protocol: a packet has a length in three bytes, a number and a body.
// COMMIT is the text of a query.
type mysqlWire struct{ rest []byte }

func (w *mysqlWire) sent(piece []byte) (commit bool) {
	w.rest = append(w.rest, piece...)
	for len(w.rest) >= 4 {
		size := 4 + (int(w.rest[0]) | int(w.rest[1])<<8 | int(w.rest[2])<<16)
		if len(w.rest) < size {
			break
		}
		if body := w.rest[4:size]; len(body) > 0 && body[0] == 3 && isCommit(string(body[1:])) {
			commit = true
		}
		w.rest = w.rest[size:]
	}
	return commit
}

// answered accepts everything, because the server sends nothing unasked.
func (w *mysqlWire) answered(piece []byte) bool { return len(piece) > 0 }

func isCommit(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "commit") }

// postgresMessage returns a message of a client.
func postgresMessage(kind byte, body string) string {
	return string(kind) + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))) + body
}

// mysqlPacket returns a packet of a client.
func mysqlPacket(body string) string {
	return string([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), 0}) + body
}

// flights are byte sequences of clients, each with the number of its COMMITs.
var flights = []struct {
	name    string
	mysql   bool
	bytes   string
	commits int
}{
	{"postgres: nothing but the start", false, postgresMessage(0, "\x00\x03\x00\x00user\x00a\x00\x00")[1:], 0},
	{"postgres: a query", false, "\x00\x00\x00\x08\x00\x03\x00\x00" + postgresMessage('Q', "COMMIT\x00"), 1},
	{"postgres: another query", false, "\x00\x00\x00\x08\x00\x03\x00\x00" + postgresMessage('Q', "SELECT 'COMMIT'\x00"), 0},
	{"postgres: prepared, then bound twice", false, "\x00\x00\x00\x08\x00\x03\x00\x00" +
		postgresMessage('P', "s1\x00commit\x00\x00\x00") + postgresMessage('P', "s2\x00BEGIN\x00\x00\x00") + postgresMessage('S', "") +
		postgresMessage('B', "\x00s2\x00\x00\x00\x00\x00\x00\x00") + postgresMessage('B', "\x00s1\x00\x00\x00\x00\x00\x00\x00") +
		postgresMessage('B', "\x00s1\x00\x00\x00\x00\x00\x00\x00"), 2},
	{"postgres: a name that is prepared twice", false, "\x00\x00\x00\x08\x00\x03\x00\x00" +
		postgresMessage('P', "\x00COMMIT\x00\x00\x00") + postgresMessage('P', "\x00SELECT 1\x00\x00\x00") + postgresMessage('B', "\x00\x00\x00\x00\x00\x00\x00\x00"), 0},
	{"mysql: a query", true, mysqlPacket("\x03COMMIT") + mysqlPacket("\x03SELECT 1") + mysqlPacket("\x03 commit "), 2},
	{"mysql: another command", true, mysqlPacket("\x16COMMIT") + mysqlPacket(""), 0},
}

func newWire(mysql bool) wire {
	if mysql {
		return mysqlWires()
	}
	return postgresWires()
}

func TestWires(t *testing.T) {
	for _, tt := range flights {
		w, commits := newWire(tt.mysql), 0
		for i := range len(tt.bytes) {
			if w.sent([]byte{tt.bytes[i]}) {
				commits++
			}
		}
		if commits != tt.commits {
			t.Errorf("%s: %d COMMITs; want %d", tt.name, commits, tt.commits)
		}
	}
}

// FuzzWire cuts a client's bytes in two. A COMMIT is recognized or not, wherever the cut is.
func FuzzWire(f *testing.F) {
	for _, tt := range flights {
		f.Add(tt.mysql, []byte(tt.bytes), len(tt.bytes)/2)
	}
	f.Fuzz(func(t *testing.T, mysql bool, sent []byte, cut int) {
		if cut < 0 || cut > len(sent) {
			return
		}
		whole, parts := newWire(mysql), newWire(mysql)
		want := whole.sent(sent)
		first, second := parts.sent(sent[:cut]), parts.sent(sent[cut:])
		if (first || second) != want {
			t.Errorf("cut at %d of %q: COMMIT %t and %t; in one piece %t", cut, sent, first, second, want)
		}
	})
}

package torture

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// A wire follows what a client sends on one connection to a database, as far as
// is needed to see a COMMIT go by.
type wire interface {
	// sent takes what the client sends, in pieces as they come, and reports
	// whether a COMMIT ends in this piece.
	sent(piece []byte) bool

	// answered takes what the server sends after that, and reports whether it has
	// answered COMMIT.
	answered(piece []byte) bool
}

// postgresWire follows PostgreSQL's protocol, version 3: messages of a type, a
// length and a body, but for the first one, which has no type. COMMIT is a
// query, or a prepared statement that is bound.
type postgresWire struct {
	rest     []byte
	started  bool
	prepared map[string]bool // names of prepared statements that are COMMIT
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
			return commit // no message is shorter: whatever this is, it is no PostgreSQL
		}
		if w.started {
			commit = w.message(w.rest[0], w.rest[5:size]) || commit
		}
		w.started = true
		w.rest = w.rest[size:]
	}
}

// message reports whether a message asks for a COMMIT.
func (w *postgresWire) message(kind byte, body []byte) bool {
	first, rest, _ := bytes.Cut(body, []byte{0})
	second, _, _ := bytes.Cut(rest, []byte{0})
	switch kind {
	case 'Q': // query
		return isCommit(string(first))
	case 'P': // parse: the statement's name, its text
		if w.prepared == nil {
			w.prepared = map[string]bool{}
		}
		w.prepared[string(first)] = isCommit(string(second))
	case 'B': // bind: the portal's name, the statement's
		return w.prepared[string(second)]
	}
	return false
}

// answered looks for CommandComplete, whose text is COMMIT. What else the server
// sends holds no such text: bellman asks for no text of its own.
func (w *postgresWire) answered(piece []byte) bool {
	w.answer = append(w.answer, piece...)
	return bytes.Contains(w.answer, []byte("C\x00\x00\x00\x0bCOMMIT\x00"))
}

// mysqlWire follows MySQL's protocol: packets of a length in three bytes, a
// number and a body. COMMIT is the text of a query.
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

// answered takes whatever comes: the server says nothing unasked.
func (w *mysqlWire) answered(piece []byte) bool { return len(piece) > 0 }

func isCommit(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "commit") }

// postgresMessage is a message of a client's.
func postgresMessage(kind byte, body string) string {
	return string(kind) + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))) + body
}

// mysqlPacket is a packet of a client's.
func mysqlPacket(body string) string {
	return string([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), 0}) + body
}

// flights are what clients send, and how many of its pieces end a COMMIT when it
// comes byte by byte.
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
	{"postgres: a name that was prepared anew", false, "\x00\x00\x00\x08\x00\x03\x00\x00" +
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

// FuzzWire cuts what a client sends in two: a COMMIT is seen or not, wherever the
// cut is.
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

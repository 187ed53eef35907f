package scratch

import "encoding/binary"

// completions counts the statements that a PostgreSQL server has answered. Each
// message but a client's first has a type and a length: see "Message Formats" in
// PostgreSQL's manual.
type completions struct {
	add func()

	head [5]byte
	have int // of head
	skip int // of a message's content
}

func (c *completions) observe(b []byte) {
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			c.skip -= n
			b = b[n:]
			continue
		}
		n := copy(c.head[c.have:], b)
		c.have += n
		b = b[n:]
		if c.have < len(c.head) {
			return
		}
		c.have = 0
		c.skip = int(binary.BigEndian.Uint32(c.head[1:])) - 4
		if c.head[0] == 'C' || c.head[0] == 'E' { // CommandComplete, ErrorResponse
			c.add()
		}
	}
}

// commands counts the statements that are sent to a MySQL server: see
// "Client/Server Protocol" in MySQL's manual.
type commands struct {
	add func()

	head  [4]byte
	have  int
	left  int  // of a packet's content
	fresh bool // the next byte says what the command is
	query bool // what follows is the text of statements

	begun   bool // a statement of the text
	quote   byte // that it is within; 0: none
	escaped bool
}

func (c *commands) observe(b []byte) {
	for len(b) > 0 {
		if c.left == 0 {
			n := copy(c.head[c.have:], b)
			c.have += n
			b = b[n:]
			if c.have < len(c.head) {
				return
			}
			c.have = 0
			c.left = int(c.head[0]) | int(c.head[1])<<8 | int(c.head[2])<<16
			if c.head[3] == 0 { // the first packet of a command
				c.fresh = true
			}
			continue
		}
		content := b[:min(c.left, len(b))]
		c.left -= len(content)
		b = b[len(content):]
		if c.fresh {
			c.fresh = false
			c.begin(content[0])
			content = content[1:]
		}
		if c.query {
			c.text(content)
		}
	}
}

func (c *commands) begin(command byte) {
	const query, execute = 0x03, 0x17
	c.query, c.begun, c.quote, c.escaped = command == query, false, 0, false
	if command == execute {
		c.add()
	}
}

// text counts the statements of a text, at their first characters.
func (c *commands) text(b []byte) {
	for _, char := range b {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quote != 0 && char == '\\' && c.quote != '`':
			c.escaped = true
		case c.quote != 0:
			if char == c.quote {
				c.quote = 0
			}
		case char == ';':
			c.begun = false
		case char == ' ' || char == '\t' || char == '\n' || char == '\r':
		default:
			if !c.begun {
				c.begun = true
				c.add()
			}
			if char == '\'' || char == '"' || char == '`' {
				c.quote = char
			}
		}
	}
}

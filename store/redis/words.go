package redis

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/internal/pack"
)

// words are texts that many tasks have. A row stores the index of a word, so a new word goes to the
// end, and no word is ever removed.
var words = []string{
	"Content-Type", "application/json", "application/x-www-form-urlencoded", "application/xml", "text/xml", "text/plain",
	"POST", "PUT", "GET",
	"wechat_notify", "alipay_notify", "success_text", "order_poll",
	"payment.succeeded", "payment.failed", "payment.closed", "refund.succeeded", "refund.failed", "order.decided",
	"Accept", "User-Agent", "X-Request-Id", "application/json; charset=utf-8",
}

// appendWord encodes a word as its index and the low bit 1. Another text is its length with the low
// bit 0, followed by the text.
func appendWord(b []byte, s string) []byte {
	if i := slices.Index(words, s); i >= 0 {
		return binary.AppendUvarint(b, uint64(i)<<1|1)
	}
	return append(binary.AppendUvarint(b, uint64(len(s))<<1), s...)
}

// A reader reads rows with words.
type reader struct{ pack.Reader }

func readRow(row []byte) *reader { return &reader{pack.Read(row)} }

func (p *reader) word() string {
	n := p.Uvarint()
	if n&1 == 0 {
		return string(p.Take(n >> 1))
	}
	if n>>1 >= uint64(len(words)) {
		p.Fail()
		return ""
	}
	return words[n>>1]
}

// appendWithin encodes s. If another text contains s, s is its length with the low bit 1, followed
// by its position in that text. Otherwise it is its length with the low bit 0, followed by s.
func appendWithin(b []byte, text, s string) []byte {
	if i := strings.Index(text, s); i >= 0 && s != "" {
		return binary.AppendUvarint(binary.AppendUvarint(b, uint64(len(s))<<1|1), uint64(i))
	}
	return append(binary.AppendUvarint(b, uint64(len(s))<<1), s...)
}

func (p *reader) within(text string) string {
	n := p.Uvarint()
	if n&1 == 0 {
		return string(p.Take(n >> 1))
	}
	n >>= 1
	at := p.Uvarint()
	if n > uint64(len(text)) || at > uint64(len(text))-n {
		p.Fail()
		return ""
	}
	return text[at : at+n]
}

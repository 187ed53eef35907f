package pebble

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/bellmanhq/bellman"
)

// The tables, by the first byte of their keys. These values are stored on disk and must never
// change.
const (
	tableAttempt  = 'a'
	tableCold     = 'c'
	tableDue      = 'd'
	tableEnded    = 'e'
	tableHot      = 'h'
	tableKey      = 'k'
	tableMerchant = 'm'
	tableDepth    = 'n'
	tableOrder    = 'o'
	tablePlace    = 'p'
	tableQueue    = 'q'
	tableShard    = 's'
	tableAudit    = 'u'
	tableDoc      = 'x'
	tableMeta     = 'z'
)

// The functions below append a key to b and return it, like append.

func coldKey(b []byte, id bellman.ID) []byte {
	return append(append(b, tableCold), id[:]...)
}

func hotKey(b []byte, id bellman.ID) []byte {
	return append(append(b, tableHot), id[:]...)
}

func endedKey(b []byte, state bellman.State, id bellman.ID) []byte {
	return append(append(b, tableEnded, byte(state)), id[:]...)
}

// statusKey is the key of a task's status row in this state.
func statusKey(b []byte, state bellman.State, id bellman.ID) []byte {
	if state.Ended() {
		return endedKey(b, state, id)
	}
	return hotKey(b, id)
}

func dueKey(b []byte, look int64, id bellman.ID) []byte {
	b = binary.BigEndian.AppendUint64(append(b, tableDue), ordered(look))
	return append(b, id[:]...)
}

// parseDueKey is the inverse of dueKey.
func parseDueKey(key []byte) (look int64, id bellman.ID) {
	look = int64(binary.BigEndian.Uint64(key[1:]) ^ 1<<63)
	copy(id[:], key[9:])
	return look, id
}

// ordered maps signed numbers to unsigned numbers and keeps their order.
func ordered(n int64) uint64 { return uint64(n) ^ 1<<63 }

// aliases stands for a queue's number in the rows of aliases, which are in the table of keys. No
// queue gets this number.
const aliases = math.MaxUint32

// keyKey is the key of the row of a task's key in a queue, or of its alias.
func keyKey(b []byte, queue uint32, key string) []byte {
	b = binary.BigEndian.AppendUint32(append(b, tableKey), queue)
	return append(b, key...)
}

func merchantKey(b []byte, merchant string, id bellman.ID) []byte {
	return append(appendTerm(append(b, tableMerchant), merchant), id[:]...)
}

func orderKey(b []byte, order string, id bellman.ID) []byte {
	return append(appendTerm(append(b, tableOrder), order), id[:]...)
}

// placesKey is the key prefix of the pending tasks of an ordering key: superseding tasks, or the
// others.
func placesKey(b []byte, queue uint32, ordering string, supersedes bool) []byte {
	b = binary.BigEndian.AppendUint32(append(b, tablePlace), queue)
	b = appendTerm(b, ordering)
	if supersedes {
		return append(b, 1)
	}
	return append(b, 0)
}

func placeKey(b []byte, queue uint32, o *bellman.Ordering, place int64, id bellman.ID) []byte {
	b = placesKey(b, queue, o.Key, o.Supersedes)
	b = binary.BigEndian.AppendUint64(b, ordered(place))
	return append(b, id[:]...)
}

// parsePlace decodes the place and the id at the end of a place key.
func parsePlace(key []byte) position {
	n := len(key) - len(bellman.ID{})
	return position{look: int64(binary.BigEndian.Uint64(key[n-8:]) ^ 1<<63), id: idOf(key)}
}

func attemptKey(b []byte, id bellman.ID, number int) []byte {
	b = append(append(b, tableAttempt), id[:]...)
	return binary.BigEndian.AppendUint32(b, uint32(number))
}

func queueKey(b []byte, table byte, queue uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, table), queue)
}

func shardKey(b []byte, shard uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, tableShard), shard)
}

func docKey(b []byte, kind, name string) []byte {
	return append(appendTerm(append(b, tableDoc), kind), name...)
}

func auditKey(b []byte, ms int64, sequence uint64) []byte {
	b = binary.BigEndian.AppendUint64(append(b, tableAudit), ordered(ms))
	return binary.BigEndian.AppendUint64(b, sequence)
}

func metaKey(name string) []byte { return append([]byte{tableMeta}, name...) }

// idOf returns the id at the end of a key. It is valid for these tables: cold, hot, ended, due,
// merchant, order, place.
func idOf(key []byte) (id bellman.ID) {
	copy(id[:], key[len(key)-len(id):])
	return id
}

// appendTerm appends text so that no encoded text is a prefix of another. A zero byte becomes 0
// 255, and 0 1 is the terminator. The order of texts is kept.
func appendTerm(b []byte, text string) []byte {
	for i := range len(text) {
		b = append(b, text[i])
		if text[i] == 0 {
			b = append(b, 0xff)
		}
	}
	return append(b, 0, 1)
}

// after returns the first key behind all keys with the given prefix.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

package mysql

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// types are MySQL's words for those of the schema.
var types = strings.NewReplacer(
	"{id}", "BINARY(16)", "{name}", fmt.Sprintf("VARBINARY(%d)", sqlstore.MaxName), "{key}", fmt.Sprintf("VARBINARY(%d)", sqlstore.MaxKey), "{bytes}", "LONGBLOB",
	"{table}", " ENGINE=InnoDB ROW_FORMAT=DYNAMIC", "{hot}", " ENGINE=InnoDB ROW_FORMAT=DYNAMIC", "{busy}", " ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
)

// words are those of statements. The clock has no time zone, so that it does
// not jump with one. A cursor is two ranges, because MariaDB reads a row value
// from the shard's beginning, and what is neither from that of its millisecond.
var words = strings.NewReplacer(
	"{now}", "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)", "{micros}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))", "{number}", "SIGNED", "{by key}", "FORCE INDEX (bellman_task_key)",
	"{by merchant_no}", "FORCE INDEX (bellman_task_merchant)", "{by order_no}", "FORCE INDEX (bellman_task_order)", "{by url_host}", "FORCE INDEX (bellman_task_host)",
	"{within merchant_no}", "merchant_no = ? AND id >= ? AND merchant_no = ? AND id < ?",
	"{within order_no}", "order_no = ? AND id >= ? AND order_no = ? AND id < ?",
	"{page}", "(look > ? AND look < ? OR look = ? AND id > ?)",
	"{within url_host}", "url_host = ? AND id >= ? AND url_host = ? AND id < ?",
)

// render is a statement in MySQL's words, with a list spelled out.
func render(s *sqlstore.Statement) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, len(s.Args))
	next := 0
	text := words.Replace(byKey(s.Text))
	for {
		i := strings.IndexByte(text, '?')
		if i < 0 {
			b.WriteString(text)
			return b.String(), args
		}
		b.WriteString(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, "???"):
			first, second := s.Args[next], s.Args[next+1]
			n := sqlstore.Len(first)
			if text = text[3:]; strings.HasPrefix(text, "?") {
				b.WriteString("SELECT ? AS a, ? AS b" + strings.Repeat(" UNION ALL SELECT ?, ?", n-1))
				text = text[1:]
			} else {
				b.WriteString(strings.TrimSuffix(strings.Repeat("(?,?),", n), ","))
			}
			for i := range n {
				args = append(args, at(first, i), at(second, i))
			}
			next += 2
		case strings.HasPrefix(text, "??"):
			n := sqlstore.Len(s.Args[next])
			b.WriteString(strings.TrimSuffix(strings.Repeat("?,", n), ","))
			for i := range n {
				args = append(args, at(s.Args[next], i))
			}
			next, text = next+1, text[2:]
		default:
			b.WriteByte('?')
			args = append(args, argument(s.Args[next]))
			next, text = next+1, text[1:]
		}
	}
}

// byKey is a text whose writes go by the primary key: where a table is small,
// or said to be, they would read all of it, and wait for rows that others have
// locked.
func byKey(text string) string {
	if rest, is := strings.CutPrefix(text, "DELETE FROM "); is {
		table, where, _ := strings.Cut(rest, " ")
		return "DELETE d FROM " + table + " d FORCE INDEX (PRIMARY) " + where
	}
	if rest, is := strings.CutPrefix(text, "UPDATE "); is {
		table, set, _ := strings.Cut(rest, " ")
		return "UPDATE " + table + " FORCE INDEX (PRIMARY) " + set
	}
	return text
}

func argument(value any) any {
	if id, is := value.(bellman.ID); is {
		return id[:]
	}
	return value
}

// at is a list's value.
func at(list any, i int) any {
	switch v := list.(type) {
	case []bellman.ID:
		return v[i][:]
	case []int64:
		return v[i]
	case [][]byte:
		if v[i] == nil {
			return nil
		}
		return v[i]
	}
	panic(fmt.Sprintf("mysql: %T is no list", list))
}

// maxRows is how many rows one statement inserts, at most.
const maxRows = 512

// inserts are the statements that insert rows: as few as packets allow.
func (d *database) inserts(in *sqlstore.Insert) iter.Seq2[string, []any] {
	var names, sets []string
	for _, c := range in.Columns {
		names = append(names, c.Name)
		switch of := slices.Contains(in.Key, c.Name); {
		case in.Then == sqlstore.Replace && !of:
			sets = append(sets, fmt.Sprintf("%s = VALUES(%[1]s)", c.Name))
		case in.Then == sqlstore.Sum && !of:
			sets = append(sets, fmt.Sprintf("%s = %[1]s + VALUES(%[1]s)", c.Name))
		}
	}
	if in.Then == sqlstore.Keep {
		sets = []string{in.Key[0] + " = " + in.Key[0]}
	}
	head := fmt.Sprintf("INSERT INTO %s (%s) VALUES ", in.Into, strings.Join(names, ", "))
	tuple := "(" + strings.TrimSuffix(strings.Repeat("?,", len(names)), ",") + "),"
	tail := ""
	if len(sets) > 0 {
		tail = " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
	}
	all := sqlstore.Len(in.Columns[0].Values)
	return func(yield func(string, []any) bool) {
		var args []any
		for i, rows, size := 0, 0, 0; i < all; i++ {
			for _, c := range in.Columns {
				v := at(c.Values, i)
				b, _ := v.([]byte)
				size += 20 + len(b)
				args = append(args, v)
			}
			if rows++; rows == maxRows || i == all-1 || size+width(in, i+1) > d.packet {
				if !yield(head+strings.TrimSuffix(strings.Repeat(tuple, rows), ",")+tail, args) {
					return
				}
				args, rows, size = nil, 0, 0
			}
		}
	}
}

// width is how many bytes a row's values have.
func width(in *sqlstore.Insert, i int) (n int) {
	for _, c := range in.Columns {
		b, _ := at(c.Values, i).([]byte)
		n += 20 + len(b)
	}
	return n
}

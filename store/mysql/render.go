package mysql

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// types are the column types of the schema in MySQL's syntax.
var types = strings.NewReplacer(
	"{id}", "BINARY(16)", "{name}", fmt.Sprintf("VARBINARY(%d)", bellman.MaxStoredName), "{key}", fmt.Sprintf("VARBINARY(%d)", bellman.MaxStoredKey), "{bytes}", "LONGBLOB",
	"{table}", " ENGINE=InnoDB ROW_FORMAT=DYNAMIC", "{hot}", " ENGINE=InnoDB ROW_FORMAT=DYNAMIC", "{busy}", " ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
	"{with shard}", "", "{with queue}", "", "{with finished}", "", "{with merchant_no}", "", "{with order_no}", "", "{with url_host}", "",
)

// words are parts of statements in MySQL's syntax. The clock uses UTC, so it does not jump with a
// time zone. A cursor is two ranges: MariaDB would read a row value comparison from the beginning
// of the shard, and other forms from the beginning of the millisecond.
var words = strings.NewReplacer(
	"{now}", "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)", "{micros}", "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))", "{number}", "SIGNED", "{by key}", "FORCE INDEX (bellman_task_key)", "{by alias}", "FORCE INDEX (PRIMARY)",
	"{by merchant_no}", "FORCE INDEX (bellman_task_merchant)", "{by order_no}", "FORCE INDEX (bellman_task_order)", "{by url_host}", "FORCE INDEX (bellman_task_host)",
	"{within merchant_no}", "merchant_no = ? AND id >= ? AND merchant_no = ? AND id < ?",
	"{within order_no}", "order_no = ? AND id >= ? AND order_no = ? AND id < ?",
	"{page}", "(look > ? AND look < ? OR look = ? AND id > ?)",
	"{within url_host}", "url_host = ? AND id >= ? AND url_host = ? AND id < ?",
)

// render returns a statement in MySQL's syntax, with its lists spelled out.
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

// byKey adds a hint to use the primary key for a write. Otherwise, if a table is small or its
// statistics say so, the server would read the whole table and wait for rows that others have
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

// at returns one value of a list.
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

// maxRows is the largest number of rows that one statement inserts.
const maxRows = 512

// inserts returns the statements that insert rows: as few as the size of packets allows.
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

// width is the size in bytes of a row's values.
func width(in *sqlstore.Insert, i int) (n int) {
	for _, c := range in.Columns {
		b, _ := at(c.Values, i).([]byte)
		n += 20 + len(b)
	}
	return n
}

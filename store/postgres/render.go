package postgres

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// types are the column types of the schema in PostgreSQL's syntax.
var types = strings.NewReplacer(
	"{id}", "uuid", "{name}", "bytea", "{key}", "bytea", "{bytes}", "bytea",
	"{table}", "", "{hot}", " WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000)", "{busy}", " WITH (fillfactor = 50)",
	"{with shard}", " WHERE shard IS NOT NULL", "{with queue}", " WHERE queue IS NOT NULL", "{with finished}", " WHERE finished IS NOT NULL",
	"{with merchant_no}", " WHERE merchant_no IS NOT NULL", "{with order_no}", " WHERE order_no IS NOT NULL", "{with url_host}", " WHERE url_host IS NOT NULL",
)

const now = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint"

// words are parts of statements in PostgreSQL's syntax. Conditions compare row values, so that the
// planner uses the intended index. With an equality it might read all tasks by primary key to find
// the few of one host. A cursor with separate conditions would read its whole millisecond at each
// page.
//
// A vacuum beside a long transaction may find that a table has no rows but many pages. The planner
// then takes any scan of any of its indexes for one page. So an index that contains the id after
// another column is partial: no statement can use it without that column. And pairs with an id are
// no join, which might read all of them: the ids are looked up, then the pairs in a hash table.
var words = strings.NewReplacer("{now}", now, "{micros}", "floor(extract(epoch from clock_timestamp()) * 1000000)::bigint", "{number}", "bigint", "IN (??)", "= ANY (??)",
	" {by key}", "", " {by alias}", "", " {by merchant_no}", "", " {by order_no}", "", " {by url_host}", "",
	"{within merchant_no}", "merchant_no IS NOT NULL AND (merchant_no, id) >= (?, ?) AND (merchant_no, id) < (?, ?)",
	"{within order_no}", "order_no IS NOT NULL AND (order_no, id) >= (?, ?) AND (order_no, id) < (?, ?)",
	"{page}", "look >= ? AND look < ? AND (look, id) > (?, ?)",
	"{within url_host}", "url_host IS NOT NULL AND (url_host, id) >= (?, ?) AND (url_host, id) < (?, ?)",
)

// render returns a statement in PostgreSQL's syntax, with one parameter for each argument. A list
// is an array.
func render(s *sqlstore.Statement) (string, []any) {
	if s.Insert != nil {
		return renderInsert(s.Insert)
	}
	if text, known := texts.Load(s.Text); known {
		return text.(string), s.Args
	}
	text := renderText(s.Text, s.Args)
	texts.Store(s.Text, text)
	return text, s.Args
}

// guarded returns a statement that divides by zero unless it affects, or locks, the number of rows
// that one additional parameter gives.
func guarded(text string, args int) string {
	id := guardID(text)
	if known, is := texts.Load(id); is {
		return known.(string)
	}
	if !strings.HasPrefix(text, "SELECT") {
		text += " RETURNING 1"
	}
	whole := fmt.Sprintf("WITH affected AS (%s) SELECT 1 / (CASE WHEN count(*) = $%d::bigint THEN 1 ELSE 0 END) FROM affected", text, args+1)
	texts.Store(id, whole)
	return whole
}

// guardID names the guarded form of a text.
type guardID string

// texts caches rendered texts. They are few, because values are arguments.
var texts sync.Map

func renderText(text string, args []any) string {
	var b strings.Builder
	n := 0
	text = words.Replace(text)
	for {
		i := strings.IndexByte(text, '?')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, "????"):
			fmt.Fprintf(&b, "SELECT unnest($%d::%s) AS a, unnest($%d::%s) AS b", n+1, array(args[n]), n+2, array(args[n+1]))
			n, text = n+2, text[4:]
		case strings.HasPrefix(text, "???"):
			pairs := fmt.Sprintf("SELECT unnest($%d::%s), unnest($%d::%s)", n+1, array(args[n]), n+2, array(args[n+1]))
			if before, of, is := strings.Cut(b.String(), "(id, "); is {
				b.Reset()
				fmt.Fprintf(&b, "%sid = ANY ($%d::uuid[]) AND ((id, %s%s)) IS TRUE", before, n+1, of, pairs)
				n, text = n+2, text[4:]
				continue
			}
			b.WriteString(pairs)
			n, text = n+2, text[3:]
		case strings.HasPrefix(text, "??"):
			fmt.Fprintf(&b, "$%d::%s", n+1, array(args[n]))
			n, text = n+1, text[2:]
		default:
			fmt.Fprintf(&b, "$%d", n+1)
			n, text = n+1, text[1:]
		}
	}
}

// array returns the type of a list.
func array(list any) string {
	switch list.(type) {
	case []bellman.ID:
		return "uuid[]"
	case []int64:
		return "int8[]"
	}
	return "bytea[]"
}

// renderCaller is render for a caller's connection. pgx encodes the arguments.
func renderCaller(s *sqlstore.Statement) (string, []any) {
	text, values := render(s)
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = argument(v)
	}
	return text, args
}

// argument converts a value to the type that pgx encodes fastest.
func argument(value any) any {
	switch v := value.(type) {
	case bellman.ID:
		return pgtype.UUID{Bytes: v, Valid: true}
	case []bellman.ID:
		ids := make(pgtype.FlatArray[pgtype.UUID], len(v))
		for i, id := range v {
			ids[i] = pgtype.UUID{Bytes: id, Valid: true}
		}
		return ids
	case []int64:
		return pgtype.FlatArray[int64](v)
	case [][]byte:
		return pgtype.FlatArray[[]byte](v)
	}
	return value
}

// renderInsert inserts rows from one array for each column. PostgreSQL reads unnest in the list of
// columns row by row. With FROM unnest, it would first copy all rows.
func renderInsert(in *sqlstore.Insert) (string, []any) {
	args := make([]any, len(in.Columns))
	for i, c := range in.Columns {
		args[i] = c.Values
	}
	id := insertID{in.Into, in.Then}
	if text, known := texts.Load(id); known {
		return text.(string), args
	}
	var names, arrays, sets []string
	for i, c := range in.Columns {
		names = append(names, c.Name)
		arrays = append(arrays, fmt.Sprintf("unnest($%d::%s)", i+1, array(c.Values)))
		if in.Then == sqlstore.Replace && !slices.Contains(in.Key, c.Name) {
			sets = append(sets, c.Name+" = excluded."+c.Name)
		}
		if in.Then == sqlstore.Sum && !slices.Contains(in.Key, c.Name) {
			sets = append(sets, c.Name+" = "+in.Into+"."+c.Name+" + excluded."+c.Name)
		}
	}
	text := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s", in.Into, strings.Join(names, ", "), strings.Join(arrays, ", "))
	switch in.Then {
	case sqlstore.Keep:
		text += " ON CONFLICT DO NOTHING"
	case sqlstore.Replace, sqlstore.Sum:
		text += fmt.Sprintf(" ON CONFLICT (%s) DO UPDATE SET %s", strings.Join(in.Key, ", "), strings.Join(sets, ", "))
	}
	texts.Store(id, text)
	return text, args
}

// insertID names an insert: those into one table have the same columns.
type insertID struct {
	into string
	then sqlstore.Conflict
}

// A row scans an id as the type that pgx decodes fastest.
type row struct{ rows pgx.Rows }

func (r row) Scan(dest ...any) error {
	for i := range dest {
		if id, is := dest[i].(*bellman.ID); is {
			dest[i] = (*[16]byte)(id)
		}
	}
	return r.rows.Scan(dest...)
}

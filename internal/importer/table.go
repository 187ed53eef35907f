package importer

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/client"
)

// Options of reading a table. Queue is required.
type Options struct {
	Queue  string         // the tasks get the rules of this queue
	Table  string         // default: the other system's own name
	Zone   *time.Location // of its DATETIMEs; default time.Local
	Method string         // of the requests; default: as the other system

	// Note is called with texts about values that are read differently from what the table says;
	// nil: it is not called.
	Note func(text string)
}

// ErrAddress reports an invalid address of a database.
var ErrAddress = errors.New("is no address of a database: want mysql://USER:PASSWORD@HOST:3306/DATABASE")

// errCharset is the error for a row whose text the database returned in another encoding.
var errCharset = errors.New("has text that is not UTF-8: leave out charset in --from, or make a view that converts the columns, and name it with --table")

// A table reads the unfinished rows of a table in pages, ordered by key.
type table struct {
	db    *sql.DB
	query string // has two placeholders: the last key that was read, and the number of rows
	after any
	scan  func(*sql.Rows, clock) (key any, row Row, err error)
	zone  *time.Location // of its DATETIMEs
}

// A clock converts the times of a column. A DATETIME is a local time in a zone. A TIMESTAMP is a
// moment, which the database shows in UTC here.
type clock struct {
	zone    *time.Location
	moments map[string]bool // columns of type TIMESTAMP
}

// when sets a time of a column. A zero date, 0000-00-00, leaves it unset.
func (c clock) when(column string, t *sql.NullTime) {
	t.Valid = t.Valid && !t.Time.IsZero()
	if t.Valid && !c.moments[column] {
		y, m, d := t.Time.Date()
		t.Time = time.Date(y, m, d, t.Time.Hour(), t.Time.Minute(), t.Time.Second(), t.Time.Nanosecond(), c.zone)
	}
}

func (t *table) clock(rows *sql.Rows) (clock, error) {
	c := clock{zone: t.zone, moments: map[string]bool{}}
	columns, err := rows.ColumnTypes()
	for _, column := range columns {
		c.moments[column.Name()] = column.DatabaseTypeName() == "TIMESTAMP"
	}
	return c, err
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_$]+(\.[A-Za-z0-9_$]+)?$`)

// open connects to the database at address, mysql://user:password@host:3306/database, and checks
// its columns. Missing optional columns are read as NULL: selected is the list to read, and missing
// are their names.
func open(ctx context.Context, address, name string, columns []string, optional ...string) (db *sql.DB, selected string, missing []string, err error) {
	if db, err = connect(address, name); err != nil {
		return nil, "", nil, err
	}
	ask := func(what string) ([]string, error) {
		rows, err := db.QueryContext(ctx, "SELECT "+what+" FROM "+quoted(name)+" LIMIT 0")
		if err != nil {
			return nil, err
		}
		names, err := rows.Columns()
		return names, errors.Join(err, rows.Err(), rows.Close())
	}
	selected = strings.Join(columns, ", ")
	_, err = ask(selected)
	if unknown, is := errors.AsType[*driver.MySQLError](err); is && unknown.Number == errUnknownColumn {
		var have []string
		if have, err = ask("*"); err == nil {
			selected, missing, err = lacking(columns, optional, have)
		}
	}
	if err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("table %s: %w", name, err), db.Close())
	}
	return db, selected, missing, nil
}

// errUnknownColumn is MySQL's ER_BAD_FIELD_ERROR.
const errUnknownColumn = 1054

// lacking returns what to select from a table with only these columns, and which of the optional
// ones are missing.
func lacking(columns, optional, have []string) (selected string, missing []string, err error) {
	var parts, wrong []string
	for _, column := range columns {
		switch {
		case slices.ContainsFunc(have, func(name string) bool { return strings.EqualFold(name, column) }):
			parts = append(parts, column)
		case slices.Contains(optional, column):
			parts = append(parts, "NULL AS "+column)
			missing = append(missing, column)
		default:
			wrong = append(wrong, column)
		}
	}
	if len(wrong) > 0 {
		required := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return slices.Contains(optional, c) })
		return "", nil, fmt.Errorf("has no column %s: make a view with the columns %s, and name it with --table",
			strings.Join(wrong, ", "), strings.Join(required, ", "))
	}
	return strings.Join(parts, ", "), missing, nil
}

// connect prepares a connection to a database without connecting.
func connect(address, name string) (*sql.DB, error) {
	config, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	if !tableName.MatchString(name) {
		return nil, fmt.Errorf("%w; the table %.64q is no name: want TABLE or DATABASE.TABLE", ErrAddress, name)
	}
	config.ParseTime, config.Loc = true, time.UTC
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	// The database shows a TIMESTAMP in the session's zone, and a DATETIME as stored: clock
	// separates them. The zone's present offset would be wrong for half of the year.
	config.Params["time_zone"] = "'+00:00'"
	config.Timeout, config.ReadTimeout = 10*time.Second, time.Minute
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

func parseURL(address string) (*driver.Config, error) {
	u, err := url.Parse(address)
	database := ""
	if err == nil {
		database = strings.Trim(u.Path, "/")
	}
	if err != nil || u.Scheme != "mysql" || u.Host == "" || database == "" {
		return nil, ErrAddress // the error does not show the address, which may contain a password
	}
	config, err := driver.ParseDSN("/" + database + "?" + u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrAddress, err)
	}
	host, port := u.Hostname(), u.Port()
	port = cmp.Or(port, "3306")
	config.Net, config.Addr = "tcp", net.JoinHostPort(host, port)
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	return config, nil
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, ".", "`.`") + "`" }

func (t *table) Next(ctx context.Context, limit int) ([]Row, error) {
	rows, err := t.db.QueryContext(ctx, t.query, t.after, limit)
	if err != nil {
		return nil, fmt.Errorf("read after id %v: %w", t.after, err)
	}
	defer rows.Close()
	c, err := t.clock(rows)
	if err != nil {
		return nil, fmt.Errorf("read after id %v: %w", t.after, err)
	}
	var page []Row
	for rows.Next() {
		key, row, err := t.scan(rows, c)
		if err != nil {
			return nil, fmt.Errorf("read after id %v: %w", t.after, err)
		}
		t.after = key
		page = append(page, row)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read after id %v: %w", t.after, err)
	}
	return page, nil
}

func (t *table) Close() error { return t.db.Close() }

// resume returns the state of a task after a number of attempts. The latest of them began at last.
func resume(attempts int, last, began sql.NullTime) *client.Resume {
	if attempts == 0 {
		return nil
	}
	r := &client.Resume{Attempts: attempts, Last: client.At(last.Time)}
	if began.Valid && !began.Time.After(last.Time) {
		r.Began = client.At(began.Time)
	}
	return r
}

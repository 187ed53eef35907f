package adopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/bellmanhq/bellman/client"
)

// Options say how a table is read. Queue is required.
type Options struct {
	Queue  string         // whose rules the tasks follow
	Table  string         // default: the other system's own name for it
	Zone   *time.Location // of its DATETIMEs; default time.Local
	Method string         // of the requests; default: the other system's
	Now    time.Time      // when a row that was never attempted begins; default time.Now
}

// ErrAddress tells that a database's address is none.
var ErrAddress = errors.New("is no address of a database: want mysql://USER:PASSWORD@HOST:3306/DATABASE")

// A table reads the unfinished rows of one table, page by page by its key.
type table struct {
	db    *sql.DB
	query string // with three places: the key after which to read, and how many
	after any
	scan  func(*sql.Rows) (key any, row Row, err error)
}

var tableName = regexp.MustCompile(`^[A-Za-z0-9_$]+(\.[A-Za-z0-9_$]+)?$`)

// open connects to the database at address, mysql://user:password@host:3306/database,
// and asks whether it has the columns.
func open(ctx context.Context, address, name string, zone *time.Location, columns string) (*sql.DB, error) {
	config, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	if !tableName.MatchString(name) {
		return nil, fmt.Errorf("%w; the table %.64q is no name: want TABLE or DATABASE.TABLE", ErrAddress, name)
	}
	config.ParseTime, config.Loc = true, zone
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	// A TIMESTAMP is shown in the session's zone, a DATETIME as it was written.
	config.Params["time_zone"] = time.Now().In(zone).Format("'-07:00'")
	config.Timeout, config.ReadTimeout = 10*time.Second, time.Minute
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM "+quoted(name)+" LIMIT 0")
	if err == nil {
		err = errors.Join(rows.Err(), rows.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("table %s: %w", name, err), db.Close())
	}
	return db, nil
}

func parseURL(address string) (*driver.Config, error) {
	u, err := url.Parse(address)
	database := ""
	if err == nil {
		database = strings.Trim(u.Path, "/")
	}
	if err != nil || u.Scheme != "mysql" || u.Host == "" || database == "" {
		return nil, ErrAddress // which is not named: it may hold a password
	}
	config, err := driver.ParseDSN("/" + database + "?" + u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrAddress, err)
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = "3306"
	}
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
	var page []Row
	for rows.Next() {
		key, row, err := t.scan(rows)
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

// resume says where a task stands after attempts, the last of which began at last.
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

package scratch

import (
	"cmp"
	"context"
	"database/sql"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/prometheus/procfs"

	"github.com/bellmanhq/bellman/internal/config"
)

// A kind holds the differences between kinds of servers.
type kind struct {
	open       func(*url.URL) (*sql.DB, error)
	about      string // query for name and version, and for the durability of a commit
	pid        func(context.Context, *sql.DB) int
	tables     string // query for the number of tables
	bytes      string
	fresh      string // statement for each table before its size is read; empty: none
	drop       string
	checkpoint string // empty: not supported

	fillers int               // concurrent inserts
	quick   []string          // session settings for filling
	words   *strings.Replacer // replacements in fill's statements
	tidy    string            // statement for each filled table
}

var kinds = map[string]kind{
	config.Postgres: {
		open:   func(u *url.URL) (*sql.DB, error) { return sql.Open("pgx", u.String()) },
		about:  `SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1), 'synchronous_commit ' || current_setting('synchronous_commit') || CASE current_setting('autovacuum') WHEN 'off' THEN ', autovacuum off' ELSE '' END`,
		pid:    postgresPid,
		tables: `SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
		bytes:  `SELECT pg_database_size(current_database())`,
		drop:   `DROP DATABASE IF EXISTS %s WITH (FORCE)`, checkpoint: `CHECKPOINT`,
		fillers: 2,
		quick:   []string{`SET synchronous_commit = off`},
		words:   strings.NewReplacer("{div}", "/", "{hex}", "to_hex", "{id}", "CAST(%s AS uuid)", "{bytes}", "convert_to(%s, 'UTF8')", "{text}", "CAST(%s AS text)", "{big}", "CAST(%s AS bigint)"),
		tidy:    `VACUUM (ANALYZE) %s`,
	},
	config.MySQL: {
		open:    openMySQL,
		about:   `SELECT concat(CASE WHEN version() LIKE '%MariaDB%' THEN 'MariaDB ' ELSE 'MySQL ' END, substring_index(version(), '-', 1)), concat('innodb_flush_log_at_trx_commit ', @@innodb_flush_log_at_trx_commit)`,
		pid:     mysqlPid,
		tables:  `SELECT count(*) FROM information_schema.tables WHERE table_schema = database()`,
		bytes:   `SELECT CAST(coalesce(sum(data_length + index_length), 0) AS SIGNED) FROM information_schema.tables WHERE table_schema = database()`,
		fresh:   `ANALYZE TABLE %s`, // the size is updated with the statistics
		drop:    `DROP DATABASE IF EXISTS %s`,
		fillers: 1, // two inserts would wait for each other's locks
		quick:   []string{`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`},
		words:   strings.NewReplacer("{div}", "DIV", "{hex}", "hex", "{id}", "unhex(%s)", "{bytes}", "%s", "{text}", "CAST(%s AS char)", "{big}", "%s"),
		tidy:    `ANALYZE TABLE %s`,
	},
}

func openMySQL(u *url.URL) (*sql.DB, error) {
	c, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	c.Net, c.Addr, c.DBName, c.User = "tcp", net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306")), strings.TrimPrefix(u.Path, "/"), u.User.Username()
	c.Passwd, _ = u.User.Password()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// postgresPid is the parent of the process that serves a session.
func postgresPid(ctx context.Context, db *sql.DB) int {
	var session int
	if db.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&session) != nil {
		return 0
	}
	return local(parentOf(local(session, "postgres")), "postgres")
}

func mysqlPid(ctx context.Context, db *sql.DB) int {
	var path string
	if db.QueryRowContext(ctx, `SELECT @@pid_file`).Scan(&path) != nil {
		return 0
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return local(pid, "mariadbd", "mysqld")
}

// local returns pid if it is a process on this machine that runs one of these programs, else 0.
func local(pid int, programs ...string) int {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	if name, err := p.Comm(); err != nil || !slices.Contains(programs, name) {
		return 0
	}
	return pid
}

func parentOf(pid int) int {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	s, _ := p.Stat()
	return s.PPID
}

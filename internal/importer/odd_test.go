package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/importer"
)

// outcomes says what becomes of each row.
func outcomes(rows []importer.Row) (got []string) {
	for _, r := range rows {
		line := fmt.Sprintf("%s %s %s%s", r.Where, r.Task.Method, r.Task.URL, strings.TrimSuffix(" "+r.Task.Body, " "))
		if r.Wrong != nil {
			line = fmt.Sprint(r.Where, " wrong: ", strings.SplitN(r.Wrong.Error(), ":", 2)[0])
		} else if p := r.Task.Resume; p != nil {
			line += " after " + p.Last.UTC().Format(time.RFC3339)
			if !p.Began.IsZero() {
				line += " began " + p.Began.UTC().Format(time.RFC3339)
			}
		}
		got = append(got, line)
	}
	return got
}

func compare(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A row of which a part is missing, or in another encoding, is reported, and ends nothing.
// roncoo-pay keeps the values of a query as they are, and encodes them when it sends.
func TestRoncooOddRows(t *testing.T) {
	row := func(id, created, edited, address string, times int) string {
		return fmt.Sprintf("INSERT INTO rp_notify_record VALUES ('%s', 0, %s, %s, '%s', %d, 5, %s, 'O', 'M1', 'HTTP_REQUEST_FALIED', NULL)", id, created, edited, rule, times, address)
	}
	const day, last = "'2026-11-20 12:00:00'", "'2026-11-20 12:03:00'"
	address := database(t, "SET sql_mode = ''", `CREATE TABLE rp_notify_record (id VARCHAR(50) PRIMARY KEY, version INT, create_time DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', edit_time DATETIME,
			notify_rule VARCHAR(255), notify_times INT, limit_notify_times INT, url VARCHAR(2000), merchant_order_no VARCHAR(50), merchant_no VARCHAR(50), status VARCHAR(50), notify_type VARCHAR(30)) DEFAULT CHARSET=gbk`,
		row("01", "'0000-00-00 00:00:00'", last, "'http://m/n?a=1'", 1),
		row("02", day, "'0000-00-00 00:00:00'", "'http://m/n?a=1'", 1),
		row("03", day, "NULL", "NULL", 0),
		row("04", day, "NULL", "''", 0),
		row("05", day, "NULL", "_utf8mb4'http://m/n?productName=测试 A+B 50%#1&orderPrice=9.900000&sign=AB'", 0),
		row("06", day, "NULL", "'http://m/n?productName=%E6%B5%8B+A&sign=AB'", 0),
		row("07", day, "NULL", "' m.example/n?a=1 '", 0),
		row("08", day, "NULL", "'http://m/n'", 0),
	)
	s, err := importer.Roncoo(t.Context(), address, importer.Options{Queue: "q", Zone: time.FixedZone("CST", 8*3600)})
	compare(t, outcomes(all(t, s, err)),
		"id 01 GET http://m/n?a=1 after 2026-11-20T04:03:00Z",
		"id 02 wrong: edit_time is empty after 1 attempts",
		"id 03 wrong: url is empty",
		"id 04 wrong: url is empty",
		"id 05 GET http://m/n?productName=%E6%B5%8B%E8%AF%95+A%2BB+50%25%231&orderPrice=9.900000&sign=AB",
		"id 06 GET http://m/n?productName=%E6%B5%8B+A&sign=AB",
		"id 07 GET http://m.example/n?a=1",
		"id 08 GET http://m/n",
	)
	s, err = importer.Roncoo(t.Context(), address+"?charset=gbk", importer.Options{Queue: "q"})
	if got := outcomes(all(t, s, err)); !slices.Contains(got, "id 05 wrong: has text that is not UTF-8") {
		t.Errorf("rows read as GBK\n%s\nwant id 05 refused", strings.Join(got, "\n"))
	}
}

// jeepay sends the values of notify_url as a form. It stores them encoded, except a plus. Before
// v1.16.0 they stayed in the URL.
func TestJeepayOddRows(t *testing.T) {
	address := database(t, "SET sql_mode = ''", `CREATE TABLE t_mch_notify_record (notify_id BIGINT PRIMARY KEY, order_id VARCHAR(64), order_type TINYINT, mch_order_no VARCHAR(64), mch_no VARCHAR(64),
			notify_url TEXT, notify_count INT, notify_count_limit INT, state TINYINT, last_notify_time DATETIME, created_at TIMESTAMP(3) NOT NULL DEFAULT 0)`,
		`INSERT INTO t_mch_notify_record VALUES
			(1, 'P1', 1, 'O1', 'M1', 'https://m/n?subject=%E6%B5%8B%E8%AF%95%20A+B&body=100%25&empty=&sign=AB', 0, 6, 1, NULL, 0),
			(2, 'P2', 1, NULL, NULL, 'https://m/n?sign=AB', NULL, 6, 1, NULL, 0),
			(3, NULL, 1, 'O3', 'M1', 'https://m/n?sign=AB', 0, 6, 1, NULL, 0),
			(4, 'P4', 1, 'O4', 'M1', NULL, 0, 6, 1, NULL, 0),
			(5, 'P5', 1, 'O5', 'M1', 'https://m/n?sign=AB', 1, 6, 1, '0000-00-00 00:00:00', 0),
			(6, 'P6', 1, 'O6', 'M1', 'https://m/n?sign=AB', 1, NULL, 1, NULL, 0),
			(7, 'P7', 1, 'O7', 'M1', 'https://m/n?x=%zz', 1, 6, 1, '2026-11-20 12:03:00', 0)`)
	s, err := importer.Jeepay(t.Context(), address, importer.Options{Queue: "q", Zone: time.UTC})
	rows := all(t, s, err)
	compare(t, outcomes(rows),
		"notify_id 1 POST https://m/n subject=%E6%B5%8B%E8%AF%95+A%2BB&body=100%25&empty=&sign=AB",
		"notify_id 2 POST https://m/n sign=AB",
		"notify_id 3 wrong: order_id, order_type or notify_count_limit is NULL",
		"notify_id 4 wrong: notify_url is empty",
		"notify_id 5 wrong: last_notify_time is empty after 1 attempts",
		"notify_id 6 wrong: order_id, order_type or notify_count_limit is NULL",
		"notify_id 7 POST https://m/n x=%zz after 2026-11-20T12:03:00Z",
	)
	if got := rows[0].Task.Headers["Content-Type"]; got != "application/x-www-form-urlencoded" {
		t.Errorf("Content-Type is %q; want that of a form", got)
	}
	s, err = importer.Jeepay(t.Context(), address, importer.Options{Queue: "q", Method: "POST"})
	if got := outcomes(all(t, s, err))[0]; got != "notify_id 1 POST https://m/n?subject=%E6%B5%8B%E8%AF%95%20A+B&body=100%25&empty=&sign=AB" {
		t.Errorf("with a method: %s; want all values in the URL", got)
	}
}

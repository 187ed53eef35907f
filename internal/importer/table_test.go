package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/bench/scratch/scratchtest"
	"github.com/bellmanhq/bellman/internal/importer"
)

// database creates a database, fills it, and returns its address.
func database(t *testing.T, fill ...string) string {
	t.Helper()
	d := scratchtest.New(t, "mysql")
	scratchtest.Run(t, d, append([]string{"ALTER DATABASE CHARACTER SET utf8mb4"}, fill...)...)
	return d.URL
}

// all reads all rows of a source, two at a time.
func all(t *testing.T, s importer.Source, err error) (rows []importer.Row) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		page, err := s.Next(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return rows
		}
		rows = append(rows, page...)
	}
}

const roncooTable = `CREATE TABLE rp_notify_record (id VARCHAR(50) NOT NULL, version INT NOT NULL, create_time DATETIME NOT NULL, edit_time DATETIME,
	notify_rule VARCHAR(255), notify_times INT, limit_notify_times INT, url VARCHAR(2000) NOT NULL, merchant_order_no VARCHAR(50), merchant_no VARCHAR(50),
	status VARCHAR(50), notify_type VARCHAR(30), PRIMARY KEY (id), KEY k (merchant_order_no)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`

const rule = `{"1":0,"2":1,"3":2,"4":5,"5":15}`

func roncooRow(id, edited, rule string, times, limit int, status string) string {
	return fmt.Sprintf(`INSERT INTO rp_notify_record VALUES ('%s', 0, '2026-11-20 12:00:00', %s, '%s', %d, %d,
		'http://m.example/n?orderNo=%s&amount=1.00', 'O%s', 'M1', '%s', 'MERCHANT')`, id, edited, rule, times, limit, id, id, status)
}

// Rows that roncoo would attempt again are imported in whatever state they are, each at its
// position in the schedule. The others are skipped.
func TestRoncoo(t *testing.T) {
	const never, edited = "NULL", "'2026-11-20 12:03:00'"
	address := database(t, roncooTable,
		roncooRow("01", edited, rule, 0, 5, "CREATED"),
		roncooRow("02", edited, rule, 2, 5, "HTTP_REQUEST_SUCCESS"),
		roncooRow("03", edited, rule, 3, 5, "HTTP_REQUEST_FALIED"),
		roncooRow("04", edited, rule, 5, 5, "HTTP_REQUEST_FALIED"),
		roncooRow("05", edited, rule, 1, 5, "SUCCESS"),
		roncooRow("06", edited, rule, 5, 5, "FAILED"),
		roncooRow("07", edited, `{"1":0,"3":2}`, 1, 4, "HTTP_REQUEST_FALIED"),
		roncooRow("08", edited, `{"1":x}`, 1, 5, "HTTP_REQUEST_FALIED"),
		roncooRow("09", never, rule, 1, 5, "HTTP_REQUEST_FALIED"),
		roncooRow("10", edited, "", 0, 5, "CREATED"),
		roncooRow("11", edited, rule, 0, 0, "CREATED"), // the column's default value: never sent
		roncooRow("12", edited, rule, 1, -1, "HTTP_REQUEST_FALIED"),
		roncooRow("13", edited, "", 0, 0, "CREATED"),
		roncooRow("15", edited, rule, 0, 2147483647, "CREATED"),
		roncooRow("16", edited, "5m,x", 1, 5, "HTTP_REQUEST_FALIED"),
		roncooRow("14", edited, rule, 0, 5, "CREATED"), `UPDATE rp_notify_record SET limit_notify_times = NULL WHERE id = '14'`,
	)
	shanghai := time.FixedZone("CST", 8*3600)
	s, err := importer.Roncoo(t.Context(), address, importer.Options{Queue: "q", Zone: shanghai})
	var got []string
	for _, r := range all(t, s, err) {
		line := r.Where + " "
		switch {
		case r.Wrong != nil:
			line += "wrong: " + strings.Join(strings.SplitN(r.Wrong.Error(), ": ", 3)[:2], ": ")
		case r.Skip != "":
			line += "skip: " + r.Skip
		default:
			line += r.Task.Schedule
			if p := r.Task.Resume; p != nil {
				line += fmt.Sprintf(" after %d, %s, %s", p.Attempts, p.Last.Format(time.RFC3339), p.Began.Format(time.RFC3339))
			}
		}
		got = append(got, line)
		if want := (client.CreateTask{Queue: "q", Key: "roncoo/" + r.Where[3:], MerchantNo: "M1", OrderNo: "O" + r.Where[3:], Method: "GET", Success: "success_text",
			URL: "http://m.example/n?orderNo=" + r.Where[3:] + "&amount=1.00", Schedule: r.Task.Schedule, Resume: r.Task.Resume}); fmt.Sprintf("%+v", r.Task) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s becomes %+v; want %+v", r.Where, r.Task, want)
		}
	}
	want := []string{
		"id 01 0s, 1m, 2m, 5m, 15m",
		"id 02 0s, 1m, 2m, 5m, 15m after 2, 2026-11-20T04:03:00Z, 2026-11-20T04:00:00Z",
		"id 03 0s, 1m, 2m, 5m, 15m after 3, 2026-11-20T04:03:00Z, 2026-11-20T04:00:00Z",
		"id 04 skip: 5 of 5 attempts were made",
		"id 07 0s, 0s, 2m, 0s after 1, 2026-11-20T04:03:00Z, 2026-11-20T04:00:00Z",
		"id 08 wrong: notify_rule: entry 1 \"\\\"1\\\":x\"",
		"id 09 wrong: edit_time is empty after 1 attempts: when the last began is not known",
		`id 10 wrong: notify_rule is empty: want minutes by attempt, such as {"1":0,"2":1}`,
		"id 11 skip: limit_notify_times is 0: roncoo never sends it",
		"id 12 skip: limit_notify_times is -1: roncoo never sends it",
		"id 13 skip: limit_notify_times is 0: roncoo never sends it",
		"id 14 wrong: limit_notify_times is NULL: want how many attempts may be made",
		"id 15 wrong: limit_notify_times is 2147483647: want at most 10000",
		`id 16 wrong: notify_rule: item 2 "x"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The published table of roncoo-pay has no column notify_rule. Then the rule in its code applies.
func TestRoncooFixedRule(t *testing.T) {
	row := func(id string, times, limit int) string {
		return fmt.Sprintf(`INSERT INTO rp_notify_record VALUES ('%s', 0, '2026-11-20 12:00:00', NULL, NULL, '2026-11-20 12:03:00', %d, %d,
			'http://m.example/n', 'O1', 'M1', 'HTTP_REQUEST_FALIED', 'MERCHANT')`, id, times, limit)
	}
	address := database(t, `CREATE TABLE rp_notify_record (id VARCHAR(50) NOT NULL, version INT NOT NULL, create_time DATETIME NOT NULL, editor VARCHAR(100),
			creater VARCHAR(100), edit_time DATETIME, notify_times INT NOT NULL, limit_notify_times INT NOT NULL, url VARCHAR(2000) NOT NULL,
			merchant_order_no VARCHAR(50) NOT NULL, merchant_no VARCHAR(50) NOT NULL, status VARCHAR(50) NOT NULL, notify_type VARCHAR(30), PRIMARY KEY (id))`,
		row("1", 2, 5), row("2", 1, 3), row("3", 1, 0), row("4", 1, 9), row("5", 5, 9))
	var notes []string
	s, err := importer.Roncoo(t.Context(), address, importer.Options{Queue: "q", Zone: time.UTC, Note: func(text string) { notes = append(notes, text) }})
	var got []string
	for _, r := range all(t, s, err) {
		line := r.Where + " " + r.Task.Schedule
		if r.Wrong != nil || r.Skip != "" {
			line = fmt.Sprint(r.Where, " skip: ", r.Skip, r.Wrong)
		}
		got = append(got, line)
	}
	want := []string{"id 1 0s, 1m, 2m, 5m, 15m", "id 2 0s, 1m, 2m", "id 3 0s, 1m, 2m, 5m, 15m", "id 4 0s, 1m, 2m, 5m, 15m", "id 5 skip: 5 of 5 attempts were made<nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(notes) != 1 || !strings.Contains(notes[0], `rp_notify_record has no column notify_rule`) || !strings.Contains(notes[0], rule) {
		t.Errorf("notes %q; want that the column is missing, and the rule", notes)
	}
}

func TestJeepay(t *testing.T) {
	row := func(id, kind, count, limit, state int, last string) string {
		return fmt.Sprintf(`INSERT INTO t_mch_notify_record (notify_id, order_id, order_type, mch_order_no, mch_no, app_id, notify_url, notify_count, notify_count_limit, state, last_notify_time, created_at)
			VALUES (%d, 'P%d', %d, 'O%d', 'M1', 'A', 'https://m.example/n?sign=%d', %d, %d, %d, %s, '2026-11-20 12:00:00')`, id, id, kind, id, id, count, limit, state, last)
	}
	const never, last = "NULL", "'2026-11-20 12:03:00'"
	address := database(t, `CREATE TABLE t_mch_notify_record (notify_id BIGINT NOT NULL AUTO_INCREMENT, order_id VARCHAR(64) NOT NULL, order_type TINYINT NOT NULL,
			mch_order_no VARCHAR(64) NOT NULL, mch_no VARCHAR(64) NOT NULL, isv_no VARCHAR(64), app_id VARCHAR(64) NOT NULL, notify_url TEXT NOT NULL, res_result TEXT,
			notify_count INT NOT NULL DEFAULT 0, notify_count_limit INT NOT NULL DEFAULT 6, state TINYINT NOT NULL DEFAULT 1, last_notify_time DATETIME,
			created_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), PRIMARY KEY (notify_id))`,
		row(9, 1, 0, 6, 1, never), row(10, 2, 3, 6, 1, last), row(11, 1, 1, 6, 2, last), row(12, 1, 6, 6, 3, last), row(13, 3, 6, 6, 1, last), row(14, 1, 2, 3, 1, never),
		row(100, 1, 1, 3, 1, last))
	s, err := importer.Jeepay(t.Context(), address, importer.Options{Queue: "q", Zone: time.UTC})
	var got []string
	for _, r := range all(t, s, err) {
		line := fmt.Sprintf("%s %s %s %s %s %s", r.Where, r.Task.Key, r.Task.Event, r.Task.Method, r.Task.URL, r.Task.Body)
		switch {
		case r.Wrong != nil:
			line += " wrong: " + r.Wrong.Error()
		case r.Skip != "":
			line += " skip: " + r.Skip
		default:
			line += " " + r.Task.Schedule
			if r.Task.Resume != nil {
				line += fmt.Sprintf(" after %d, %s", r.Task.Resume.Attempts, r.Task.Resume.Last.Format(time.RFC3339))
			}
		}
		got = append(got, line)
	}
	want := []string{
		"notify_id 9 jeepay/P9/1 payment POST https://m.example/n sign=9 0s, 30s, 1m, 1m30s, 2m, 2m30s",
		"notify_id 10 jeepay/P10/2 refund POST https://m.example/n sign=10 0s, 30s, 1m, 1m30s, 2m, 2m30s after 3, 2026-11-20T12:03:00Z",
		"notify_id 13 jeepay/P13/3 transfer POST https://m.example/n sign=13 skip: 6 of 6 attempts were made",
		"notify_id 14 jeepay/P14/1 payment POST https://m.example/n sign=14 wrong: last_notify_time is empty after 2 attempts: when the last began is not known",
		"notify_id 100 jeepay/P100/1 payment POST https://m.example/n sign=100 0s, 30s, 1m after 1, 2026-11-20T12:03:00Z",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// AgPay's table has the method, the media type and the body of each request.
func TestAgPay(t *testing.T) {
	address := database(t, `CREATE TABLE t_mch_notify_record (notify_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, order_id VARCHAR(64) NOT NULL, order_type TINYINT NOT NULL DEFAULT 1,
			mch_order_no VARCHAR(64) NOT NULL DEFAULT 'O1', mch_no VARCHAR(64) NOT NULL DEFAULT 'M1', notify_url TEXT NOT NULL, req_method VARCHAR(10) NOT NULL,
			req_media_type VARCHAR(64) NOT NULL, req_body TEXT, notify_count INT NOT NULL DEFAULT 0, notify_count_limit INT NOT NULL DEFAULT 6, state TINYINT NOT NULL DEFAULT 1,
			last_notify_time DATETIME, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)`,
		`INSERT INTO t_mch_notify_record (notify_id, order_id, notify_url, req_method, req_media_type, req_body) VALUES
			(1, 'P1', 'https://m.example/n?shop=1', 'POST', 'application/json', '{"subject":"茶"}'), (2, 'P2', 'https://m.example/n', 'post', 'application/x-www-form-urlencoded', 'a=1&b=2'),
			(3, 'P3', 'https://m.example/n?a=1', 'POST', 'application/json', ''), (4, 'P4', 'https://m.example/n?a=1', 'GET', '', NULL), (5, 'P5', 'https://m.example/n?a=1', '', '', NULL),
			(6, 'P6', 'https://m.example/n', 'POST', 'application/json;charset=UTF-8', '{}')`)
	s, err := importer.Jeepay(t.Context(), address, importer.Options{Queue: "q", Zone: time.UTC})
	var got []string
	for _, r := range all(t, s, err) {
		got = append(got, fmt.Sprintf("%s %s %s %s %v", r.Task.Key, r.Task.Method, r.Task.URL, r.Task.Body, r.Task.Headers))
	}
	want := []string{
		`jeepay/P1/1 POST https://m.example/n?shop=1 {"subject":"茶"} map[Content-Type:application/json; charset=utf-8]`,
		"jeepay/P2/1 POST https://m.example/n a=1&b=2 map[Content-Type:application/x-www-form-urlencoded; charset=utf-8]",
		"jeepay/P3/1 POST https://m.example/n?a=1  map[]",
		"jeepay/P4/1 GET https://m.example/n?a=1  map[]",
		"jeepay/P5/1 POST https://m.example/n a=1 map[Content-Type:application/x-www-form-urlencoded]",
		"jeepay/P6/1 POST https://m.example/n {} map[Content-Type:application/json;charset=UTF-8]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A TIMESTAMP is a moment, and a DATETIME is the local time of a zone. Both are read correctly in
// summer time and outside of it.
func TestTableZone(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip(err)
	}
	address := database(t, "SET time_zone = '+00:00'", `CREATE TABLE t_mch_notify_record (notify_id BIGINT NOT NULL, order_id VARCHAR(64) NOT NULL DEFAULT 'P', order_type TINYINT NOT NULL DEFAULT 1,
			mch_order_no VARCHAR(64) NOT NULL DEFAULT 'O', mch_no VARCHAR(64) NOT NULL DEFAULT 'M1', notify_url TEXT NOT NULL, notify_count INT NOT NULL DEFAULT 1,
			notify_count_limit INT NOT NULL DEFAULT 6, state TINYINT NOT NULL DEFAULT 1, last_notify_time DATETIME, created_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
			PRIMARY KEY (notify_id))`,
		`INSERT INTO t_mch_notify_record (notify_id, notify_url, last_notify_time, created_at) VALUES
			(1, 'https://m.example/', '2026-01-15 12:00:00', '2026-01-15 12:00:00'), (2, 'https://m.example/', '2026-07-15 12:00:00', '2026-07-15 12:00:00')`)
	s, err := importer.Jeepay(t.Context(), address, importer.Options{Queue: "q", Zone: zone})
	var got []string
	for _, r := range all(t, s, err) {
		got = append(got, r.Task.Resume.Last.UTC().Format(time.RFC3339)+" began "+r.Task.Resume.Began.UTC().Format(time.RFC3339))
	}
	want := []string{"2026-01-15T17:00:00Z began 2026-01-15T12:00:00Z", "2026-07-15T16:00:00Z began 2026-07-15T12:00:00Z"}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A database that is not such a table gives an error before anything is read.
func TestTableInvalid(t *testing.T) {
	address := database(t, "CREATE TABLE rp_notify_record (id VARCHAR(50) PRIMARY KEY, status VARCHAR(50))")
	tests := []struct {
		name, address, table, want string
	}{
		{"no address", "rp_notify_record", "", "is no address of a database"},
		{"another database", "postgres://u:secret@127.0.0.1/pay", "", "is no address of a database"},
		{"no database", "mysql://u:secret@127.0.0.1:3306", "", "is no address of a database"},
		{"a table that is none", address, "a;b", "want TABLE or DATABASE.TABLE"},
		{"no table", address, "nothing", "nothing"},
		{"another table", address, "", "table rp_notify_record: has no column create_time, edit_time, notify_times, limit_notify_times, url, merchant_order_no, merchant_no: make a view with the columns id, create_time, edit_time, notify_times, limit_notify_times, url, merchant_order_no, merchant_no, status, and name it with --table"},
	}
	for _, tt := range tests {
		_, err := importer.Roncoo(t.Context(), tt.address, importer.Options{Queue: "q", Table: tt.table})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want an error with %q and without the password", tt.name, err, tt.want)
		}
	}
}

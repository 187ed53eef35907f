package importer

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// Roncoo reads the unfinished rows of roncoo-pay's table rp_notify_record, in the MySQL database at
// address, mysql://USER:PASSWORD@HOST:3306/DATABASE: those with the states CREATED,
// HTTP_REQUEST_SUCCESS and HTTP_REQUEST_FALIED (roncoo's spelling).
//
// Older tables have no column notify_rule, because one rule held for all rows. A row's notify_rule,
// cut at limit_notify_times, becomes its task's schedule, which continues after notify_times
// attempts; edit_time is the start of the last one. roncoo puts all values into the url, encodes
// them when it sends a GET, and expects "success". Rows with a rule and a limit_notify_times of 0
// or less are skipped: roncoo sends a row while notify_times < limit_notify_times, so never.
func Roncoo(ctx context.Context, address string, o Options) (Source, error) {
	columns := []string{"id", "create_time", "edit_time", "notify_rule", "notify_times", "limit_notify_times", "url", "merchant_order_no", "merchant_no", "status"}
	name := cmp.Or(o.Table, "rp_notify_record")
	db, selected, missing, err := open(ctx, address, name, columns, "notify_rule")
	if err != nil {
		return nil, err
	}
	rule := "" // each row has its own
	if len(missing) > 0 {
		rule = fixedRule
		if o.Note != nil {
			o.Note("table " + name + " has no column notify_rule, as of roncoo-pay before it kept a rule with each row: the rule of that time is taken for all, minutes " + fixedRule)
		}
	}
	return &table{
		db:   db,
		zone: cmp.Or(o.Zone, time.Local),
		query: "SELECT " + selected + " FROM " + quoted(name) +
			" WHERE status IN ('CREATED', 'HTTP_REQUEST_SUCCESS', 'HTTP_REQUEST_FALIED', 'HTTP_REQUEST_FAILED') AND id > ? ORDER BY id LIMIT ?",
		after: "",
		scan:  func(rows *sql.Rows, c clock) (any, Row, error) { return o.roncoo(rows, c, rule) },
	}, nil
}

// fixedRule is roncoo-pay's rule for all rows of the published table, which has no column for it:
// notifyParam in its NotifyConfig (earlier in spring-notify.xml). It alone limits the attempts:
// NotifyQueue.addElementToList ignores limit_notify_times, so roncoo sends a row with 0 too.
const (
	fixedRule  = `{"1":0,"2":1,"3":2,"4":5,"5":15}`
	fixedLimit = 5
)

// roncoo reads a row. fixed is its rule if the table has no column for it; otherwise empty.
func (o Options) roncoo(rows *sql.Rows, c clock, fixed string) (key any, row Row, err error) {
	var id string
	var rule, address, order, merchant, status sql.NullString
	var created, edited sql.NullTime
	var times, limit sql.NullInt64
	if err := rows.Scan(&id, &created, &edited, &rule, &times, &limit, &address, &order, &merchant, &status); err != nil {
		return nil, Row{}, err
	}
	c.when("create_time", &created)
	c.when("edit_time", &edited)
	if fixed != "" {
		rule.String = fixed
		if !limit.Valid || limit.Int64 <= 0 || limit.Int64 > fixedLimit {
			limit = sql.NullInt64{Int64: fixedLimit, Valid: true}
		}
	}
	made := int(times.Int64)
	row = Row{Where: "id " + id, Task: client.CreateTask{
		Queue: o.Queue, Key: "roncoo/" + id, MerchantNo: merchant.String, OrderNo: order.String,
		URL: roncooURL(address.String), Method: cmp.Or(o.Method, "GET"), Success: "success_text",
	}}
	row.Task.Schedule, row.Wrong = ruleText(rule.String, int(min(limit.Int64, maxAttempts)))
	switch {
	case limit.Int64 > maxAttempts:
		row.Wrong = fmt.Errorf("limit_notify_times is %d: want at most %d", limit.Int64, maxAttempts)
	case !limit.Valid:
		row.Wrong = errors.New("limit_notify_times is NULL: want how many attempts may be made")
	case limit.Int64 <= 0:
		row.Skip, row.Wrong = fmt.Sprintf("limit_notify_times is %d: roncoo never sends it", limit.Int64), nil
	case int64(made) >= limit.Int64:
		row.Skip = fmt.Sprintf("%d of %d attempts were made", made, limit.Int64)
	case strings.TrimSpace(address.String) == "":
		row.Wrong = errors.New("url is empty: want the address with all values")
	case !utf8.ValidString(address.String + order.String + merchant.String):
		row.Wrong = errCharset
	case made > 0 && !edited.Valid:
		row.Wrong = fmt.Errorf("edit_time is empty after %d attempts: when the last began is not known", made)
	default:
		row.Task.Resume = resume(made, edited, created)
	}
	return id, row, nil
}

// roncooURL returns the address to which roncoo sends a row. The column has the values of the query
// as they are, and SimpleHttpUtils.httpRequest encodes them. An encoded query stays: some copies of
// roncoo-pay store it so.
func roncooURL(text string) string {
	text = strings.TrimSpace(text)
	address, query, is := strings.Cut(text, "?")
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if !is || encoded(query) {
		return strings.TrimSuffix(address+"?"+query, "?")
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		if name, value, is := strings.Cut(pair, "="); is {
			pairs[i] = name + "=" + url.QueryEscape(value)
		}
	}
	return address + "?" + strings.Join(pairs, "&")
}

// encoded reports whether a query has encoded characters, and no others that need it.
func encoded(query string) bool {
	_, err := url.QueryUnescape(query)
	return err == nil && strings.Contains(query, "%") && !strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == '#' || r >= 0x7f })
}

// maxAttempts is how many attempts a schedule can have.
const maxAttempts = 10_000

// ruleText converts roncoo's notify_rule, cut at its limit, to the text of a schedule. As in
// roncoo, an attempt that the rule does not name follows at once.
func ruleText(rule string, limit int) (string, error) {
	if strings.TrimSpace(rule) == "" {
		return "", fmt.Errorf("notify_rule is empty: want minutes by attempt, such as {\"1\":0,\"2\":1}")
	}
	s, err := schedule.Parse(rule)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "notify_rule"):
		return "", err
	case err != nil:
		return "", fmt.Errorf("notify_rule: %w", err)
	}
	if limit <= 0 {
		return rule, nil
	}
	var gaps []string
	began := time.Unix(0, 0)
	last := began
	for i := range limit {
		due, over := s.Next(i, began, last, 0)
		gap := time.Duration(0) // for attempts that the rule does not name
		if over == "" {
			gap, last = due.Sub(last), due
		}
		gaps = append(gaps, schedule.FormatDuration(gap))
	}
	return strings.Join(gaps, ", "), nil
}

package importer

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// Jeepay reads the unfinished rows (state 1) of jeepay's table t_mch_notify_record, in the MySQL
// database at address, mysql://USER:PASSWORD@HOST:3306/DATABASE.
//
// jeepay attempts at once, and waits n times 30 seconds after attempt n, for at most
// notify_count_limit attempts; last_notify_time is the start of the last one. notify_url contains
// all values. jeepay sends them as a form, and expects SUCCESS. Before v1.16.0 it sent an empty
// POST to notify_url: a Method of Options leaves the values there.
//
// AgPay, which copied the table, added req_method, req_media_type and req_body. A row with a
// req_method is sent as they say.
func Jeepay(ctx context.Context, address string, o Options) (Source, error) {
	columns := []string{"notify_id", "order_id", "order_type", "mch_order_no", "mch_no", "notify_url", "notify_count", "notify_count_limit", "last_notify_time", "created_at", "state",
		"req_method", "req_media_type", "req_body"}
	name := cmp.Or(o.Table, "t_mch_notify_record")
	db, selected, _, err := open(ctx, address, name, columns, "req_method", "req_media_type", "req_body")
	if err != nil {
		return nil, err
	}
	return &table{
		db:    db,
		zone:  cmp.Or(o.Zone, time.Local),
		query: "SELECT " + selected + " FROM " + quoted(name) + " WHERE state = 1 AND notify_id > ? ORDER BY notify_id LIMIT ?",
		after: int64(0),
		scan:  o.jeepay,
	}, nil
}

// jeepayEvents are the events of the column order_type.
var jeepayEvents = map[int64]string{1: "payment", 2: "refund", 3: "transfer"}

func (o Options) jeepay(rows *sql.Rows, c clock) (key any, row Row, err error) {
	var id int64
	var kind, made, limit sql.NullInt64
	var order, number, merchant, address, method, media, body sql.NullString
	var last, created sql.NullTime
	var state sql.RawBytes // always 1
	if err := rows.Scan(&id, &order, &kind, &number, &merchant, &address, &made, &limit, &last, &created, &state, &method, &media, &body); err != nil {
		return nil, Row{}, err
	}
	c.when("last_notify_time", &last)
	c.when("created_at", &created)
	row = Row{Where: "notify_id " + strconv.FormatInt(id, 10), Task: client.CreateTask{
		Queue: o.Queue, Key: fmt.Sprintf("jeepay/%s/%d", order.String, kind.Int64), MerchantNo: merchant.String, OrderNo: number.String, Event: jeepayEvents[kind.Int64],
		URL: strings.TrimSpace(address.String), Method: cmp.Or(o.Method, "POST"), Success: "jeepay", Schedule: jeepaySchedule(limit.Int64),
	}}
	switch {
	case method.String != "":
		row.Task.Method = cmp.Or(o.Method, strings.ToUpper(method.String))
		if body.String != "" && row.Task.Method != "GET" {
			row.Task.Body, row.Task.Headers = body.String, map[string]string{"Content-Type": withCharset(cmp.Or(media.String, "application/json"))}
		}
	case o.Method == "":
		asForm(&row.Task)
	}
	switch {
	case !order.Valid || !kind.Valid || !limit.Valid:
		row.Wrong = errors.New("order_id, order_type or notify_count_limit is NULL: want a value in each")
	case made.Int64 >= limit.Int64:
		row.Skip = fmt.Sprintf("%d of %d attempts were made", made.Int64, limit.Int64)
	case row.Task.URL == "":
		row.Wrong = errors.New("notify_url is empty: want the address with all values")
	case !utf8.ValidString(order.String + number.String + merchant.String + address.String + body.String):
		row.Wrong = errCharset
	case made.Int64 > 0 && !last.Valid:
		row.Wrong = fmt.Errorf("last_notify_time is empty after %d attempts: when the last began is not known", made.Int64)
	default:
		row.Task.Resume = resume(int(made.Int64), last, created)
	}
	return id, row, nil
}

// withCharset adds UTF-8 to a media type that names no charset.
func withCharset(media string) string {
	if strings.Contains(strings.ToLower(media), "charset=") {
		return media
	}
	return media + "; charset=utf-8"
}

// asForm moves the values of a task's URL into its body. A plus is one: jeepay encodes a blank as
// %20, and a plus not.
func asForm(t *client.CreateTask) {
	address, query, is := strings.Cut(t.URL, "?")
	if !is {
		return
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, is := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(value); is && err == nil {
			pairs[i] = name + "=" + url.QueryEscape(plain)
		}
	}
	t.URL, t.Body = address, strings.Join(pairs, "&")
	t.Headers = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
}

// jeepaySchedule returns jeepay's schedule for a number of attempts.
func jeepaySchedule(limit int64) string {
	gaps := []string{"0s"}
	for n := int64(1); n < min(limit, 1000); n++ {
		gaps = append(gaps, schedule.FormatDuration(time.Duration(n)*30*time.Second))
	}
	return strings.Join(gaps, ", ")
}

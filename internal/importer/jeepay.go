package importer

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// Jeepay reads the unfinished rows (state 1) of jeepay's table t_mch_notify_record, in the MySQL database at
// address, mysql://USER:PASSWORD@HOST:3306/DATABASE.
//
// jeepay attempts at once, and waits n times 30 seconds after attempt n, for at most notify_count_limit
// attempts; last_notify_time is the start of the last one. It sends an empty POST to notify_url, which
// contains all values, and expects SUCCESS.
func Jeepay(ctx context.Context, address string, o Options) (Source, error) {
	columns := []string{"notify_id", "order_id", "order_type", "mch_order_no", "mch_no", "notify_url", "notify_count", "notify_count_limit", "last_notify_time", "created_at", "state"}
	name := cmp.Or(o.Table, "t_mch_notify_record")
	db, selected, _, err := open(ctx, address, name, columns)
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
	var id, kind, made, limit int64
	var order, number, merchant, url string
	var last, created sql.NullTime
	var state sql.RawBytes // always 1
	if err := rows.Scan(&id, &order, &kind, &number, &merchant, &url, &made, &limit, &last, &created, &state); err != nil {
		return nil, Row{}, err
	}
	c.when("last_notify_time", &last)
	c.when("created_at", &created)
	row = Row{Where: "notify_id " + strconv.FormatInt(id, 10), Task: client.CreateTask{
		Queue: o.Queue, Key: fmt.Sprintf("jeepay/%s/%d", order, kind), MerchantNo: merchant, OrderNo: number, Event: jeepayEvents[kind],
		URL: strings.TrimSpace(url), Method: cmp.Or(o.Method, "POST"), Success: "jeepay", Schedule: jeepaySchedule(limit),
	}}
	switch {
	case made >= limit:
		row.Skip = fmt.Sprintf("%d of %d attempts were made", made, limit)
	case made > 0 && !last.Valid:
		row.Wrong = fmt.Errorf("last_notify_time is NULL after %d attempts: when the last began is not known", made)
	default:
		row.Task.Resume = resume(int(made), last, created)
	}
	return id, row, nil
}

// jeepaySchedule returns jeepay's schedule for a number of attempts.
func jeepaySchedule(limit int64) string {
	gaps := []string{"0s"}
	for n := int64(1); n < min(limit, 1000); n++ {
		gaps = append(gaps, schedule.FormatDuration(time.Duration(n)*30*time.Second))
	}
	return strings.Join(gaps, ", ")
}

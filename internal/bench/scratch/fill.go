package scratch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellmanhq/bellman"
)

// page is the number of rows that one statement inserts.
const page = 100_000

// numbers is a query for 0 to page−1 that every server accepts.
var numbers = func() string {
	digit := `(SELECT 0 AS d` + strings.Repeat(` UNION ALL SELECT %d`, 9) + `)`
	digit = fmt.Sprintf(digit, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	return `(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM ` +
		digit + ` a CROSS JOIN ` + digit + ` b CROSS JOIN ` + digit + ` c CROSS JOIN ` + digit + ` e CROSS JOIN ` + digit + ` f)`
}()

// Fill copies the one waiting task of a store many times. The due times are spread over a period,
// and by the ids ten tasks were created each millisecond until now. No server may use the store
// meanwhile.
func (d *Database) Fill(ctx context.Context, tasks int, due time.Time, over time.Duration) error {
	look := fmt.Sprintf(`%d + i * 7919 %% %d`, due.UnixMilli(), over.Milliseconds())
	return d.fill(ctx, tasks, time.Duration(tasks)*time.Millisecond/10, bellman.Pending, "bellman_live", map[string]string{"look": look, "due": look})
}

// FillEnded copies the one succeeded task of a store many times. The copies were created, and
// ended, in a period until now. No server may use the store meanwhile.
func (d *Database) FillEnded(ctx context.Context, tasks int, over time.Duration) error {
	return d.fill(ctx, tasks, over, bellman.Succeeded, "bellman_ended", map[string]string{"finished": created(tasks, over)})
}

// created is the expression for the time in Unix ms at which task i of so many was created, in a
// period until now.
func created(tasks int, over time.Duration) string {
	return fmt.Sprintf("%d + i * %d {div} %d", time.Now().Add(-over).UnixMilli(), over.Milliseconds(), max(tasks, 1))
}

// fill copies the one task of a store, and its row in a table of statuses, with new keys, orders, a
// thousand merchants, and the new values of the status.
func (d *Database) fill(ctx context.Context, tasks int, over time.Duration, state bellman.State, table string, status map[string]string) error {
	if d.server.redis != nil {
		return errNotInRedis
	}
	return d.with(func(db *sql.DB) error {
		words := d.server.kind.words
		call := func(f, arg string) string { return fmt.Sprintf(words.Replace("{"+f+"}"), arg) }
		number := func(width int) string { return fmt.Sprintf(`lpad(%s, %d, '0')`, call("text", "i"), width) }
		merchant := fmt.Sprintf(`concat('M', lpad(%s, 4, '0'))`, call("text", "i * 7919 % 1000"))
		hexed := func(value string, width int) string {
			return words.Replace(fmt.Sprintf(`lpad({hex}(%s), %d, '0')`, value, width))
		}
		id := call("id", fmt.Sprintf(`concat(%s, '70008000', %s)`, hexed(created(tasks, over), 12), hexed("i", 12)))
		from := call("big", "$from")
		task, err := copyOf(ctx, db, "bellman_task", map[string]string{
			"id":          id,
			"task_key":    call("bytes", fmt.Sprintf(`concat(%s, '/', %s, '/paid')`, merchant, number(12))),
			"merchant_no": call("bytes", merchant),
			"order_no":    call("bytes", number(12)),
		}, from)
		if err != nil {
			return err
		}
		changed := map[string]string{"id": id, "shard": `i % (SELECT count(*) FROM bellman_shard)`}
		for column, value := range status {
			changed[column] = words.Replace(value)
		}
		of, err := copyOf(ctx, db, table, changed, from)
		if err != nil {
			return err
		}
		if err := d.insert(ctx, db, tasks, task, of); err != nil {
			return err
		}
		if err := counted(ctx, db, state, tasks); err != nil {
			return err
		}
		for _, table := range []string{"bellman_task", table} {
			text := fmt.Sprintf(d.server.kind.tidy, table)
			if _, err := db.ExecContext(ctx, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
}

// copyOf returns the statement that copies the one row of a table for each number i, with new
// values for some columns. $from and $to stand for the first and the last number; from is the first
// one cast to a type that is large enough.
func copyOf(ctx context.Context, db *sql.DB, table string, changed map[string]string, from string) (string, error) {
	var there int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&there); err != nil {
		return "", err
	}
	if there != 1 {
		return "", fmt.Errorf("fill: %s has %d rows, want one to copy", table, there)
	}
	rows, err := db.QueryContext(ctx, `SELECT * FROM `+table)
	if err != nil {
		return "", err
	}
	names, err := rows.Columns()
	if err := errors.Join(err, rows.Close()); err != nil {
		return "", err
	}
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = "t." + name
		if value, is := changed[name]; is {
			values[i] = value
			delete(changed, name)
		}
	}
	for name := range changed {
		return "", fmt.Errorf("fill: %s has no column %s", table, name)
	}
	return fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM `, table, strings.Join(names, ", "), strings.Join(values, ", ")) +
		`(SELECT ` + from + ` + n AS i FROM ` + numbers + ` x WHERE $from + n <= $to) y CROSS JOIN (SELECT * FROM ` + table + ` LIMIT 1) t`, nil
}

// insert runs statements for all numbers from 1 to tasks.
func (d *Database) insert(ctx context.Context, db *sql.DB, tasks int, statements ...string) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range d.server.kind.fillers {
		g.Go(func() error {
			conn, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			for _, text := range d.server.kind.quick {
				if _, err := conn.ExecContext(ctx, text); err != nil {
					return err
				}
			}
			for {
				from := int(next.Add(1)-1)*page + 1
				if from > tasks {
					return nil
				}
				span := strings.NewReplacer("$from", fmt.Sprint(from), "$to", fmt.Sprint(min(from+page-1, tasks)))
				for _, text := range statements {
					if _, err := conn.ExecContext(ctx, span.Replace(text)); err != nil {
						return fmt.Errorf("fill: %w", err)
					}
				}
			}
		})
	}
	return g.Wait()
}

// counted adds tasks to the store's count of those in a state.
func counted(ctx context.Context, db *sql.DB, state bellman.State, tasks int) error {
	var slot int64
	if err := db.QueryRowContext(ctx, fmt.Sprintf(`SELECT max(slot) FROM bellman_depth WHERE state = %d`, state)).Scan(&slot); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	_, err := db.ExecContext(ctx, fmt.Sprintf(`UPDATE bellman_depth SET tasks = tasks + %d WHERE state = %d AND slot = %d`, tasks, state, slot))
	return err
}

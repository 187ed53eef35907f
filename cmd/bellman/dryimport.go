package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/importer"
	"github.com/bellmanhq/bellman/schedule"
	"github.com/bellmanhq/bellman/server"
)

// trier returns what a dry run checks rows with: the server, or this program alone if no server was
// named and none listens at the default address. unchecked then says what this program cannot
// check.
func (r *remote) trier(ctx context.Context, to *client.Client) (at importer.Trier, unchecked string, err error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = to.Health(within)
	switch {
	case err == nil:
		return to, "", nil
	case r.server != "" || os.Getenv("BELLMAN_SERVER") != "" || !errors.Is(err, syscall.ECONNREFUSED):
		return nil, "", err
	}
	alone, err := server.NewOffline()
	return alone, "no server was named, and none listens at " + r.address() +
		": queues, egress rules, merchants and existing tasks were not checked; name a server with --server", err
}

// dryImport reports for each row what an import would do.
func dryImport(ctx context.Context, out, problems io.Writer, from importer.Source, at importer.Trier, unchecked string) error {
	t := newRows(out, "ROW", "KEY", "MERCHANT", "ORDER", "MADE", "NEXT", "SCHEDULE", "URL")
	counts, err := importer.Try(ctx, from, at, func(r importer.Report) {
		task := r.Row.Task
		switch r.Fate {
		case importer.Taken:
			made, next, by := standing(&r)
			t.row(r.Row.Where, task.Key, task.MerchantNo, task.OrderNo, made, next, cut(by, 40), cut(task.URL, 60))
		case importer.There:
			t.row(r.Row.Where, task.Key, task.MerchantNo, task.OrderNo, "", "nothing: it is there already", "", "")
		case importer.Skipped:
			t.row(r.Row.Where, task.Key, task.MerchantNo, task.OrderNo, "", "nothing: "+r.Why, "", "")
		default:
			say(problems, "%s: %s", r.Row.Where, r.Why)
		}
	})
	if err = errors.Join(err, t.end()); err != nil {
		return err
	}
	if unchecked != "" {
		fmt.Fprintln(problems, "bellman: "+unchecked)
	}
	fmt.Fprintf(out, "%d rows: %d would be taken over, %d are already, %d have nothing left to do, %d moved, %d would be refused\n",
		counts.All(), counts[importer.Taken], counts[importer.There], counts[importer.Skipped], counts[importer.Moved], counts[importer.Wrong])
	return unfinished(counts)
}

// standing returns how many attempts of a task were made, when the next would be due, and by which
// schedule: the task's, or the queue's if the server named it.
func standing(row *importer.Report) (made int, next, by string) {
	task, is := &row.Row.Task, row.Task
	by = task.Schedule
	if is != nil {
		by = is.Schedule
	}
	if r := task.Resume; r != nil {
		s, err := schedule.Parse(by)
		if err != nil {
			return r.Attempts, "as the queue says", ""
		}
		began := r.Began.Time
		if began.IsZero() {
			began = r.Last.Time
		}
		due, _ := s.Next(r.Attempts, began, r.Last.Time, 0) // a schedule that has ended was ruled out before
		return r.Attempts, upcoming(due), by
	}
	if is == nil || is.Due == nil {
		return 0, "as its schedule says", by
	}
	return 0, upcoming(is.Due.Time), by
}

// upcoming describes when a task is due.
func upcoming(due time.Time) string {
	text := due.UTC().Format(time.RFC3339)
	if !due.After(time.Now()) {
		return "at once, since " + text
	}
	return text
}

package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
)

// List reads one page of the tasks that match f, the newest first: up to limit tasks (1 to 200; 0:
// 50) from cursor (NextCursor of a page; empty: the newest).
func (c *Client) List(ctx context.Context, f Filter, limit int, cursor string) (*TaskPage, error) {
	q := search(map[string]string{
		"queue": f.Queue, "state": f.State, "merchant_no": f.MerchantNo, "order_no": f.OrderNo, "key": f.Key,
		"event": f.Event, "url_host": f.URLHost, "created_from": f.CreatedFrom.String(), "created_to": f.CreatedTo.String(),
		"kind": f.Kind, "result": f.Result, "finished_from": f.FinishedFrom.String(), "cursor": cursor,
	}, limit)
	if f.Status != 0 {
		q.Set("status", strconv.Itoa(f.Status))
	}
	return one[TaskPage](ctx, c, http.MethodGet, "/v1/tasks", q, nil)
}

// Tasks iterates over all tasks that match f, the newest first, page by page. It yields an error
// with a zero Task and ends.
func (c *Client) Tasks(ctx context.Context, f Filter) iter.Seq2[Task, error] {
	return pages(func(cursor string) (*TaskPage, error) { return c.List(ctx, f, 200, cursor) },
		func(p *TaskPage) ([]Task, string) { return p.Tasks, p.NextCursor })
}

// Audits iterates over all audit records that match f, the newest first, page by page. It yields an
// error with a zero Audit and ends.
func (c *Client) Audits(ctx context.Context, f AuditFilter) iter.Seq2[Audit, error] {
	return pages(func(cursor string) (*AuditPage, error) {
		q := search(map[string]string{
			"who": f.Who, "action": f.Action, "target": f.Target, "job": f.Job,
			"created_from": f.CreatedFrom.String(), "created_to": f.CreatedTo.String(), "cursor": cursor,
		}, 200)
		return one[AuditPage](ctx, c, http.MethodGet, "/v1/audit", q, nil)
	}, func(p *AuditPage) ([]Audit, string) { return p.Audits, p.NextCursor })
}

func pages[Page, T any](read func(cursor string) (*Page, error), of func(*Page) ([]T, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, err := read(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			items, next := of(page)
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

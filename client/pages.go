package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// List reads one page of the tasks that fit f, newest first: up to limit (1 to
// 200; 0: 50), from cursor (a page's NextCursor; empty: the newest).
func (c *Client) List(ctx context.Context, f Filter, limit int, cursor string) (*TaskPage, error) {
	q := f.values()
	paging(q, limit, cursor)
	return one[TaskPage](ctx, c, http.MethodGet, "/v1/tasks", q, nil)
}

// Tasks goes through all tasks that fit f, newest first, page by page. After an
// error, which is yielded with the zero Task, it ends.
func (c *Client) Tasks(ctx context.Context, f Filter) iter.Seq2[Task, error] {
	return pages(func(cursor string) ([]Task, string, error) {
		p, err := c.List(ctx, f, 200, cursor)
		if err != nil {
			return nil, "", err
		}
		return p.Tasks, p.NextCursor, nil
	})
}

// Audits goes through all audit records, newest first, page by page. After an
// error, which is yielded with the zero Audit, it ends.
func (c *Client) Audits(ctx context.Context) iter.Seq2[Audit, error] {
	return pages(func(cursor string) ([]Audit, string, error) {
		q := url.Values{}
		paging(q, 200, cursor)
		p, err := one[AuditPage](ctx, c, http.MethodGet, "/v1/audit", q, nil)
		if err != nil {
			return nil, "", err
		}
		return p.Audits, p.NextCursor, nil
	})
}

func pages[T any](read func(cursor string) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			items, next, err := read(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
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

func paging(q url.Values, limit int, cursor string) {
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
}

// values is the filter as the query of GET /v1/tasks.
func (f *Filter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"queue": f.Queue, "state": f.State, "merchant_no": f.MerchantNo, "order_no": f.OrderNo, "key": f.Key,
		"event": f.Event, "url_host": f.URLHost, "created_from": f.CreatedFrom.String(), "created_to": f.CreatedTo.String(),
		"kind": f.Kind, "result": f.Result,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Status != 0 {
		q.Set("status", strconv.Itoa(f.Status))
	}
	return q
}

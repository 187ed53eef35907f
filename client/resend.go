package client

import (
	"context"
	"net/http"
)

// A BulkResend resends many tasks.
type BulkResend struct {
	Filter Filter `json:"filter" doc:"Selects the tasks; at least one field is required."`
	Mode   string `json:"mode,omitempty" enum:"once,restart" doc:"As for one task; default once."`
	Reason string `json:"reason,omitempty" maxLength:"500"`
	Rate   string `json:"rate,omitempty" maxLength:"32" example:"50/s" doc:"Rate in tasks per s, m or h; default 50/s."`
	DryRun bool   `json:"dry_run,omitempty" doc:"Dry run: only counts the tasks."`
}

// A ResendCount says how many tasks a bulk resend would resend.
type ResendCount struct {
	Tasks     int             `json:"tasks"`
	More      bool            `json:"more" doc:"There are more than counted."`
	Merchants int             `json:"merchants" doc:"Number of distinct merchants of the tasks; no merchant counts as one."`
	Top       []MerchantCount `json:"top" nullable:"false" doc:"The merchants with the most tasks, ten at most."`
	Oldest    *Time           `json:"oldest" format:"date-time"`
	Newest    *Time           `json:"newest" format:"date-time"`
}

// A MerchantCount is the number of tasks of a merchant.
type MerchantCount struct {
	MerchantNo string `json:"merchant_no"`
	Tasks      int    `json:"tasks"`
}

// A Resend is a bulk resend as a durable job.
type Resend struct {
	ID     string `json:"id" format:"uuid"`
	Filter Filter `json:"filter"`
	Mode   string `json:"mode" enum:"once,restart"`
	Rate   string `json:"rate"`
	Who    string `json:"who"`
	Reason string `json:"reason"`

	State    string `json:"state" enum:"running,done,cancelled"`
	Created  Time   `json:"created" format:"date-time"`
	Updated  Time   `json:"updated" format:"date-time"`
	Finished *Time  `json:"finished" format:"date-time" doc:"null while it is running."`

	Total int64 `json:"total" doc:"Tasks that matched at the start; 0: not counted yet."`
	More  bool  `json:"more" doc:"There are more than total, because the count is bounded."`

	Examined  int64  `json:"examined" doc:"Tasks that matched so far: the sum of the next three."`
	Resent    int64  `json:"resent"`
	Skipped   int64  `json:"skipped" doc:"Tasks that were gone, superseded, or did not match the filter any more when their turn came."`
	Failed    int64  `json:"failed" doc:"Tasks that could not be resent."`
	LastError string `json:"last_error,omitempty"`
}

// Resends is a list of bulk resends, newest first.
type Resends struct {
	Resends []Resend `json:"resends" nullable:"false"`
}

// CountResend counts the tasks of a bulk resend and changes nothing.
func (c *Client) CountResend(ctx context.Context, in BulkResend) (*ResendCount, error) {
	in.DryRun = true
	return one[ResendCount](ctx, c, http.MethodPost, "/v1/resends", nil, in)
}

// StartResend starts a bulk resend, which survives restarts of the server.
func (c *Client) StartResend(ctx context.Context, in BulkResend) (*Resend, error) {
	in.DryRun = false
	return one[Resend](ctx, c, http.MethodPost, "/v1/resends", nil, in)
}

// BulkResend reads a bulk resend and its progress.
func (c *Client) BulkResend(ctx context.Context, id string) (*Resend, error) {
	return one[Resend](ctx, c, http.MethodGet, "/v1/resends/"+escape(id), nil, nil)
}

// BulkResends reads the newest 50 bulk resends.
func (c *Client) BulkResends(ctx context.Context) ([]Resend, error) {
	var out Resends
	_, err := c.call(ctx, http.MethodGet, "/v1/resends", nil, nil, &out)
	return out.Resends, err
}

// CancelResend ends a bulk resend. Tasks that it has resent stay resent.
func (c *Client) CancelResend(ctx context.Context, id string, in Because) (*Resend, error) {
	return one[Resend](ctx, c, http.MethodPost, "/v1/resends/"+escape(id)+"/cancel", nil, in)
}

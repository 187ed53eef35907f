package client

import (
	"context"
	"net/http"
)

// A Notice is what a payment channel told by itself, and what became of it.
type Notice struct {
	Task           string `json:"task,omitempty" format:"uuid" doc:"The task that keeps the notice."`
	Queue          string `json:"queue"`
	Account        string `json:"account,omitempty" doc:"The account at the channel."`
	Of             string `json:"of,omitempty" enum:"payment,refund,transfer" doc:"What the notice is about."`
	MerchantNo     string `json:"merchant_no,omitempty" doc:"Empty while the order does not exist, and if the notice is about none here."`
	OrderNo        string `json:"order_no,omitempty"`
	ChannelOrderNo string `json:"channel_order_no,omitempty" doc:"The order's number at the channel."`
	RefNo          string `json:"ref_no,omitempty" doc:"The number of the refund or transfer."`
	Result         string `json:"result" enum:"applied,duplicate,held,mismatch,refused" doc:"applied: it decided, or said something new. duplicate: it said what was known. held: it came before its order, and is kept for 24 hours. mismatch: of another amount than the order's. refused: not the channel's, unreadable, or without the amount of an order that has one; it decides nothing, and may cause a query of the order that it names."`
	Why            string `json:"why,omitempty" doc:"Why it was refused, or which amount differs."`
	State          string `json:"state,omitempty" doc:"What it says of a payment: PAID, CLOSED, …; of a refund or transfer: DONE or FAILED_THERE, if it says so."`
	Came           Time   `json:"came,omitzero" format:"date-time"`
	Content        string `json:"content,omitempty" doc:"The verified and decrypted content, for the roles operate and admin."`
}

// Notices answers ListNotices: a page, the newest first.
type Notices struct {
	Notices    []Notice `json:"notices" nullable:"false"`
	NextCursor string   `json:"next_cursor,omitempty" doc:"Where the next page begins; empty: this is the last."`
}

// A HandIn is a notice that another program received.
type HandIn struct {
	Headers map[string]string `json:"headers,omitempty" doc:"The headers of the channel's request that its signature needs, such as Wechatpay-Signature."`
	Body    string            `json:"body" minLength:"1" maxLength:"262144" doc:"The body exactly as the channel sent it."`
}

// HandedIn answers a HandIn: one notice for each item of the body.
type HandedIn struct {
	Notices []Notice `json:"notices" nullable:"false"`
}

// A NoticeFilter chooses notices. Empty fields choose all.
type NoticeFilter struct {
	Queue, MerchantNo, OrderNo, Result string
	Limit                              int // of a page; 0: 50
	Cursor                             string
}

// ListNotices reads a page of the notices that payment channels sent, the newest first.
func (c *Client) ListNotices(ctx context.Context, f NoticeFilter) (*Notices, error) {
	query := search(map[string]string{
		"queue": f.Queue, "merchant_no": f.MerchantNo, "order_no": f.OrderNo, "result": f.Result, "cursor": f.Cursor,
	}, max(f.Limit, 0))
	return one[Notices](ctx, c, http.MethodGet, "/v1/notices", query, nil)
}

// HandInNotice verifies and applies a notice about an order that another program received.
func (c *Client) HandInNotice(ctx context.Context, ref OrderRef, in HandIn) (*HandedIn, error) {
	return one[HandedIn](ctx, c, http.MethodPost, ref.path()+"/notice", nil, in)
}

package client

import (
	"context"
	"net/http"
)

// A MakeLink requests a link that shows a merchant's notices to everybody who has it.
type MakeLink struct {
	MerchantNo string `json:"merchant_no" minLength:"1" maxLength:"128"`
	OrderNo    string `json:"order_no,omitempty" maxLength:"128" doc:"Shows only the notices of this order; default: all of the merchant's."`
	Life       string `json:"life,omitempty" maxLength:"64" example:"24h" doc:"Lifetime of the link, 1h to 30d; default 24h."`
	Reason     string `json:"reason" minLength:"1" maxLength:"500" doc:"Written to the audit record."`
}

// A Link is a link in answers.
type Link struct {
	ID         string `json:"id" format:"uuid"`
	MerchantNo string `json:"merchant_no"`
	OrderNo    string `json:"order_no,omitempty"`
	Path       string `json:"path,omitempty" doc:"Path of the link on this server, only in the answer that makes it. Whoever has the link sees what it shows."`
	URL        string `json:"url,omitempty" doc:"The full address, if the configuration has a public_url."`
	Made       Time   `json:"made" format:"date-time"`
	Expires    Time   `json:"expires" format:"date-time"`
	Who        string `json:"who"`
	Reason     string `json:"reason"`
	Revoked    *Time  `json:"revoked" format:"date-time" doc:"null if it is not revoked."`
	Warning    string `json:"warning,omitempty" doc:"Why the link may be a mistake: the merchant or order is unknown. The link is made all the same."`
}

// Links is a list of links, the newest first.
type Links struct {
	Links []Link `json:"links" nullable:"false"`
}

// MakeLink makes a link to a merchant's notices, or to those of one order.
func (c *Client) MakeLink(ctx context.Context, in MakeLink) (*Link, error) {
	return one[Link](ctx, c, http.MethodPost, "/v1/links", nil, in)
}

// Links reads the newest 200 links: of a merchant, or of all if the number is empty.
func (c *Client) Links(ctx context.Context, merchantNo string) ([]Link, error) {
	var out Links
	_, err := c.call(ctx, http.MethodGet, "/v1/links", search(map[string]string{"merchant_no": merchantNo}, 0), nil, &out)
	return out.Links, err
}

// RevokeLink ends a link.
func (c *Client) RevokeLink(ctx context.Context, id string, in Because) (*Link, error) {
	return one[Link](ctx, c, http.MethodPost, "/v1/links/"+escape(id)+"/revoke", nil, in)
}

package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
)

// A PutAccount is the new content of an account at a payment channel.
type PutAccount struct {
	// Account is the name by which orders name the account. It is required in a batch, and optional
	// in a PUT, whose path has it.
	Account string `json:"account,omitempty" maxLength:"128"`

	Name     string `json:"name,omitempty" maxLength:"100" doc:"A name for people. The search matches its beginning."`
	Channel  string `json:"channel" enum:"wechatpay,alipay" doc:"It cannot be changed."`
	URL      string `json:"url,omitempty" maxLength:"2000" example:"https://openapi-sandbox.dl.alipaydev.com/gateway.do" doc:"The provider's address; default: the usual one."`
	MchID    string `json:"mch_id,omitempty" maxLength:"32" example:"1900000001" doc:"wechatpay: the number of the merchant, or of the service provider. It cannot be changed."`
	SubMchID string `json:"sub_mch_id,omitempty" maxLength:"32" doc:"wechatpay: the sub-merchant of a service provider. It cannot be changed."`
	AppID    string `json:"app_id,omitempty" maxLength:"128" doc:"The application. Required for alipay, where it cannot be changed."`
	SellerID string `json:"seller_id,omitempty" maxLength:"32" doc:"alipay: whose notices are read; default: those of every seller of the application. With app_auth_token it is required, and cannot be changed."`
	Serial   string `json:"serial,omitempty" maxLength:"64" doc:"wechatpay: the serial number of the merchant's certificate."`
	Rate     string `json:"rate,omitempty" maxLength:"32" example:"300/s" doc:"Most requests per s, m or h, from 1/h to 1000000/s. All accounts of one mch_id, or of one app_id of alipay, share the smallest of their rates. Default: no limit but the queue's."`

	AccountKeys
	Former []FormerKey `json:"former,omitempty" doc:"Keys that a rotation replaced, and that stay valid for a while, as an export has them. Default: they stay."`

	Version string `json:"version,omitempty" maxLength:"32" example:"b5bb9d8014a0f9b1" doc:"The version of an earlier answer: if the account has another version now, the answer is 409 and nothing changes. none: the account must not exist. Default: no check."`
	Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Written to the audit record."`
}

// AccountKeys are the keys of an account. They are never returned: answers show three stars and the
// last four characters. A key that is left out stays, and so does one written as an answer shows it
// (***abcd).
type AccountKeys struct {
	PrivateKey       string            `json:"private_key,omitempty" maxLength:"65536" doc:"The merchant's or the application's private key, which signs requests."`
	APIv3Key         string            `json:"api_v3_key,omitempty" maxLength:"65536" doc:"wechatpay: decrypts notices; without it none can be read."`
	PlatformKeys     map[string]string `json:"platform_keys,omitempty" doc:"wechatpay: the public keys and certificates that verify answers, by their ids. All of them, or none to leave them. {\"certificates\": \"fetch\"}: the certificates are fetched from WeChat Pay and renewed."`
	Certificate      string            `json:"certificate,omitempty" maxLength:"65536" doc:"wechatpay: the merchant's certificate. It says serial and when it expires."`
	AlipayPublicKeys []string          `json:"alipay_public_keys,omitempty" doc:"alipay: the public keys or certificates that verify answers. All of them, or none to leave them."`
	AppAuthToken     string            `json:"app_auth_token,omitempty" maxLength:"65536" doc:"alipay: of a merchant that authorised another one's application."`
	AppCertificate   string            `json:"app_certificate,omitempty" maxLength:"65536" doc:"alipay: of an application with certificates."`
	RootCertificates string            `json:"root_certificates,omitempty" maxLength:"65536" doc:"alipay: of an application with certificates."`
}

// A FormerKey is a key that a rotation replaced.
type FormerKey struct {
	Field string `json:"field" maxLength:"300" example:"api_v3_key" doc:"api_v3_key, alipay_public_keys or platform_keys.ID."`
	Key   string `json:"key" maxLength:"65536" doc:"Masked, or sealed:… until TIME in an export."`
}

// An Account is an account in answers. Its keys are masked, or sealed in an export.
type Account struct {
	Account  string `json:"account"`
	Name     string `json:"name"`
	Channel  string `json:"channel"`
	URL      string `json:"url,omitempty"`
	MchID    string `json:"mch_id,omitempty"`
	SubMchID string `json:"sub_mch_id,omitempty"`
	AppID    string `json:"app_id,omitempty"`
	SellerID string `json:"seller_id,omitempty"`
	Serial   string `json:"serial,omitempty"`
	Rate     string `json:"rate,omitempty"`

	AccountKeys
	Former []FormerKey  `json:"former,omitempty" doc:"Keys that a rotation replaced, and that stay valid for a while."`
	Keys   []AccountKey `json:"keys" nullable:"false" doc:"All keys with their times."`

	Identity string `json:"identity" doc:"Which account it is at the channel: a channel_order_no is unique within it."`
	Endpoint string `json:"endpoint" doc:"What the channel's limits count. Accounts with the same one share a rate and a pace, and are paused together."`
	Shared   string `json:"shared_rate,omitempty" doc:"The smallest rate of all accounts with this endpoint. Absent if none has one."`
	Created  Time   `json:"created" format:"date-time"`
	Updated  Time   `json:"updated" format:"date-time"`
	Version  string `json:"version" doc:"Changes with each change of the account."`
	Problem  string `json:"problem,omitempty" doc:"Why the channel cannot be asked now: a master key is missing, or the keys cannot be opened."`
}

// An AccountKey describes a key without revealing it.
type AccountKey struct {
	Field    string `json:"field" doc:"private_key, platform_keys.ID, …"`
	LastFour string `json:"last_four" doc:"Empty of a key in PEM, and of one so short that this would reveal too much of it."`
	MasterID string `json:"master_key" doc:"Id of the master key that seals it."`
	Added    Time   `json:"added" format:"date-time"`
	Until    *Time  `json:"until" format:"date-time" doc:"End of its validity: when a certificate expires, or the overlap of a former key ends; null: no end."`
}

// Wanted returns the PutAccount that would make an account equal to a, without a Version. Its keys
// are masked, or sealed, as in a.
func (a *Account) Wanted() PutAccount {
	return PutAccount{
		Account: a.Account, Name: a.Name, Channel: a.Channel, URL: a.URL, MchID: a.MchID, SubMchID: a.SubMchID,
		AppID: a.AppID, SellerID: a.SellerID, Serial: a.Serial, Rate: a.Rate, AccountKeys: a.AccountKeys, Former: a.Former,
	}
}

// A RotateAccount replaces keys of an account: those that are given. A former key that decrypts
// notices or verifies answers stays valid for the overlap; requests are signed with the new private
// key at once.
type RotateAccount struct {
	AccountKeys
	Serial  string `json:"serial,omitempty" maxLength:"64" doc:"wechatpay: of the certificate that belongs to the new private_key."`
	Overlap string `json:"overlap,omitempty" maxLength:"64" example:"24h" doc:"How long the former keys stay valid, at most 90d; default 24h."`
	Reason  string `json:"reason,omitempty" maxLength:"500"`
}

// An AccountPage is a page of a list of accounts.
type AccountPage struct {
	Accounts   []Account `json:"accounts" nullable:"false"`
	NextCursor string    `json:"next_cursor" doc:"Cursor of the next page; empty only at the end."`
}

// An AccountBatch puts many accounts at once.
type AccountBatch struct {
	Accounts []PutAccount `json:"accounts" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun   bool         `json:"dry_run,omitempty" doc:"Dry run: nothing is changed."`
	Reason   string       `json:"reason,omitempty" maxLength:"500"`
}

// An AccountBatched is the answer to an AccountBatch: one result each, in order.
type AccountBatched struct {
	Results []AccountResult `json:"results" nullable:"false"`
}

// An AccountResult is the result for one account of a batch.
type AccountResult struct {
	Account string   `json:"account"`
	Status  int      `json:"status" doc:"201: created. 200: changed. 204: unchanged. Otherwise see error."`
	Error   *Problem `json:"error,omitempty"`
}

// An AccountSearch selects the accounts of a list.
type AccountSearch struct {
	Account string // beginning of the account's name in orders
	Name    string // beginning of the name for people, in upper or lower case
	Sealed  bool   // with sealed keys, for an export; needs the role admin
	Limit   int    // 1 to 200; default 50
	Cursor  string // a page's NextCursor
}

func accountPath(name string) string { return "/v1/accounts/" + escape(name) }

// PutAccount creates or replaces an account; created reports which.
func (c *Client) PutAccount(ctx context.Context, name string, in PutAccount) (a *Account, created bool, err error) {
	return put[Account](ctx, c, http.MethodPut, accountPath(name), in)
}

// PutAccounts puts up to 1,000 accounts. An invalid account does not affect the others.
func (c *Client) PutAccounts(ctx context.Context, in AccountBatch) ([]AccountResult, error) {
	var out AccountBatched
	_, err := c.call(ctx, http.MethodPost, "/v1/accounts/batch", nil, in, &out)
	return out.Results, err
}

// Account reads an account.
func (c *Client) Account(ctx context.Context, name string) (*Account, error) {
	return one[Account](ctx, c, http.MethodGet, accountPath(name), nil, nil)
}

// DeleteAccount deletes an account. Its orders wait until it is registered again.
func (c *Client) DeleteAccount(ctx context.Context, name, reason string) error {
	return c.remove(ctx, accountPath(name), reason)
}

// Accounts reads a page of accounts, ordered by the name for people if the search has one,
// otherwise by the name in orders.
func (c *Client) Accounts(ctx context.Context, s AccountSearch) (*AccountPage, error) {
	path := "/v1/accounts"
	if s.Sealed {
		path = "/v1/account-export"
	}
	return one[AccountPage](ctx, c, http.MethodGet, path, search(map[string]string{"account": s.Account, "name": s.Name, "cursor": s.Cursor}, s.Limit), nil)
}

// AllAccounts iterates over all accounts that match s, page by page, from its Cursor. It yields an
// error with a zero Account and ends.
func (c *Client) AllAccounts(ctx context.Context, s AccountSearch) iter.Seq2[Account, error] {
	return pages(func(cursor string) (*AccountPage, error) {
		page := s
		page.Cursor = cmp.Or(cursor, s.Cursor)
		return c.Accounts(ctx, page)
	}, func(p *AccountPage) ([]Account, string) { return p.Accounts, p.NextCursor })
}

// RotateAccount gives an account new keys.
func (c *Client) RotateAccount(ctx context.Context, name string, in RotateAccount) (*Account, error) {
	return one[Account](ctx, c, http.MethodPost, accountPath(name)+"/secrets", nil, in)
}

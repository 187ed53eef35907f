package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
)

// A PutMerchant is the new content of a merchant. Empty fields inherit from the queue.
type PutMerchant struct {
	// MerchantNo is required in a batch. It is optional in a PUT, whose path has it.
	MerchantNo string `json:"merchant_no,omitempty" maxLength:"128"`

	Name        string          `json:"name,omitempty" maxLength:"100" doc:"A name for people. The search matches its beginning."`
	NotifyURL   string          `json:"notify_url,omitempty" maxLength:"2000" example:"https://merchant.example/notify" doc:"Destination of tasks that name this merchant and no url. It is looked up at each attempt."`
	Sign        *MerchantSign   `json:"sign,omitempty" doc:"Signature of requests to the merchant. It is looked up at each attempt. Default: the queue's."`
	Schedule    string          `json:"schedule,omitempty" maxLength:"4000" example:"0s, 15s*2, 30s" doc:"Schedule for tasks without one: the name of a preset, or a text. It is looked up after each attempt, so a change also holds for existing tasks."`
	Success     string          `json:"success,omitempty" maxLength:"4000" example:"success_text" doc:"Success rule for tasks without one: the name of a preset, or an expression. It is looked up at each attempt."`
	Timeout     string          `json:"timeout,omitempty" maxLength:"64" example:"5s" doc:"Timeout of one attempt, 1ms to 10m, for tasks without one. It is looked up at each attempt."`
	PerEndpoint *MerchantLimits `json:"per_endpoint,omitempty" doc:"Limits of the merchant's endpoint. If several merchants share an endpoint, the strictest limit holds."`
	Version     string          `json:"version,omitempty" maxLength:"32" example:"b5bb9d8014a0f9b1" doc:"The version of an earlier answer: if the merchant has another version now, the answer is 409 and nothing changes. none: the merchant must not exist. Default: no check."`
	Reason      string          `json:"reason,omitempty" maxLength:"500" doc:"Written to the audit record. In a batch, the reason of the batch is written instead."`
}

// A MerchantSign says how requests to a merchant are signed.
type MerchantSign struct {
	Scheme  string   `json:"scheme" enum:"standard_webhooks,wechat_rsa,md5_params,hmac_sha256_params,jeepay_md5,roncoo_md5,md5_key,rsa2,t_v1"`
	Serial  string   `json:"serial,omitempty" maxLength:"128" doc:"Only for wechat_rsa: the serial number of the key."`
	Params  string   `json:"params,omitempty" maxLength:"1000" example:"order=given key=none case=lower" doc:"Only for md5_key: what is signed, as NAME=VALUE with blanks between them. Names: preset (jeepay, roncoo), name, order (sorted, ignore_case, given), key, case (upper, lower), empty (skip, skip_blank, keep), fields."`
	Header  string   `json:"header,omitempty" maxLength:"128" doc:"Only for t_v1: the header with the signature; default Stripe-Signature."`
	Secrets []string `json:"secrets,omitempty" doc:"Signing secrets, the newest first. They are never returned: answers show three stars and the last four characters. Default: the secrets stay. A secret written as an answer shows it (***abcd) stays; sealed:… comes from an export."`
}

// MerchantLimits limit the attempts to a merchant's endpoint.
type MerchantLimits struct {
	Concurrency int    `json:"concurrency,omitempty" minimum:"1" maximum:"100000" doc:"Most attempts in flight; default: the queue's."`
	Rate        string `json:"rate,omitempty" maxLength:"32" example:"50/s" doc:"Most attempts per s, m or h, from 1/h to 1000000/s; default: the queue's."`
}

// A Merchant is a merchant in answers.
type Merchant struct {
	MerchantNo  string             `json:"merchant_no"`
	Name        string             `json:"name"`
	NotifyURL   string             `json:"notify_url"`
	Sign        *ShownMerchantSign `json:"sign,omitempty" doc:"Default: the queue's signature."`
	Schedule    string             `json:"schedule"`
	Success     string             `json:"success"`
	Timeout     string             `json:"timeout"`
	PerEndpoint MerchantLimits     `json:"per_endpoint"`
	Created     Time               `json:"created" format:"date-time"`
	Updated     Time               `json:"updated" format:"date-time"`
	Version     string             `json:"version" doc:"Changes with each change of the merchant. A PUT with this version changes the merchant only if nobody else has changed it."`

	Paused  *Pause   `json:"paused,omitempty" doc:"Absent unless it is paused."`
	Failing bool     `json:"failing,omitempty" doc:"true if none of the newest attempts of its newest tasks was accepted, of three or more within a day; otherwise absent."`
	Hour    *Hour    `json:"last_hour,omitempty" doc:"Attempts of notifications of the last hour; absent: none is known."`
	Backlog *Backlog `json:"backlog,omitempty" doc:"Notifications that have not ended; absent in an export, and if a list had no time to count them."`
	Problem string   `json:"problem,omitempty" doc:"Why nothing can be sent to this merchant now: a master key is missing, or the secrets cannot be opened."`
}

// Wanted returns the PutMerchant that would make a merchant equal to m, without a Version. Its
// secrets are masked, or sealed, as in m.
func (m *Merchant) Wanted() PutMerchant {
	in := PutMerchant{
		MerchantNo: m.MerchantNo, Name: m.Name, NotifyURL: m.NotifyURL,
		Schedule: m.Schedule, Success: m.Success, Timeout: m.Timeout,
	}
	if m.PerEndpoint != (MerchantLimits{}) {
		limits := m.PerEndpoint
		in.PerEndpoint = &limits
	}
	if m.Sign != nil {
		in.Sign = &MerchantSign{Scheme: m.Sign.Scheme, Serial: m.Sign.Serial, Params: m.Sign.Params, Header: m.Sign.Header, Secrets: m.Sign.Secrets}
	}
	return in
}

// A Backlog counts the pending notifications of a merchant.
type Backlog struct {
	Pending int   `json:"pending" doc:"The newest 100 are counted."`
	More    bool  `json:"more" doc:"There are more."`
	Oldest  *Time `json:"oldest_overdue" format:"date-time" doc:"Due time of the one among them that has waited longest; null: none is overdue."`
}

// A ShownMerchantSign is a MerchantSign with masked secrets.
type ShownMerchantSign struct {
	Scheme  string        `json:"scheme"`
	Serial  string        `json:"serial,omitempty"`
	Params  string        `json:"params,omitempty"`
	Header  string        `json:"header,omitempty"`
	Secrets []string      `json:"secrets" nullable:"false" doc:"Signing secrets, the newest first: three stars and the last four characters. In an export, sealed:…."`
	Keys    []MerchantKey `json:"keys" nullable:"false" doc:"The same with their times."`
}

// A MerchantKey describes a secret without revealing it.
type MerchantKey struct {
	LastFour string `json:"last_four" doc:"Empty if the secret is so short that this would reveal too much of it."`
	MasterID string `json:"master_key" doc:"Id of the master key that seals it."`
	Added    Time   `json:"added" format:"date-time"`
	Until    *Time  `json:"until" format:"date-time" doc:"End of its use for signing; null: no end."`
}

// A RotateMerchant gives a merchant a new secret.
type RotateMerchant struct {
	Secret  string `json:"secret" minLength:"1" maxLength:"16384" doc:"The new key itself."`
	Overlap string `json:"overlap,omitempty" maxLength:"64" example:"24h" doc:"How long the present secrets go on signing, at most 90d; default 24h. standard_webhooks and t_v1 send all signatures in one header; the other schemes send one, of the newest secret at once."`
	Reason  string `json:"reason,omitempty" maxLength:"500"`
}

// A TestMerchant sends a test request to a merchant.
type TestMerchant struct {
	Queue  string `json:"queue,omitempty" maxLength:"128" doc:"A queue of kind notify; optional if there is only one."`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// A MerchantPage is a page of a list of merchants.
type MerchantPage struct {
	Merchants  []Merchant `json:"merchants" nullable:"false"`
	NextCursor string     `json:"next_cursor" doc:"Cursor of the next page; empty only at the end."`
}

// A MerchantBatch puts many merchants at once.
type MerchantBatch struct {
	Merchants []PutMerchant `json:"merchants" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun    bool          `json:"dry_run,omitempty" doc:"Dry run: nothing is changed."`
	Reason    string        `json:"reason,omitempty" maxLength:"500"`
}

// A MerchantBatched is the answer to a MerchantBatch: one result each, in order.
type MerchantBatched struct {
	Results []MerchantResult `json:"results" nullable:"false"`
}

// A MerchantResult is the result for one merchant of a batch.
type MerchantResult struct {
	MerchantNo string   `json:"merchant_no"`
	Status     int      `json:"status" doc:"201: created. 200: changed. 204: unchanged. Otherwise see error."`
	Error      *Problem `json:"error,omitempty"`
}

// A MerchantReseal is the result of sealing all secrets again.
type MerchantReseal struct {
	Examined   int    `json:"examined" doc:"Merchants and accounts."`
	Resealed   int    `json:"resealed" doc:"Those whose secrets are under the newest master key now."`
	Unreadable int    `json:"unreadable" doc:"Those whose secrets cannot be opened; they stay unchanged."`
	FirstError string `json:"first_error,omitempty"`
}

// MerchantStats are figures about a merchant's newest tasks.
type MerchantStats struct {
	MerchantNo  string         `json:"merchant_no"`
	Tasks       int            `json:"tasks" doc:"Number of newest tasks that were examined, at most 1,000, without orders."`
	More        bool           `json:"more" doc:"There are older tasks, which are not counted."`
	Since       *Time          `json:"since" format:"date-time" doc:"Creation time of the oldest of these tasks."`
	Pending     int            `json:"pending"`
	Succeeded   int            `json:"succeeded"`
	Failed      int            `json:"failed"`
	Cancelled   int            `json:"cancelled"`
	Overdue     int            `json:"overdue" doc:"Pending tasks."`
	Retrying    int            `json:"retrying" doc:"Pending tasks that were attempted before."`
	Oldest      *Time          `json:"oldest_overdue" format:"date-time" doc:"Due time of the task that has waited longest."`
	SuccessRate *float64       `json:"success_rate" doc:"Share of success among the attempts that succeeded or failed, 0 to 1; null: none did."`
	Failing     bool           `json:"failing" doc:"As for the merchant."`
	RecentRate  *float64       `json:"recent_success_rate" doc:"Share of accepted newest attempts, 0 to 1, among the newest 20 tasks that were attempted within a day; null: none was attempted."`
	Results     map[string]int `json:"results" doc:"Number of each result among the newest attempts of the tasks."`
	LastFailed  []Task         `json:"last_failed" nullable:"false" doc:"The ten newest tasks that failed, or whose newest attempt failed."`
}

func merchantPath(no string) string { return "/v1/merchants/" + escape(no) }

// PutMerchant creates or replaces a merchant; created reports which.
func (c *Client) PutMerchant(ctx context.Context, no string, in PutMerchant) (m *Merchant, created bool, err error) {
	return put[Merchant](ctx, c, http.MethodPut, merchantPath(no), in)
}

// PutMerchants puts up to 1,000 merchants. An invalid merchant does not affect the others.
func (c *Client) PutMerchants(ctx context.Context, in MerchantBatch) ([]MerchantResult, error) {
	var out MerchantBatched
	_, err := c.call(ctx, http.MethodPost, "/v1/merchants/batch", nil, in, &out)
	return out.Results, err
}

// Merchant reads a merchant.
func (c *Client) Merchant(ctx context.Context, no string) (*Merchant, error) {
	return one[Merchant](ctx, c, http.MethodGet, merchantPath(no), nil, nil)
}

// MerchantStats reads figures about a merchant's tasks.
func (c *Client) MerchantStats(ctx context.Context, no string) (*MerchantStats, error) {
	return one[MerchantStats](ctx, c, http.MethodGet, merchantPath(no)+"/stats", nil, nil)
}

// DeleteMerchant ends a merchant's registration.
func (c *Client) DeleteMerchant(ctx context.Context, no, reason string) error {
	return c.remove(ctx, merchantPath(no), reason)
}

// A MerchantSearch selects the merchants of a list.
type MerchantSearch struct {
	MerchantNo string // beginning of the number
	Name       string // beginning of the name, in upper or lower case
	Paused     bool   // only paused merchants
	State      string // only merchants that are failing, late or paused; empty: all
	Sealed     bool   // with sealed secrets, for an export; needs the role admin
	Limit      int    // 1 to 200; default 50
	Cursor     string // a page's NextCursor
}

// Merchants reads a page of merchants, ordered by name if the search has one, otherwise by number.
func (c *Client) Merchants(ctx context.Context, s MerchantSearch) (*MerchantPage, error) {
	q := search(map[string]string{"merchant_no": s.MerchantNo, "name": s.Name, "state": s.State, "cursor": s.Cursor}, s.Limit)
	if s.Paused {
		q.Set("paused", "true")
	}
	path := "/v1/merchants"
	if s.Sealed {
		path = "/v1/merchant-export"
	}
	return one[MerchantPage](ctx, c, http.MethodGet, path, q, nil)
}

// AllMerchants iterates over all merchants that match s, page by page, from its Cursor. It yields
// an error with a zero Merchant and ends.
func (c *Client) AllMerchants(ctx context.Context, s MerchantSearch) iter.Seq2[Merchant, error] {
	return pages(func(cursor string) (*MerchantPage, error) {
		page := s
		page.Cursor = cmp.Or(cursor, s.Cursor)
		return c.Merchants(ctx, page)
	}, func(p *MerchantPage) ([]Merchant, string) { return p.Merchants, p.NextCursor })
}

// RotateMerchant gives a merchant a new secret.
func (c *Client) RotateMerchant(ctx context.Context, no string, in RotateMerchant) (*Merchant, error) {
	return one[Merchant](ctx, c, http.MethodPost, merchantPath(no)+"/secrets", nil, in)
}

// PauseMerchant stops attempts of notifications to a merchant.
func (c *Client) PauseMerchant(ctx context.Context, no string, in Because) error {
	_, err := c.call(ctx, http.MethodPost, merchantPath(no)+"/pause", nil, in, nil)
	return err
}

// ResumeMerchant ends a merchant's pause.
func (c *Client) ResumeMerchant(ctx context.Context, no string, in Because) error {
	_, err := c.EndMerchantPause(ctx, no, in)
	return err
}

// EndMerchantPause ends a merchant's pause. It returns the merchant's number, or none if the
// merchant was not paused.
func (c *Client) EndMerchantPause(ctx context.Context, no string, in Because) ([]string, error) {
	return c.pausing(ctx, merchantPath(no)+"/resume", in)
}

// TestMerchant sends a test request to a merchant and returns its task.
func (c *Client) TestMerchant(ctx context.Context, no string, in TestMerchant) (*Task, error) {
	return one[Task](ctx, c, http.MethodPost, merchantPath(no)+"/test", nil, in)
}

// ResealMerchants seals all secrets, of merchants and accounts, under the newest master key.
func (c *Client) ResealMerchants(ctx context.Context, in Because) (*MerchantReseal, error) {
	return one[MerchantReseal](ctx, c, http.MethodPost, "/v1/merchants/reseal", nil, in)
}

package console

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman/client"
)

// merchantRows is the number of merchants on a page.
const merchantRows = 50

// A merchantsView is the list of merchants.
type merchantsView struct {
	*view
	Search client.MerchantSearch
	Rows   []client.Merchant
	Next   string // address of the next page; empty: this is the last
	First  string
}

func (q *request) merchantList() {
	in := q.r.URL.Query()
	v := &merchantsView{view: q.view("page.merchants"), Search: client.MerchantSearch{
		MerchantNo: bounded(strings.TrimSpace(in.Get("merchant_no")), 400), Name: bounded(strings.TrimSpace(in.Get("name")), 400), Limit: merchantRows}}
	values := url.Values{}
	for name, value := range map[string]string{"merchant_no": v.Search.MerchantNo, "name": v.Search.Name} {
		if value != "" {
			values.Set(name, value)
		}
	}
	after := in.Get("after")
	if after != "" {
		v.First = "/merchants?" + values.Encode()
	}
	var next string
	var err error
	if v.Rows, next, err = q.merchants.List(q.r.Context(), v.Search, after); err != nil {
		q.refuse(err)
		return
	}
	if next != "" {
		values.Set("after", next)
		v.Next = "/merchants?" + values.Encode()
	}
	q.render(http.StatusOK, "merchants", v)
}

// A merchantView is the page of one merchant.
type merchantView struct {
	*view
	Merchant client.Merchant
	Stats    client.MerchantStats
	Queues   []string // queues of kind notify, for a test notification
	Overlap  string
	Refused  string // which form was refused, and shows its error: rotate, delete or another; empty: none
	pauseForm
}

// merchantAddress returns the address of a merchant's page.
func merchantAddress(no string) string { return query("/merchants/show", "no", no) }

func (q *request) merchantPage() {
	q.showMerchant(http.StatusOK, q.r.URL.Query().Get("no"), pauseForm{})
}

func (q *request) showMerchant(status int, no string, form pauseForm) {
	m, err := q.merchants.Get(q.r.Context(), no)
	if err != nil {
		q.refuse(err)
		return
	}
	stats, err := q.merchants.Stats(q.r.Context(), no)
	if err != nil {
		q.refuse(err)
		return
	}
	v := &merchantView{view: q.view("page.merchant"), Merchant: m, Stats: stats, Queues: q.notifyQueues(), pauseForm: form}
	v.Overlap, v.Refused = cmp.Or(q.r.PostForm.Get("overlap"), "24h"), q.r.PostForm.Get("action")
	v.Title = bounded(plain(no), 40) + " · " + v.Title
	q.render(status, "merchant", v)
}

// notifyQueues returns the queues of kind notify.
func (q *request) notifyQueues() (names []string) {
	if q.queueNames == nil {
		return nil
	}
	for _, name := range q.queueNames() {
		if q.kinds == nil || q.kinds(name) == "notify" {
			names = append(names, name)
		}
	}
	return names
}

// Rate returns the share of succeeded tasks among the merchant's newest ended tasks, 0 to 1; −1: none
// ended.
func (v *merchantView) Rate() float64 {
	if v.Stats.SuccessRate == nil {
		return -1
	}
	return *v.Stats.SuccessRate
}

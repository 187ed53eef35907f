package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/engine/figures"
)

// merchantRows is the number of merchants on a page.
const merchantRows = 50

type merchantsView struct {
	*view
	Search client.MerchantSearch
	Rows   []merchantRow
	States []choice // quick filters
	Next   string   // address of the next page; empty: this is the last
	First  string
}

func (q *request) merchantList() error {
	in := q.r.URL.Query()
	v := &merchantsView{view: q.view("page.merchants"), Search: client.MerchantSearch{
		MerchantNo: bounded(strings.TrimSpace(in.Get("merchant_no")), 400), Name: bounded(strings.TrimSpace(in.Get("name")), 400), Limit: merchantRows}}
	if state := in.Get("state"); slices.Contains(troubles, state) {
		v.Search.State = state
	}
	here := []string{"merchant_no", v.Search.MerchantNo, "name", v.Search.Name}
	v.States = choices("/merchants", v.Search.State, here...)
	here = append(here, "state", v.Search.State)
	after := in.Get("after")
	if after != "" {
		v.First = query("/merchants", here...)
	}
	page, next, err := q.o.Merchants.List(q.r.Context(), v.Search, after)
	if err == nil {
		v.Rows, err = q.merchantRows(page)
	}
	if err != nil {
		return err
	}
	if next != "" {
		v.Next = query("/merchants", append(here, "after", next)...)
	}
	return q.render(http.StatusOK, "merchants", v)
}

// A merchantRow is a merchant in the list, with its attempts of the last hour.
type merchantRow struct {
	client.Merchant
	Hour  *figures.Recent // nil: no attempt is known
	Spark *spark          // nil: there was no attempt in the last hour
}

// merchantRows adds the last hour to a page of merchants.
func (q *request) merchantRows(page []client.Merchant) ([]merchantRow, error) {
	rows, ask := make([]merchantRow, len(page)), figures.RecentAsk{}
	for i := range page {
		rows[i].Merchant = page[i]
		ask.Merchants = append(ask.Merchants, page[i].MerchantNo)
	}
	if len(page) == 0 {
		return rows, nil
	}
	f, err := q.o.Engine.Figures(q.r.Context(), figures.Ask{Recent: &ask})
	now := time.Now()
	for i := range rows {
		if r := recentOf(f.RecentMerchants, rows[i].MerchantNo); r != nil {
			rows[i].Hour, rows[i].Spark = r, newSpark(r, now)
		}
	}
	return rows, err
}

func recentOf(all []figures.Recent, name string) *figures.Recent {
	if i := slices.IndexFunc(all, func(r figures.Recent) bool { return r.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// troubles are the states by which merchants and endpoints are filtered.
var troubles = []string{"failing", "late", "paused"}

// A choice is one of several links.
type choice struct {
	Name string // of its text
	To   string
	Is   bool // it is chosen
}

// choices returns the links of a quick filter, which keep the other values of the address.
func choices(path, chosen string, values ...string) []choice {
	all := []choice{{Name: "all", To: query(path, values...), Is: chosen == ""}}
	for _, state := range troubles {
		all = append(all, choice{Name: state, To: query(path, append([]string{"state", state}, values...)...), Is: chosen == state})
	}
	return all
}

type merchantView struct {
	*view
	Merchant client.Merchant
	Stats    client.MerchantStats
	Health   merchantRow
	Queues   []string // queues of kind notify, for a test notification
	Overlap  string
	Refused  string // which form was refused, and shows its error: rotate, delete or another; empty: none
	Gone     bool   // it was deleted while it was paused: it can only be resumed
	pauseForm
}

func merchantAddress(no string) string { return query("/merchants/show", "no", no) }

func (q *request) merchantPage() error {
	return q.showMerchant(http.StatusOK, q.r.URL.Query().Get("no"), pauseForm{})
}

func (q *request) showMerchant(status int, no string, form pauseForm) error {
	m, err := q.o.Merchants.Get(q.r.Context(), no)
	if paused := q.pauseOf(no); paused != nil && errors.Is(err, bellman.ErrNotFound) {
		v := &merchantView{view: q.view("page.merchant"), Merchant: client.Merchant{MerchantNo: no, Paused: paused}, Gone: true, pauseForm: form}
		v.Here = merchantAddress(no)
		v.Title = bounded(plain(no), 40) + " · " + v.Title
		return q.render(status, "merchant", v)
	}
	if err != nil {
		return err
	}
	stats, err := q.o.Merchants.Stats(q.r.Context(), no)
	if err != nil {
		return err
	}
	health, err := q.merchantRows([]client.Merchant{m})
	if err != nil {
		return err
	}
	v := &merchantView{view: q.view("page.merchant"), Merchant: m, Health: health[0], Stats: stats, Queues: q.queuesOf("notify"), pauseForm: form}
	v.Here = merchantAddress(no) // after a refusal the browser is at the address of the POST
	v.Overlap, v.Refused = cmp.Or(q.r.PostForm.Get("overlap"), "24h"), q.r.PostForm.Get("action")
	v.Title = bounded(plain(no), 40) + " · " + v.Title
	return q.render(status, "merchant", v)
}

// pauseOf returns the pause of a merchant, who need not be registered; nil: it is not paused.
func (c *Console) pauseOf(no string) *client.Pause {
	for _, p := range c.o.Engine.PausedMerchants() {
		if p.MerchantNo == no {
			return &client.Pause{At: client.At(p.At), Who: p.Who, Reason: p.Reason}
		}
	}
	return nil
}

func (c *Console) queuesOf(kind string) (names []string) {
	for _, name := range c.o.Queues() {
		if c.o.Kinds == nil || c.o.Kinds(name) == kind {
			names = append(names, name)
		}
	}
	return names
}

// Rate returns the share of succeeded tasks among the merchant's newest ended tasks, 0 to 1; −1:
// none ended.
func (v *merchantView) Rate() float64 {
	if v.Stats.SuccessRate == nil {
		return -1
	}
	return *v.Stats.SuccessRate
}

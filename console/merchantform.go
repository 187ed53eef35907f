package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// schemes are how what a merchant gets can be signed.
var schemes = []string{"standard_webhooks", "wechat_rsa", "md5_params", "hmac_sha256_params"}

// A merchantForm is the form that registers or changes a merchant.
type merchantForm struct {
	*view
	New                       bool
	In                        client.PutMerchant
	Scheme, Serial, Secrets   string // secrets: one a line; ***abcd is one that stays
	Concurrency, Rate, Reason string
	Wrong                     string
}

func (q *request) editMerchant() {
	no := q.r.URL.Query().Get("no")
	v := &merchantForm{New: no == ""}
	if no != "" {
		m, err := q.merchants.Get(q.r.Context(), no)
		if err != nil {
			q.refuse(err)
			return
		}
		v.In = putOf(&m)
		if v.In.Sign != nil {
			v.Scheme, v.Serial, v.Secrets = v.In.Sign.Scheme, v.In.Sign.Serial, strings.Join(v.In.Sign.Secrets, "\n")
		}
		if v.In.PerEndpoint != nil {
			v.Rate = v.In.PerEndpoint.Rate
			if n := v.In.PerEndpoint.Concurrency; n > 0 {
				v.Concurrency = strconv.Itoa(n)
			}
		}
	}
	q.showMerchantForm(http.StatusOK, v)
}

func (q *request) showMerchantForm(status int, v *merchantForm) {
	v.view = q.view(map[bool]string{true: "page.newmerchant", false: "page.editmerchant"}[v.New])
	q.render(status, "merchantform", v)
}

// putOf is what makes a merchant what it is; its secrets are as they may be seen, or
// sealed.
func putOf(m *client.Merchant) client.PutMerchant {
	in := client.PutMerchant{MerchantNo: m.MerchantNo, Name: m.Name, NotifyURL: m.NotifyURL, Schedule: m.Schedule, Success: m.Success, Timeout: m.Timeout}
	if m.Sign != nil {
		in.Sign = &client.MerchantSign{Scheme: m.Sign.Scheme, Serial: m.Sign.Serial, Secrets: m.Sign.Secrets}
	}
	if m.PerEndpoint != (client.MerchantLimits{}) {
		limits := m.PerEndpoint
		in.PerEndpoint = &limits
	}
	return in
}

// putMerchant registers or changes a merchant.
func (q *request) putMerchant() {
	in := q.r.PostForm
	get := func(name string) string { return strings.TrimSpace(in.Get(name)) }
	v := &merchantForm{
		New:    in.Get("new") != "",
		In:     client.PutMerchant{MerchantNo: get("merchant_no"), Name: get("name"), NotifyURL: get("notify_url"), Schedule: get("schedule"), Success: get("success"), Timeout: get("timeout")},
		Scheme: get("scheme"), Serial: get("serial"), Secrets: in.Get("secrets"), Concurrency: get("concurrency"), Rate: get("rate"), Reason: get("reason"),
	}
	err := v.complete()
	switch {
	case err == nil && !reasoned(v.Reason):
		err = errReason
	case err == nil && v.New:
		if _, missing := q.merchants.Get(q.r.Context(), v.In.MerchantNo); missing == nil {
			err = errThere
		}
	}
	if err == nil {
		_, _, err = q.merchants.Put(q.r.Context(), v.In, bellman.By{Who: q.visitor.Who, Reason: v.Reason})
	}
	if err != nil {
		status := 0
		status, v.Wrong = q.wrong(err)
		v.Secrets = withoutSecrets(v.Secrets) // none is ever sent back
		q.showMerchantForm(status, v)
		return
	}
	q.goTo(merchantAddress(v.In.MerchantNo) + "&done=put")
}

// complete reads what the form has as text.
func (v *merchantForm) complete() error {
	if v.In.MerchantNo == "" {
		return errMerchant
	}
	if v.Scheme != "" {
		v.In.Sign = &client.MerchantSign{Scheme: v.Scheme, Serial: v.Serial}
		for line := range strings.SplitSeq(strings.ReplaceAll(v.Secrets, "\r\n", "\n"), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				v.In.Sign.Secrets = append(v.In.Sign.Secrets, line)
			}
		}
	}
	if v.Concurrency == "" && v.Rate == "" {
		return nil
	}
	v.In.PerEndpoint = &client.MerchantLimits{Rate: v.Rate}
	if v.Concurrency != "" {
		n, err := strconv.Atoi(v.Concurrency)
		if err != nil || n < 0 {
			return errConcurrency
		}
		v.In.PerEndpoint.Concurrency = n
	}
	return nil
}

// withoutSecrets is what was typed, without the lines that are secrets.
func withoutSecrets(lines string) string {
	kept := slices.DeleteFunc(strings.Split(strings.ReplaceAll(lines, "\r\n", "\n"), "\n"), func(line string) bool {
		return !strings.HasPrefix(strings.TrimSpace(line), client.Masked)
	})
	return strings.Join(kept, "\n")
}

package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/account"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
)

type accountsView struct {
	*view
	Search client.AccountSearch
	Rows   []client.Account
	Next   string // address of the next page; empty: this is the last
	First  string
}

func (q *request) accountList() error {
	in := q.r.URL.Query()
	v := &accountsView{view: q.view("page.accounts"), Search: client.AccountSearch{
		Account: bounded(strings.TrimSpace(in.Get("account")), 400), Name: bounded(strings.TrimSpace(in.Get("name")), 400), Limit: merchantRows}}
	here := []string{"account", v.Search.Account, "name", v.Search.Name}
	var next string
	var err error
	after := in.Get("after")
	if v.Rows, next, err = q.o.Accounts.List(q.r.Context(), v.Search, after); err != nil {
		return err
	}
	if after != "" {
		v.First = query("/accounts", here...)
	}
	if next != "" {
		v.Next = query("/accounts", append(here, "after", next)...)
	}
	return q.render(http.StatusOK, "accounts", v)
}

func accountAddress(name string) string { return query("/accounts/show", "account", name) }

type accountView struct {
	*view
	Account client.Account
	Overlap string
	Serial  string // of the certificate of a new private key, as it was given
	Refused string // which form was refused: rotate or delete; empty: none
	Reason  string
	Wrong   string
}

func (q *request) accountPage() error {
	return q.showAccount(http.StatusOK, q.r.URL.Query().Get("account"), "")
}

func (q *request) showAccount(status int, name, wrong string) error {
	a, err := q.o.Accounts.Get(q.r.Context(), name)
	if err != nil {
		return err
	}
	in := q.r.PostForm
	v := &accountView{view: q.view("page.account"), Account: a, Overlap: cmp.Or(in.Get("overlap"), "24h"), Serial: in.Get("serial"), Refused: in.Get("action"), Reason: in.Get("reason"), Wrong: wrong}
	v.Here = accountAddress(name) // after a refusal the browser is at the address of the POST
	v.Title = bounded(plain(name), 40) + " · " + v.Title
	return q.render(status, "account", v)
}

// accountAction deletes an account or rotates its keys, and shows it.
func (q *request) accountAction() error {
	in := q.r.PostForm
	name, action := in.Get("account"), in.Get("action")
	to, err := q.onAccount(name, action, q.by(strings.TrimSpace(in.Get("reason"))))
	if err != nil {
		status, wrong := q.wrong(err)
		if q.keysGiven() { // keys are never sent back to the browser
			wrong += " " + q.visitor.lang.say("account.retype")
		}
		return q.showAccount(status, name, wrong)
	}
	return q.goDone(to, action)
}

func (q *request) onAccount(name, action string, by bellman.By) (to string, err error) {
	wrong := mistakes{unreasoned(by.Reason)}
	switch action {
	case "delete":
		if err := wrong.err(); err != nil {
			return "", err
		}
		return "/accounts", q.o.Accounts.Delete(q.r.Context(), name, by)
	case "rotate":
		overlap, err := schedule.ParseDuration(strings.TrimSpace(q.r.PostForm.Get("overlap")))
		if err != nil || overlap < 0 {
			wrong = append(wrong, registry.CheckOverlap(-1))
		}
		if err := wrong.err(); err != nil {
			return "", err
		}
		in := client.RotateAccount{AccountKeys: q.keys(nil), Serial: strings.TrimSpace(q.r.PostForm.Get("serial"))}
		_, err = q.o.Accounts.Rotate(q.r.Context(), name, in, overlap, by)
		return accountAddress(name), err
	}
	return "", errAction
}

// keys returns the keys of a form. present are the platform keys that stay beside a new one.
func (q *request) keys(present map[string]string) (k client.AccountKeys) {
	get := func(name string) string { return strings.TrimSpace(q.r.PostForm.Get(name)) }
	k = client.AccountKeys{
		PrivateKey: get("private_key"), APIv3Key: get("api_v3_key"), Certificate: get("certificate"), AlipayPublicKeys: secretsOf(get("alipay_public_keys")),
		AppAuthToken: get("app_auth_token"), AppCertificate: get("app_certificate"), RootCertificates: get("root_certificates"),
	}
	if id, key := get("platform_id"), get("platform_key"); id != "" || key != "" {
		k.PlatformKeys = map[string]string{id: key}
		for other, shown := range present {
			if other != id {
				k.PlatformKeys[other] = shown
			}
		}
	}
	return k
}

// An accountForm is the form that registers or changes an account. It never contains a key.
type accountForm struct {
	*view
	New    bool
	In     client.PutAccount
	Reason string
	Wrong  string
}

func (q *request) editAccount() error {
	name := q.r.URL.Query().Get("account")
	v := &accountForm{New: name == "", In: client.PutAccount{Channel: "wechatpay"}}
	if name != "" {
		a, err := q.o.Accounts.Get(q.r.Context(), name)
		if err != nil {
			return err
		}
		v.In = a.Wanted()
		v.In.Version = a.Version
	}
	return q.showAccountForm(http.StatusOK, v)
}

func (q *request) showAccountForm(status int, v *accountForm) error {
	v.view = q.view(map[bool]string{true: "page.newaccount", false: "page.editaccount"}[v.New])
	return q.render(status, "accountform", v)
}

// putAccount registers or changes an account.
func (q *request) putAccount() error {
	get := func(name string) string { return strings.TrimSpace(q.r.PostForm.Get(name)) }
	v := &accountForm{New: get("new") != "", Reason: get("reason"), In: client.PutAccount{
		Account: get("account"), Name: get("name"), Channel: get("channel"), URL: get("url"), MchID: get("mch_id"), SubMchID: get("sub_mch_id"),
		AppID: get("app_id"), SellerID: get("seller_id"), Serial: get("serial"), Rate: get("rate"), Version: get("version"),
	}}
	var present map[string]string
	if v.New {
		v.In.Version = registry.None
	} else if a, err := q.o.Accounts.Get(q.r.Context(), v.In.Account); err == nil {
		present = a.PlatformKeys
	}
	in := v.In
	in.AccountKeys = q.keys(present)
	err := unreasoned(v.Reason)
	if err == nil {
		_, _, err = q.o.Accounts.Put(q.r.Context(), account.Wanted{PutAccount: in}, q.by(v.Reason))
	}
	if err != nil {
		if invalid, is := errors.AsType[*bellman.Invalid](err); is {
			for i := range invalid.Fields {
				if f := &invalid.Fields[i]; f.Field == "rate" { // in other forms this field has another label
					f.Field = "account.rate"
				}
			}
		}
		status := 0
		status, v.Wrong = q.wrong(err)
		if v.New && errors.As(err, new(*registry.ChangedError)) {
			v.Wrong = q.visitor.lang.say("account.there")
		}
		if q.keysGiven() { // keys are never sent back to the browser
			v.Wrong += " " + q.visitor.lang.say("account.retype")
		}
		return q.showAccountForm(status, v)
	}
	return q.goDone(accountAddress(v.In.Account), "put")
}

// keysGiven reports whether the form contains a key.
func (q *request) keysGiven() bool {
	fields := []string{"private_key", "api_v3_key", "certificate", "platform_key", "alipay_public_keys", "app_auth_token", "app_certificate", "root_certificates"}
	return slices.ContainsFunc(fields, func(name string) bool { return q.r.PostForm.Get(name) != "" })
}

package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/merchant"
	"github.com/bellmanhq/bellman/internal/registry"
)

// A merchantForm is the form that registers or changes a merchant.
type merchantForm struct {
	*view
	New                       bool
	In                        client.PutMerchant
	Scheme, Serial, Secrets   string // one secret a line; ***abcd stands for a present one, which stays
	Params, Header            string
	Concurrency, Rate, Reason string
	Wrong                     string
	Now                       []field // fields that somebody else changed meanwhile
}

// formOf returns the form with a merchant's present values.
func formOf(m *client.Merchant) *merchantForm {
	v := &merchantForm{In: m.Wanted()}
	v.In.Version = m.Version
	if v.In.Sign != nil {
		v.Scheme, v.Serial, v.Params, v.Header = v.In.Sign.Scheme, v.In.Sign.Serial, v.In.Sign.Params, v.In.Sign.Header
		if shown := v.In.Sign.Secrets; len(slices.Compact(slices.Sorted(slices.Values(shown)))) == len(shown) {
			v.Secrets = strings.Join(shown, "\n")
		} // otherwise two look alike: an empty field keeps the present secrets
	}
	if v.In.PerEndpoint != nil {
		v.Rate = v.In.PerEndpoint.Rate
		if n := v.In.PerEndpoint.Concurrency; n > 0 {
			v.Concurrency = strconv.Itoa(n)
		}
	}
	return v
}

// fields returns the form's fields by the names of their labels.
func (v *merchantForm) fields() []field {
	return []field{
		{"merchant.name", v.In.Name}, {"merchant.url", v.In.NotifyURL}, {"merchant.sign", v.Scheme}, {"merchant.secrets", v.Secrets}, {"merchant.serial", v.Serial}, {"merchant.params", v.Params}, {"merchant.header", v.Header},
		{"field.schedule", v.In.Schedule}, {"field.success", v.In.Success}, {"field.timeout", v.In.Timeout},
		{"queue.concurrency", v.Concurrency}, {"queue.rate", v.Rate},
	}
}

// overtaken adds the changes that somebody else made to the merchant meanwhile. The input stays,
// and the next submission applies to the version now shown. It returns false if the merchant was
// deleted.
func (q *request) overtaken(v *merchantForm) bool {
	m, err := q.o.Merchants.Get(q.r.Context(), v.In.MerchantNo)
	if err != nil {
		return false
	}
	now := formOf(&m)
	typed := v.fields()
	for i, f := range now.fields() {
		if f.Value != typed[i].Value {
			v.Now = append(v.Now, f)
		}
	}
	v.In.Version = m.Version
	return true
}

func (q *request) editMerchant() error {
	no := q.r.URL.Query().Get("no")
	v := &merchantForm{New: no == ""}
	if no != "" {
		m, err := q.o.Merchants.Get(q.r.Context(), no)
		if err != nil {
			return err
		}
		v = formOf(&m)
	}
	return q.showMerchantForm(http.StatusOK, v)
}

func (q *request) showMerchantForm(status int, v *merchantForm) error {
	v.view = q.view(map[bool]string{true: "page.newmerchant", false: "page.editmerchant"}[v.New])
	return q.render(status, "merchantform", v)
}

// putMerchant registers or changes a merchant.
func (q *request) putMerchant() error {
	in := q.r.PostForm
	get := func(name string) string { return strings.TrimSpace(in.Get(name)) }
	v := &merchantForm{
		New:    in.Get("new") != "",
		In:     client.PutMerchant{MerchantNo: get("merchant_no"), Name: get("name"), NotifyURL: get("notify_url"), Schedule: get("schedule"), Success: get("success"), Timeout: get("timeout"), Version: get("version")},
		Scheme: get("scheme"), Serial: get("serial"), Params: get("params"), Header: get("header"), Secrets: strings.Join(secretsOf(in.Get("secrets")), "\n"), Concurrency: get("concurrency"), Rate: get("rate"), Reason: get("reason"),
	}
	if v.New {
		v.In.Version = registry.None
	}
	wrong := append(v.complete(), unreasoned(v.Reason))
	var err error
	if wrong.err() == nil {
		_, _, err = q.o.Merchants.Put(q.r.Context(), merchant.Wanted{PutMerchant: v.In}, q.by(v.Reason))
	} else {
		err = q.tryMerchant(v.In)
	}
	if err := append(wrong, q.refusals(err, v)...).err(); err != nil {
		status := 0
		if status, v.Wrong = q.wrong(err); errors.As(err, new(conflict)) {
			status = http.StatusConflict
		}
		if kept := withoutSecrets(v.Secrets); kept != v.Secrets { // secrets are never sent back to the browser
			v.Secrets = kept
			v.Wrong += " " + q.visitor.lang.say("merchant.retype")
		}
		return q.showMerchantForm(status, v)
	}
	return q.goDone(merchantAddress(v.In.MerchantNo), "put")
}

// A conflict says that a merchant changed since the form was shown; it is the name of the text that
// says how.
type conflict formError

func (c conflict) Error() string { return string(c) }
func (c conflict) Unwrap() error { return formError(c) }

// refusals returns the texts for an error of the registry: for a conflict a text of its own, and
// everything else that is wrong.
func (q *request) refusals(err error, v *merchantForm) []error {
	if !errors.Is(err, bellman.ErrConflict) {
		return []error{err}
	}
	var all []error
	switch {
	case v.New:
		all = append(all, conflict(errThere))
	case q.overtaken(v):
		all = append(all, conflict("merchant.overtaken"))
	default:
		all = append(all, err)
	}
	if changed, is := errors.AsType[*registry.ChangedError](err); is && len(changed.Also) > 0 {
		all = append(all, &bellman.Invalid{Fields: changed.Also})
	}
	return all
}

// tryMerchant returns what would be wrong with a merchant, and stores nothing.
func (q *request) tryMerchant(in client.PutMerchant) error {
	results, err := q.o.Merchants.Import(q.r.Context(), []merchant.Wanted{{PutMerchant: in}}, true, bellman.By{})
	if err == nil && len(results) == 1 {
		err = results[0].Err
	}
	return err
}

// complete parses the text fields of the form, and returns what is wrong with them.
func (v *merchantForm) complete() (wrong mistakes) {
	switch {
	case v.Scheme == "" && v.Secrets+v.Serial+v.Params+v.Header != "":
		wrong = append(wrong, errScheme) // without a scheme the secrets would be lost
	case v.Scheme != "":
		v.In.Sign = &client.MerchantSign{Scheme: v.Scheme, Serial: v.Serial, Params: v.Params, Header: v.Header}
		v.In.Sign.Secrets = secretsOf(v.Secrets)
	}
	if v.Concurrency == "" && v.Rate == "" {
		return wrong
	}
	v.In.PerEndpoint = &client.MerchantLimits{Rate: v.Rate}
	if v.Concurrency != "" {
		n, err := strconv.Atoi(v.Concurrency)
		if err != nil || n <= 0 {
			wrong, n = append(wrong, errConcurrency), 0
		}
		v.In.PerEndpoint.Concurrency = n
	}
	return wrong
}

// secretsOf returns the secrets of a field with one secret a line, or several lines for a PEM
// block. Browsers differ in line ends.
func secretsOf(lines string) (secrets []string) {
	inside := false // within a PEM block
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		switch {
		case inside:
			secrets[len(secrets)-1] += "\n" + line
		case line != "":
			secrets = append(secrets, line)
		}
		inside = strings.HasPrefix(line, "-----BEGIN ") || inside && !strings.HasPrefix(line, "-----END ")
	}
	return secrets
}

// withoutSecrets returns the input without the lines that are secrets.
func withoutSecrets(lines string) string {
	kept := slices.DeleteFunc(secretsOf(lines), func(line string) bool { return !strings.HasPrefix(line, client.Masked) })
	return strings.Join(kept, "\n")
}

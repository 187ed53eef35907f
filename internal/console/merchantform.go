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
)

// A merchantForm is the form that registers or changes a merchant.
type merchantForm struct {
	*view
	New                       bool
	In                        client.PutMerchant
	Scheme, Serial, Secrets   string // secrets: one a line; ***abcd is one that stays
	Concurrency, Rate, Reason string
	Wrong                     string
	Now                       []field // what is otherwise than it was sent, where somebody else was quicker
}

// formOf is the form as it shows a merchant.
func formOf(m *client.Merchant) *merchantForm {
	v := &merchantForm{In: m.Wanted()}
	v.In.Version = m.Version
	if v.In.Sign != nil {
		v.Scheme, v.Serial = v.In.Sign.Scheme, v.In.Sign.Serial
		if shown := v.In.Sign.Secrets; len(slices.Compact(slices.Sorted(slices.Values(shown)))) == len(shown) {
			v.Secrets = strings.Join(shown, "\n")
		} // else none stands for one, and all stay where none is given
	}
	if v.In.PerEndpoint != nil {
		v.Rate = v.In.PerEndpoint.Rate
		if n := v.In.PerEndpoint.Concurrency; n > 0 {
			v.Concurrency = strconv.Itoa(n)
		}
	}
	return v
}

// fields are what the form has, by the names of their labels.
func (v *merchantForm) fields() []field {
	return []field{
		{"merchant.name", v.In.Name}, {"merchant.url", v.In.NotifyURL}, {"merchant.sign", v.Scheme}, {"merchant.secrets", v.Secrets}, {"merchant.serial", v.Serial},
		{"field.schedule", v.In.Schedule}, {"field.success", v.In.Success}, {"field.timeout", v.In.Timeout},
		{"queue.concurrency", v.Concurrency}, {"queue.rate", v.Rate},
	}
}

// overtaken makes the form one that shows what somebody else made of the merchant: what
// was typed stays, and the next time it is sent it is about what is shown. Not so where it
// was deleted.
func (q *request) overtaken(v *merchantForm) bool {
	m, err := q.merchants.Get(q.r.Context(), v.In.MerchantNo)
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

func (q *request) editMerchant() {
	no := q.r.URL.Query().Get("no")
	v := &merchantForm{New: no == ""}
	if no != "" {
		m, err := q.merchants.Get(q.r.Context(), no)
		if err != nil {
			q.refuse(err)
			return
		}
		v = formOf(&m)
	}
	q.showMerchantForm(http.StatusOK, v)
}

func (q *request) showMerchantForm(status int, v *merchantForm) {
	v.view = q.view(map[bool]string{true: "page.newmerchant", false: "page.editmerchant"}[v.New])
	q.render(status, "merchantform", v)
}

// putMerchant registers or changes a merchant.
func (q *request) putMerchant() {
	in := q.r.PostForm
	get := func(name string) string { return strings.TrimSpace(in.Get(name)) }
	v := &merchantForm{
		New:    in.Get("new") != "",
		In:     client.PutMerchant{MerchantNo: get("merchant_no"), Name: get("name"), NotifyURL: get("notify_url"), Schedule: get("schedule"), Success: get("success"), Timeout: get("timeout"), Version: get("version")},
		Scheme: get("scheme"), Serial: get("serial"), Secrets: strings.Join(secretsOf(in.Get("secrets")), "\n"), Concurrency: get("concurrency"), Rate: get("rate"), Reason: get("reason"),
	}
	if v.New {
		v.In.Version = merchant.None
	}
	wrong := append(v.complete(), unreasoned(v.Reason))
	var err error
	if wrong.err() == nil {
		_, _, err = q.merchants.Put(q.r.Context(), merchant.Wanted{PutMerchant: v.In}, q.by(v.Reason))
	} else {
		err = q.tryMerchant(v.In)
	}
	if err := append(wrong, q.refusals(err, v)...).err(); err != nil {
		status := 0
		if status, v.Wrong = q.wrong(err); errors.As(err, new(conflict)) {
			status = http.StatusConflict
		}
		if kept := withoutSecrets(v.Secrets); kept != v.Secrets { // none is ever sent back
			v.Secrets = kept
			v.Wrong += " " + q.visitor.lang.say("merchant.retype")
		}
		q.showMerchantForm(status, v)
		return
	}
	q.goDone(merchantAddress(v.In.MerchantNo), "put")
}

// A conflict is that a merchant is another than somebody thought: the name of the text
// that says how.
type conflict formError

func (c conflict) Error() string { return string(c) }
func (c conflict) Unwrap() error { return formError(c) }

// refusals are what is told of an error of the registry: a merchant that is not as it was when
// the form was shown, in words of its own, and all that is wrong besides.
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
	if changed := new(merchant.ChangedError); errors.As(err, &changed) && len(changed.Also) > 0 {
		all = append(all, &bellman.Invalid{Fields: changed.Also})
	}
	return all
}

// tryMerchant says what would be wrong with a merchant that is not put.
func (q *request) tryMerchant(in client.PutMerchant) error {
	results, err := q.merchants.Import(q.r.Context(), []merchant.Wanted{{PutMerchant: in}}, true, bellman.By{})
	if err == nil && len(results) == 1 {
		err = results[0].Err
	}
	return err
}

// complete reads what the form has as text, and says what of it cannot be read.
func (v *merchantForm) complete() (wrong mistakes) {
	switch {
	case v.Scheme == "" && (v.Secrets != "" || v.Serial != ""):
		wrong = append(wrong, errScheme) // they would be forgotten
	case v.Scheme != "":
		v.In.Sign = &client.MerchantSign{Scheme: v.Scheme, Serial: v.Serial}
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

// secretsOf are the secrets of a field with one a line, or as many as a PEM block has; a
// browser ends lines in its own way.
func secretsOf(lines string) (secrets []string) {
	inside := false // a PEM block
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

// withoutSecrets is what was typed, without the lines that are secrets.
func withoutSecrets(lines string) string {
	kept := slices.DeleteFunc(secretsOf(lines), func(line string) bool { return !strings.HasPrefix(line, client.Masked) })
	return strings.Join(kept, "\n")
}

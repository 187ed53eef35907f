package console

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/registry"
	"github.com/bellmanhq/bellman/schedule"
)

// merchantAction performs a manual action on a merchant and shows the merchant.
func (q *request) merchantAction() error {
	in := q.r.PostForm
	no, action := in.Get("no"), in.Get("action")
	form := pauseForm{Name: no, Reason: strings.TrimSpace(in.Get("reason"))}
	if need := needed(action); !q.visitor.May(need) {
		return fail(http.StatusForbidden, "error.role", "role", string(need))
	}
	to, err := q.onMerchant(no, action, q.by(form.Reason))
	if errors.Is(err, bellman.ErrNotPaused) {
		action, err = "unpaused", nil
	}
	if err != nil {
		status := 0
		status, form.Wrong = q.wrong(err)
		return q.showMerchant(status, no, form)
	}
	q.needs.forget()
	return q.goDone(to, action)
}

// needed returns the role that an action on a merchant requires, as in the API.
func needed(action string) access.Role {
	switch action {
	case "rotate", "delete":
		return access.Admin
	}
	return access.Operate
}

// onMerchant performs an action on a merchant and returns the address to go to.
func (q *request) onMerchant(no, action string, by bellman.By) (to string, err error) {
	ctx, in := q.r.Context(), q.r.PostForm
	to = merchantAddress(no)
	wrong := mistakes{unreasoned(by.Reason)}
	var overlap time.Duration
	secret := strings.TrimSpace(in.Get("secret"))
	if action == "rotate" {
		if secret == "" {
			wrong = append(wrong, errSecret)
		}
		if overlap, err = schedule.ParseDuration(strings.TrimSpace(in.Get("overlap"))); err != nil || overlap < 0 {
			wrong = append(wrong, registry.CheckOverlap(-1))
		}
	}
	if wrong.err() != nil && action == "rotate" && secret != "" {
		wrong = append(wrong, q.trySecret(no, secret))
	}
	if err := wrong.err(); err != nil {
		return "", err
	}
	switch action {
	case "pause":
		return to, q.o.Merchants.Pause(ctx, no, by)
	case "resume":
		err := q.o.Merchants.Resume(ctx, no, by)
		if _, unknown := q.o.Merchants.Get(ctx, no); errors.Is(unknown, bellman.ErrNotFound) {
			to = "/merchants" // it was deleted while it was paused: without its pause it has no page
		}
		return to, err
	case "test":
		t, err := q.o.Merchants.Test(ctx, no, in.Get("queue"), by)
		if err != nil {
			return "", err
		}
		return "/tasks/" + t.ID.String(), nil
	case "rotate":
		_, err := q.o.Merchants.Rotate(ctx, no, secret, overlap, by)
		return to, err
	case "delete":
		return "/merchants", q.o.Merchants.Delete(ctx, no, by)
	}
	return "", errAction
}

// trySecret returns what is wrong with a new secret of a merchant; nil: nothing, or unknown.
func (q *request) trySecret(no, secret string) error {
	m, err := q.o.Merchants.Get(q.r.Context(), no)
	if err != nil || m.Sign == nil {
		return err
	}
	in := m.Wanted()
	in.Sign.Secrets = []string{secret}
	invalid := new(bellman.Invalid)
	if !errors.As(q.tryMerchant(in), &invalid) {
		return nil
	}
	bad := new(bellman.Invalid)
	for _, f := range invalid.Fields {
		if strings.HasPrefix(f.Field, "sign.secrets") {
			f.Field = "secret"
			bad.Fields = append(bad.Fields, f)
		}
	}
	return bad.Err()
}

package deliver

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
)

// A Sent is the request or message of one attempt, built again from its task and the rules that
// hold now. Nothing of a request is kept, so a change of the merchant, the queue or a secret since
// the attempt shows here.
type Sent struct {
	Method string // empty: a message to a broker
	URL    string
	Header http.Header // without the values of Signature
	Body   []byte

	Success string // the rule that judges the answer; empty for a broker

	Scheme    string   // that signs; empty: the request is not signed
	Signature []string // canonical names of the headers that hold the signature; none: the scheme writes it into the body or the query
	Signed    []byte   // the text that is signed, see [sign.Signer]
}

// Sent builds the request of an attempt that started at a time. hide replaces secrets in the query
// of the address; of the queue's own address, path and query are hidden as a whole. If hide is nil,
// nothing is hidden. An error says why an attempt could send nothing now. A signature has the time
// of the attempt's start; the attempt itself may have signed a second later.
func (h *Handler) Sent(ctx context.Context, task *bellman.Task, number int, at time.Time, hide func(query string) string) (Sent, error) {
	out := Sent{}
	var signer sign.Signer
	query := ""
	to, err := h.broker(task)
	switch {
	case err != nil:
		return out, err
	case to != nil:
		out.URL, signer = cmp.Or(task.URL, h.url), h.signer
	default:
		m, err := h.merchant(ctx, task)
		if err != nil {
			return out, err
		}
		a, own, err := h.address(task, &m)
		if err != nil {
			return out, err
		}
		if signer, err = h.signerOf(&m); err != nil {
			return out, err
		}
		judge, err := h.ruleOf(task, &m)
		if err != nil {
			return out, err
		}
		plain := *a.url
		query, plain.RawQuery = a.url.RawQuery, ""
		switch {
		case hide == nil:
		case own && (query != "" || pathOf(a.url) != "/"): // the address of a chat robot is a secret as a whole
			query, plain.Path, plain.RawPath = "", "/"+sign.Hidden, "/"+sign.Hidden
		default:
			query = hide(query)
		}
		out.Method, out.URL, out.Success = cmp.Or(task.Method, h.method), plain.String(), judge.String()
	}
	text := &text{Signer: signer, at: at}
	var instead sign.Signer // stays nil if nothing signs
	if signer != nil {
		instead, out.Scheme, out.Signature = text, signer.Scheme(), signer.Headers()
	}
	m, err := h.message(ctx, task, number, query, out.Method == http.MethodGet, instead)
	if err != nil {
		return out, err
	}
	if out.Method != "" && m.Header["User-Agent"] == nil {
		m.Header["User-Agent"] = h.client.agent
	}
	if m.Query != "" {
		out.URL += "?" + m.Query
	}
	out.Header, out.Body, out.Signed = m.Header, m.Body, text.signed
	return out, nil
}

// A text is a signer that records the text to be signed, and signs nothing.
type text struct {
	sign.Signer
	at     time.Time
	signed []byte
}

func (t *text) Sign(m *sign.Message) (err error) {
	m.Time = t.at
	t.signed, err = t.Text(m)
	return err
}

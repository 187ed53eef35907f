package deliver

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/coded"
	"github.com/bellmanhq/bellman/internal/field"
)

const maxHeaderBytes = 8 << 10 // of all names and values together

const wantMethod = "want POST, PUT, PATCH, GET or DELETE"

// Check fills in Method, Success and Endpoint. It returns an *bellman.Invalid that names every
// field with which no attempt could succeed: url, method, headers, headers.NAME, body, success. It
// includes a URL whose text the guard refuses. A host name is resolved at each attempt, not here.
//
// A task without a URL keeps it empty and goes to its queue's URL, so a change of the queue's URL
// applies to it.
func (h *Handler) Check(task *bellman.Task) error {
	bad := new(bellman.Invalid)
	if to, err := h.broker(task); to != nil {
		h.checkBroker(task, to, err, bad)
		h.checkHeader(task, h.signer, bad)
		h.checkSignature(task, nil, h.signer, bad)
		return bad.Err()
	}
	task.Method = cmp.Or(task.Method, h.method)
	if !isMethod(task.Method) {
		bad.Add("method", wantMethod)
	}
	if task.Method == http.MethodGet && len(task.Body) > 0 && !isForm(task) {
		bad.Note("body", coded.Errorf("task.get_body", "a GET has none but a form, which becomes the URL's query: put what it says into the URL's query, or want POST"))
	}
	m, signer, err := h.checkMerchant(task)
	if err != nil {
		return err
	}
	to, trusted, err := h.address(task, &m)
	switch {
	case err != nil && bellman.ToMerchant(task.Endpoint): // the task must not be lost, and the merchant may have an address later
	case err != nil:
		bad.Note("url", err)
	case !trusted:
		if r := to.refuse(&h.client.guard); r != nil {
			bad.Note("url", refused(r))
			err = r
		}
	}
	if task.Endpoint == "" {
		switch {
		case task.URL == "" && task.MerchantNo != "" && (m.URL != "" || h.merchants != nil && h.home == nil):
			task.Endpoint = bellman.MerchantEndpoint(task.MerchantNo)
		case err == nil:
			task.Endpoint = to.endpoint
		}
	}
	if task.Success == "" {
		task.Success = h.text
	} else if _, err := h.ruleOf(task, &Merchant{}); err != nil {
		bad.Add("success", strings.TrimPrefix(err.Error(), "rule: "))
	}
	h.checkHeader(task, signer, bad)
	if err == nil {
		h.checkSignature(task, &to, signer, bad)
	}
	return bad.Err()
}

// checkSignature adds the reason to bad if a task cannot be signed. to is its address; nil: the
// address is a broker's.
func (h *Handler) checkSignature(task *bellman.Task, to *address, signer sign.Signer, bad *bellman.Invalid) {
	if signer == nil {
		return
	}
	m, where := sign.Message{Header: h.header(task, "", 1, signer), Body: task.Body}, "body"
	if to != nil {
		m.Query = to.url.RawQuery
		if len(task.Body) == 0 {
			where = "url"
		}
	}
	if err := signer.Check(&m); err != nil {
		bad.Add(where, "cannot be signed: "+err.Error())
	}
}

// checkMerchant returns the merchant of a task, and its present signer. If the merchant cannot be
// read, that is an error, except for a task whose Endpoint is already its merchant's: such a task
// reports a result, and must not be lost.
func (h *Handler) checkMerchant(task *bellman.Task) (Merchant, sign.Signer, error) {
	m, err := h.merchant(context.Background(), task) // it bounds its time by itself
	if err != nil {
		if bellman.ToMerchant(task.Endpoint) {
			return Merchant{}, h.signer, nil
		}
		return m, nil, err
	}
	signer, err := h.signerOf(&m)
	if err != nil { // the key may be usable at the attempt
		return m, nil, nil
	}
	return m, signer, nil
}

func isMethod(m string) bool {
	switch m {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodGet, http.MethodDelete:
		return true
	}
	return false
}

func (h *Handler) checkHeader(task *bellman.Task, signer sign.Signer, bad *bellman.Invalid) {
	if len(task.Header) == 0 {
		return
	}
	if len(task.Header) > bellman.MaxHeaders {
		bad.Add("headers", "more than 64")
		return
	}
	bytes := 0
	seen := make(map[string]bool, len(task.Header))
	for _, name := range slices.Sorted(maps.Keys(task.Header)) {
		value := task.Header[name]
		bytes += len(name) + len(value)
		canonical := http.CanonicalHeaderKey(name)
		problem := field.Reserved(canonical)
		switch {
		case !field.IsName(name):
			name, problem = trim(name), "not a header's name: want letters, digits and hyphens"
		case problem != "":
		case signer != nil && slices.Contains(signer.Headers(), canonical):
			problem = "set by the signature"
		case seen[canonical]:
			problem = "stands there twice, in other letters"
		case !field.IsValue(value):
			problem = "its value has a control character, or white space at an end"
		}
		seen[canonical] = true
		if problem != "" {
			bad.Add("headers."+name, problem)
		}
	}
	if bytes > maxHeaderBytes {
		bad.Add("headers", "longer than 8 KiB together")
	}
}

// trim shortens a name for an error message.
func trim(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), 40)], "")
}

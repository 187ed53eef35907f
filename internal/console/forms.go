package console

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
)

// tokenField is the hidden field with the token of each form.
const tokenField = "token"

// maxForm is the largest form in bytes.
const maxForm = 64 << 10

// token returns the value that a visitor's forms must contain. It is derived from the id of the
// session, or from a cookie for visitors without one, so each visitor has another.
func (c *Console) token(of string) string {
	return base64.RawURLEncoding.EncodeToString(signed(c.o.Secret.Key(formPurpose), []byte(of)))
}

// visit returns the cookie of a visitor who is not signed in. With it the sign-in form has a token
// too.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) string {
	if value := c.cookie(r, visitCookie); len(value) == 43 {
		return value
	}
	value := random()
	c.setCookie(w, r, visitCookie, value, 0)
	return value
}

// readForm reads a form. Two of the forms contain a file.
func readForm(w http.ResponseWriter, r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		switch r.URL.Path {
		case importPath, importAccountPath:
			r.Body = http.MaxBytesReader(w, r.Body, maxImport+maxForm)
			return r.ParseMultipartForm(maxImport + maxForm)
		case reconcilesPath:
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(billWithin)) // the server's own limit is for small forms
			r.Body = http.MaxBytesReader(w, r.Body, maxBill+maxForm)
			return r.ParseMultipartForm(billInMemory)
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return r.ParseForm()
}

// sent reads the form of a request that changes something. It returns an error unless a page of
// this console sent it, by the browser's headers and the token.
func (c *Console) sent(w http.ResponseWriter, r *http.Request, v *visitor) error {
	refused := fail(http.StatusForbidden, "error.token")
	if err := c.foreign.Check(r); err != nil {
		return refused
	}
	err := readForm(w, r)
	if long, is := errors.AsType[*http.MaxBytesError](err); is {
		return fail(http.StatusRequestEntityTooLarge, "error.long", "most", sizeOf(long.Limit))
	}
	if err != nil || subtle.ConstantTimeCompare([]byte(r.PostForm.Get(tokenField)), []byte(v.Token)) != 1 {
		return refused
	}
	return nil
}

// sizeOf returns the largest size of what a form sends: of its file, if it has one.
func sizeOf(limit int64) string {
	if limit > maxForm {
		return fmt.Sprintf("%d MiB", (limit-maxForm)>>20)
	}
	return fmt.Sprintf("%d KiB", limit>>10)
}

// by returns the visitor and a reason, for an audit record.
func (q *request) by(reason string) bellman.By {
	return bellman.By{Who: q.visitor.Who, Reason: reason, From: q.visitor.From}
}

func (q *request) pathID() (bellman.ID, error) {
	id, err := bellman.ParseID(q.r.PathValue("id"))
	if err != nil {
		return id, fail(http.StatusNotFound, "error.not_found")
	}
	return id, nil
}

// An ending describes how a job or link is ended manually.
type ending struct {
	below string // prefix of the address of its page
	done  string // the message on its page afterwards

	show  func(status int, form pauseForm) error              // shows the form again, with the error
	ended func(bellman.ID) (bool, error)                      // whether it has ended already
	do    func(bellman.ID, bellman.By) (late bool, err error) // late: it ended by itself meanwhile
}

// end ends the object that the path names, with a reason, and redirects to its page; or it shows
// the form again. If the object has ended already, no reason is required.
func (q *request) end(e ending) error {
	id, err := q.pathID()
	if err != nil {
		return err
	}
	form := pauseForm{Reason: strings.TrimSpace(q.r.PostForm.Get("reason"))}
	late, err := e.ended(id)
	if err == nil && !late {
		if err = errReason; reasoned(form.Reason) {
			late, err = e.do(id, q.by(form.Reason))
		}
	}
	if err != nil {
		status := 0
		status, form.Wrong = q.wrong(err)
		return e.show(status, form)
	}
	if late {
		e.done = "over"
	}
	return q.goDone(e.below+id.String(), e.done)
}

package console

import (
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/bellmanhq/bellman"
)

// tokenField is the hidden field of each form.
const tokenField = "token"

// maxForm bounds a form that is sent here.
const maxForm = 64 << 10

// token is what the forms of somebody must carry: made of their session's id, or of
// the cookie that they have without one, so that it is another one for each.
func (c *Console) token(of string) string {
	return base64.RawURLEncoding.EncodeToString(signed(c.secret.Key(formPurpose), []byte(of)))
}

// visit is the cookie of somebody who is not signed in: with it, the form to sign
// in has a token as well.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) string {
	if value := c.cookie(r, visitCookie); len(value) == 43 {
		return value
	}
	value := random()
	c.setCookie(w, r, visitCookie, value, 0)
	return value
}

// readForm reads a form, which has a file in one place alone.
func readForm(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path == importPath && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		r.Body = http.MaxBytesReader(w, r.Body, maxImport+maxForm)
		return r.ParseMultipartForm(maxImport + maxForm)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return r.ParseForm()
}

// sent reads the form of a request that changes something, and reports whether it
// came from a page of ours: by the browser's own headers, and by the token.
func (c *Console) sent(w http.ResponseWriter, r *http.Request, v *visitor) bool {
	if err := c.foreign.Check(r); err != nil {
		return false
	}
	if err := readForm(w, r); err != nil {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(r.PostForm.Get(tokenField)), []byte(v.Token)) == 1
}

// by is the visitor with a reason, for an audit record.
func (q *request) by(reason string) bellman.By {
	return bellman.By{Who: q.visitor.Who, Reason: reason, From: q.visitor.From}
}

// pathID reads the id that the path names. It has answered if ok is false.
func (q *request) pathID() (id bellman.ID, ok bool) {
	id, err := bellman.ParseID(q.r.PathValue("id"))
	if err != nil {
		q.fail(http.StatusNotFound, "error.not_found")
	}
	return id, err == nil
}

// An ending is how something that has a page is ended by hand.
type ending struct {
	below string // the address that its page is below
	done  string // what its page says then

	show  func(status int, form pauseForm)                    // its form again, with what is wrong
	ended func(bellman.ID) (bool, error)                      // whether there is nothing to end any more
	do    func(bellman.ID, bellman.By) (late bool, err error) // late: it ended by itself meanwhile
}

// end ends what the path names, for a reason, and goes to its page, which says so; or
// shows the form again. What has ended already needs no reason to be left as it is.
func (q *request) end(e ending) {
	id, ok := q.pathID()
	if !ok {
		return
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
		e.show(status, form)
		return
	}
	if late {
		e.done = "over"
	}
	q.goDone(e.below+id.String(), e.done)
}

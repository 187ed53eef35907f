package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sleep"
	"github.com/bellmanhq/bellman/store"
)

// onceField is the hidden form field with the form's id, by which a repeated submission is
// recognized. The id is as old as the page. Forms that may be submitted twice without harm have
// none.
const onceField = "once"

// sentKind is the kind of the documents that record submitted forms. A document's name begins with
// the form's id, so the oldest are read first.
const sentKind = "console-sent"

const (
	formTime  = 24 * time.Hour         // a form expires this long after its page was made
	formAhead = 5 * time.Minute        // how far the clock of the node that made the page may be ahead of this node's
	doTime    = 30 * time.Second       // longest duration of a form's action
	sentLook  = 100 * time.Millisecond // how often a repeated submission checks the result of the first
	sweepRows = 100                    // expired documents that are looked for with each form
)

// A sentDoc records the result of a submitted form.
type sentDoc struct {
	At      time.Time `json:"at"`
	Address string    `json:"address,omitempty"` // where the browser was redirected; empty: in progress, or unknown
	Done    string    `json:"done,omitempty"`
}

// Once returns the id of the page's next form.
func (*view) Once() string { return bellman.NewID().String() }

// once serves a form that was not submitted before, on any node. A repeated submission is
// redirected to where the first one was, and changes nothing. A form that was refused may be
// submitted again.
func (q *request) once(serve func(*request) error) error {
	text := q.r.PostForm.Get(onceField)
	if text == "" {
		return serve(q)
	}
	id, err := bellman.ParseID(text)
	if age := time.Since(id.Time()); err != nil || age > formTime || age < -formAhead {
		return fail(http.StatusForbidden, "error.token")
	}
	for name := q.sentName(id); ; {
		err := q.claim(name)
		if err == nil {
			q.serveOnce(name, serve)
			return nil
		}
		var was sentDoc
		if errors.Is(err, bellman.ErrConflict) {
			was, err = q.sentBefore(name)
		}
		switch {
		case errors.Is(err, bellman.ErrNotFound): // the first submission was refused just now
			continue
		case err != nil:
			return err
		case was.Address != "" && was.Done != "":
			return q.sayDone(was.Address, "before")
		case was.Address != "":
			return q.goTo(was.Address)
		case time.Since(was.At) > doTime:
			return fail(http.StatusConflict, "error.sent")
		}
		if !sleep.For(q.r.Context(), sentLook) { // the browser has left
			return nil
		}
	}
}

// serveOnce serves a form that was claimed. A browser that submits the form again closes the first
// connection; the action goes on nevertheless.
func (q *request) serveOnce(name string, serve func(*request) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.r.Context()), doTime)
	defer cancel()
	q.r, q.sentAs = q.r.WithContext(ctx), name
	if err := serve(q); err != nil {
		q.refuse(err)
	}
	if q.status == 0 || q.status >= http.StatusInternalServerError { // the action was done, or may have been
		return
	}
	if err := q.o.Records.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: sentKind, Name: name}}}); err != nil {
		q.o.Log.Warn("console: a rejected form cannot be submitted again from its page", "err", err)
	}
}

// sentName returns the name under which a form is recorded: its id and a hash of its content. The
// same page submitted with other content is another form.
func (q *request) sentName(id bellman.ID) string {
	form := maps.Clone(q.r.PostForm)
	delete(form, tokenField)
	sum := signed(q.o.Secret.Key(sentPurpose), []byte(q.r.URL.Path+"?"+url.Values(form).Encode()))
	return id.String() + "." + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// claim records that a form is being processed. It returns bellman.ErrConflict if that is recorded
// already.
func (q *request) claim(name string) error {
	ctx := q.r.Context()
	text, err := json.Marshal(sentDoc{At: time.Now().UTC()})
	if err != nil {
		return err
	}
	b := &store.Batch{Docs: []store.Doc{{Kind: sentKind, Name: name, Value: text, Was: []byte{}}}}
	old, err := q.o.Records.Docs(ctx, store.DocFilter{Kind: sentKind}, sweepRows)
	if err != nil {
		return err
	}
	over := bellman.FirstID(time.Now().Add(-formTime - formAhead)).String()
	for _, d := range old {
		if d.Name < over {
			b.Docs = append(b.Docs, store.Doc{Kind: sentKind, Name: d.Name})
		}
	}
	return q.o.Records.Commit(ctx, b)
}

// sentBefore reads the result of a form; bellman.ErrNotFound: it was refused.
func (q *request) sentBefore(name string) (was sentDoc, err error) {
	doc, err := store.ReadDoc(q.r.Context(), q.o.Records, sentKind, name)
	if err != nil {
		return was, err
	}
	if err := json.Unmarshal(doc.Value, &was); err != nil {
		return was, fmt.Errorf("read what became of a form: %w", err)
	}
	return was, nil
}

// led records where a form was redirected, for repeated submissions.
func (q *request) led(address, done string) {
	if q.sentAs == "" {
		return
	}
	text, err := json.Marshal(sentDoc{time.Now().UTC(), address, done})
	if err == nil {
		err = q.o.Records.Commit(q.r.Context(), &store.Batch{Docs: []store.Doc{{Kind: sentKind, Name: q.sentAs, Value: text}}})
	}
	if err != nil { // the action was done nevertheless, and will not be repeated
		q.o.Log.Warn("console: the result of a form cannot be kept for a repeated submission", "err", err)
	}
}

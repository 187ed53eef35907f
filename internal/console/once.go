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
	"github.com/bellmanhq/bellman/store"
)

// onceField is the hidden field by which a form is known again: an id, as old as its
// page. Forms that change nothing when they are sent again have none.
const onceField = "once"

// sentKind is the kind of the documents that say which forms were sent. Their names
// begin with the forms' ids, so that they are read the oldest first.
const sentKind = "console-sent"

const (
	formTime  = 24 * time.Hour         // the forms of a page are out of date after this
	formAhead = 5 * time.Minute        // how far ahead of ours the clock of the node that made it may be
	doTime    = 30 * time.Second       // that what a form asks for may take
	sentLook  = 100 * time.Millisecond // how often it is looked what became of a form that is sent again
	sweepRows = 100                    // documents of forms out of date that are looked for with each form
)

// A sentDoc says what became of a form.
type sentDoc struct {
	At      time.Time `json:"at"`
	Address string    `json:"address,omitempty"` // where it led; empty: it is being done, or nobody knows
	Done    string    `json:"done,omitempty"`
}

// Once is what the next form of a page is known again by.
func (*view) Once() string { return bellman.NewID().String() }

// once serves a form that was not sent before, at whatever node. One that was leads
// where it led then, and does nothing. One that was refused may be sent again.
func (q *request) once(serve func(*request)) {
	text := q.r.PostForm.Get(onceField)
	if text == "" {
		serve(q)
		return
	}
	id, err := bellman.ParseID(text)
	if age := time.Since(id.Time()); err != nil || age > formTime || age < -formAhead {
		q.fail(http.StatusForbidden, "error.token")
		return
	}
	for name := q.sentName(id); ; {
		err := q.claim(name)
		if err == nil {
			q.serveOnce(name, serve)
			return
		}
		var was sentDoc
		if errors.Is(err, bellman.ErrConflict) {
			was, err = q.sentBefore(name)
		}
		switch {
		case errors.Is(err, bellman.ErrNotFound): // it was refused just now
			continue
		case err != nil:
			q.refuse(err)
			return
		case was.Address != "" && was.Done != "":
			q.sayDone(was.Address, "before")
			return
		case was.Address != "":
			q.goTo(was.Address)
			return
		case time.Since(was.At) > doTime:
			q.fail(http.StatusConflict, "error.sent")
			return
		}
		select {
		case <-time.After(sentLook):
		case <-q.r.Context().Done(): // nobody waits for it
			return
		}
	}
}

// serveOnce serves a form that was claimed. Whoever sends it again gives up this answer:
// it must not be broken off by that.
func (q *request) serveOnce(name string, serve func(*request)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.r.Context()), doTime)
	defer cancel()
	q.r, q.sentAs = q.r.WithContext(ctx), name
	serve(q)
	if q.status == 0 || q.status >= http.StatusInternalServerError { // it is done, or may be
		return
	}
	if err := q.records.Commit(ctx, &store.Batch{Docs: []store.Doc{{Kind: sentKind, Name: name}}}); err != nil {
		q.log.Warn("console: a rejected form cannot be submitted again from its page", "err", err)
	}
}

// sentName is the name of a form with what it says: what else is asked from the same
// page is another form. What it says cannot be found out from its name.
func (q *request) sentName(id bellman.ID) string {
	form := maps.Clone(q.r.PostForm)
	delete(form, tokenField)
	sum := signed(q.secret.Key(sentPurpose), []byte(q.r.URL.Path+"?"+url.Values(form).Encode()))
	return id.String() + "." + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// claim notes that a form is being done: bellman.ErrConflict where it is noted already.
func (q *request) claim(name string) error {
	ctx := q.r.Context()
	text, err := json.Marshal(sentDoc{At: time.Now().UTC()})
	if err != nil {
		return err
	}
	b := &store.Batch{Docs: []store.Doc{{Kind: sentKind, Name: name, Value: text, Was: []byte{}}}}
	old, err := q.records.Docs(ctx, store.DocFilter{Kind: sentKind}, sweepRows)
	if err != nil {
		return err
	}
	over := bellman.FirstID(time.Now().Add(-formTime - formAhead)).String()
	for _, d := range old {
		if d.Name < over {
			b.Docs = append(b.Docs, store.Doc{Kind: sentKind, Name: d.Name})
		}
	}
	return q.records.Commit(ctx, b)
}

// sentBefore reads what became of a form; bellman.ErrNotFound: it was refused.
func (q *request) sentBefore(name string) (was sentDoc, err error) {
	doc, err := store.ReadDoc(q.r.Context(), q.records, sentKind, name)
	if err != nil {
		return was, err
	}
	if err := json.Unmarshal(doc.Value, &was); err != nil {
		return was, fmt.Errorf("read what became of a form: %w", err)
	}
	return was, nil
}

// led notes where a form led, for who sends it again.
func (q *request) led(address, done string) {
	if q.sentAs == "" {
		return
	}
	text, err := json.Marshal(sentDoc{time.Now().UTC(), address, done})
	if err == nil {
		err = q.records.Commit(q.r.Context(), &store.Batch{Docs: []store.Doc{{Kind: sentKind, Name: q.sentAs, Value: text}}})
	}
	if err != nil { // it is done all the same, and will not be done again
		q.log.Warn("console: the result of a form cannot be kept for a repeated submission", "err", err)
	}
}

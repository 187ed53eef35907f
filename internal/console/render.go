package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed pages/*.html
var pageFiles embed.FS

// allLanguages are what readPages reads, once for all consoles of a process.
var allLanguages = sync.OnceValues(readPages)

// readPages reads every catalogue, and every page in each language.
func readPages() (map[string]*language, error) {
	all := make(map[string]*language, len(languages))
	for _, known := range languages {
		texts, err := readTexts(known.code)
		if err != nil {
			return nil, err
		}
		l := &language{code: known.code, tag: known.tag, texts: texts, pages: map[string]*template.Template{}}
		all[known.code] = l
		if english := all[languages[0].code]; l != english {
			l.faults, l.faultParts = faultTexts(english.texts, false), faultTexts(english.texts, true)
		}
	}
	// Parsed once; a copy for each language has its own functions.
	base, err := template.New("").Funcs(functions(all[languages[0].code])).ParseFS(pageFiles, "pages/layout.html", "pages/bare.html", "pages/part.*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "bare" || strings.HasPrefix(name, "part.") {
			continue
		}
		page, err := base.Clone()
		if err == nil {
			page, err = page.ParseFS(pageFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		for _, l := range all {
			own, err := page.Clone()
			if err != nil {
				return nil, err
			}
			l.pages[name] = own.Funcs(functions(l))
		}
	}
	return all, nil
}

// A request is one request for a page, and who makes it.
type request struct {
	*Console
	w       http.ResponseWriter
	r       *http.Request
	visitor *visitor

	sentAs string // the name of the form that is being done; empty: none that is known again
	status int    // of the page that answers; 0: none did yet
}

// A view is what every page has. Pages embed it.
type view struct {
	*visitor
	Lang    string // of the texts: what the page's lang says
	Code    string // en, zh
	Title   string
	Tab     string // the first part of the path: which tab is open
	Here    string // the page's own address
	Open    bool   // there are no keys
	Bulk    bool   // there are bulk resends
	Links   bool   // there are links for merchants
	Known   bool   // there is a registry of merchants
	Version string
	Query   string // what stands in the search box
	Done    string // what was just done; empty: nothing
	did     string // the name of that
}

// dones are what can have been done before a page is shown.
var dones = map[string]bool{"once": true, "restart": true, "cancel": true, "reschedule": true, "settle": true, "complete": true, "link": true, "revoke": true, "put": true, "rotate": true, "delete": true, "test": true,
	"pause": true, "resume": true, "resend": true, "stop": true, "over": true, "unpaused": true, "before": true}

// view is what a page with the title of this name has.
func (q *request) view(title string, values ...any) *view {
	first, _, _ := strings.Cut(strings.TrimPrefix(q.r.URL.Path, "/"), "/")
	v := &view{
		visitor: q.visitor, Lang: q.visitor.lang.tag, Code: q.visitor.lang.code,
		Title: q.visitor.lang.say(title, values...), Tab: first, Here: "/",
		Open: q.open(), Bulk: q.resends != nil, Links: q.links != nil, Known: q.merchants != nil, Version: q.version,
	}
	if q.r.Method == http.MethodGet {
		v.Here = q.r.URL.RequestURI()
		v.Query = bounded(strings.TrimSpace(q.r.URL.Query().Get("q")), 400)
		if v.did = q.did(); dones[v.did] {
			v.Done = q.visitor.lang.say("done." + v.did)
		}
	}
	return v
}

// render answers with a page. It is made as a whole first, so that what fails is
// not shown by half.
func (q *request) render(status int, name string, data any) {
	q.renderIn("layout.html", status, name, data)
}

// renderIn is render in another layout.
func (q *request) renderIn(layout string, status int, name string, data any) {
	var page bytes.Buffer
	q.status = status
	if err := q.visitor.lang.pages[name].ExecuteTemplate(&page, layout, data); err != nil {
		q.log.Error("console: a page could not be rendered", "page", name, "err", err)
		q.status = http.StatusInternalServerError
		http.Error(q.w, q.visitor.lang.say("error.inside"), http.StatusInternalServerError)
		return
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.w.WriteHeader(status)
	q.w.Write(page.Bytes()) // whoever is gone needs no answer
}

// goTo sends the browser to another page.
func (q *request) goTo(address string) {
	http.Redirect(q.w, q.r, address, http.StatusSeeOther)
}

// doneCookie says to the next page what was done just now, once: an address that said it
// would say it again to whoever it is sent to, of things that nobody did.
const (
	doneCookie = "bellman_done"
	doneTime   = time.Minute
)

// goDone is goTo after something was done, which that page says.
func (q *request) goDone(address, done string) {
	q.led(address, done)
	q.sayDone(address, done)
}

// sayDone is goDone after what was done before.
func (q *request) sayDone(address, done string) {
	q.setCookie(q.w, q.r, doneCookie, done+":"+url.QueryEscape(address), doneTime)
	q.goTo(address)
}

// did is what was done just before this page, which then forgets it. What a page asks
// for by itself says nothing of that.
func (q *request) did() string {
	done, address, _ := strings.Cut(q.cookie(q.r, doneCookie), ":")
	if address != url.QueryEscape(q.r.URL.RequestURI()) || q.r.Header.Get("HX-Request") != "" {
		return ""
	}
	q.setCookie(q.w, q.r, doneCookie, "", 0)
	return done
}

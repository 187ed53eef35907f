package console

import (
	"bytes"
	"embed"
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

// allLanguages is the result of readLanguages, which all consoles of a process share.
var allLanguages = sync.OnceValues(readLanguages)

// readLanguages reads every catalogue. A page is parsed when it is first shown, because all of them
// take more memory than most servers use otherwise.
func readLanguages() (map[string]*language, error) {
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, err
	}
	all := make(map[string]*language, len(languages))
	for _, known := range languages {
		texts, err := readTexts(known.code)
		if err != nil {
			return nil, err
		}
		l := &language{code: known.code, tag: known.tag, texts: texts, pages: map[string]func() *template.Template{}}
		all[known.code] = l
		l.faults, l.faultParts = noFaults, noFaults
		if english := all[languages[0].code]; l != english {
			l.faults = sync.OnceValue(func() []faultText { return faultTexts(english.texts, false) })
			l.faultParts = sync.OnceValue(func() []faultText { return faultTexts(english.texts, true) })
		}
		base := sync.OnceValue(func() *template.Template {
			return template.Must(template.New("").Funcs(functions(l)).ParseFS(pageFiles, "pages/layout.html", "pages/bare.html", "pages/part.*.html"))
		})
		for _, file := range names {
			name := strings.TrimSuffix(path.Base(file), ".html")
			if name == "layout" || name == "bare" || strings.HasPrefix(name, "part.") {
				continue
			}
			l.pages[name] = sync.OnceValue(func() *template.Template {
				return template.Must(template.Must(base().Clone()).ParseFS(pageFiles, file))
			})
		}
	}
	return all, nil
}

func noFaults() []faultText { return nil }

// A request is one request for a page, with its visitor.
type request struct {
	*Console
	w       http.ResponseWriter
	r       *http.Request
	visitor *visitor

	sentAs string // name under which the submitted form is recorded; empty: it is not recorded
	status int    // of the answer; 0: not answered yet
}

// A view has the fields that every page needs. Pages embed it: a linksView is a list of links, a
// linkView one of them.
type view struct {
	*visitor
	Lang     string // language of the texts, for the page's lang attribute
	Code     string // en or zh
	Title    string
	Tab      string // the first part of the path, which names the open tab
	Here     string // the page's address, or that of the page with the form that was refused
	Open     bool   // no keys are configured
	Bulk     bool   // bulk resends are available
	Bills    bool   // reconciliations are available
	Links    bool   // links for merchants are available
	Known    bool   // the registry of merchants is available
	Accounts bool   // the registry of accounts is available
	Version  string
	Path     string // of the request
	Period   period // the time range of the address
	Env      environment
	Begin    *beginning // on the pages of a server without any task; nil: it has tasks
	Recent   []string   // what this browser searched for, newest first
	Query    string     // content of the search box
	Done     string     // what was just done; empty: nothing
	did      string     // name of the text of Done
}

// An environment is what the top of each page says about the server.
type environment struct{ Name, Colour string }

// Tone returns the tone that the colour stands for.
func (e environment) Tone() string {
	return map[string]string{"blue": "wait", "green": "ok", "orange": "warn", "red": "bad"}[e.Colour]
}

// dones are the names of actions that the next page can report as done.
var dones = map[string]bool{"once": true, "restart": true, "cancel": true, "reschedule": true, "settle": true, "complete": true, "link": true, "revoke": true, "put": true, "rotate": true, "delete": true, "test": true,
	"pause": true, "resume": true, "resend": true, "asking": true, "comparing": true, "stop": true, "over": true, "unpaused": true, "before": true}

// view returns the common fields of a page whose title has this name.
func (q *request) view(title string) *view {
	first, _, _ := strings.Cut(strings.TrimPrefix(q.r.URL.Path, "/"), "/")
	v := &view{
		visitor: q.visitor, Lang: q.visitor.lang.tag, Code: q.visitor.lang.code,
		Title: q.visitor.lang.say(title), Tab: first,
		Path: q.r.URL.Path, Period: readPeriod(url.Values{}, time.Now()),
		Open: q.open(), Version: q.o.Version, Env: environment{q.o.Name, q.o.Colour},
		Bulk: q.o.Resends != nil, Bills: q.o.Reconciliations != nil, Links: q.o.Links != nil,
		Known: q.o.Merchants != nil, Accounts: q.o.Accounts != nil,
	}
	if q.visitor.Role != "" {
		v.Recent = q.recent()
		if first == "" || first == "tasks" {
			v.Begin = q.beginning()
		}
	}
	if q.r.Method == http.MethodGet {
		v.Here = q.r.URL.RequestURI()
		v.Period = readPeriod(q.r.URL.Query(), time.Now())
		v.Query = bounded(strings.TrimSpace(q.r.URL.Query().Get("q")), 400)
		if v.did = q.did(); dones[v.did] {
			v.Done = q.visitor.lang.say("done." + v.did)
		}
	} else { // the page of a form that was refused
		v.Here = q.cameFrom()
	}
	return v
}

// render answers with a page. The page is made completely before it is sent, so that an error does
// not leave half a page. It returns nil, as all do that write the answer: handlers end with them.
func (q *request) render(status int, name string, data any) error {
	return q.renderIn("layout.html", status, name, data)
}

// renderIn is render with another layout.
func (q *request) renderIn(layout string, status int, name string, data any) error {
	var page bytes.Buffer
	q.status = status
	if err := q.visitor.lang.pages[name]().ExecuteTemplate(&page, layout, data); err != nil {
		q.o.Log.Error("console: a page could not be rendered", "page", name, "err", err)
		q.status = http.StatusInternalServerError
		http.Error(q.w, q.visitor.lang.say("error.inside"), http.StatusInternalServerError)
		return nil
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.w.WriteHeader(status)
	q.w.Write(page.Bytes()) // an error means that the browser has left
	return nil
}

// goTo redirects the browser to another page.
func (q *request) goTo(address string) error {
	http.Redirect(q.w, q.r, address, http.StatusSeeOther)
	return nil
}

// doneCookie tells the next page once what was just done. An address with this message would show
// it to everybody who gets the address.
const (
	doneCookie = "bellman_done"
	doneTime   = time.Minute
)

// goDone is goTo after an action, which the next page reports.
func (q *request) goDone(address, done string) error {
	q.led(address, done)
	return q.sayDone(address, done)
}

// sayDone is goDone for an action of a repeated form.
func (q *request) sayDone(address, done string) error {
	q.setCookie(q.w, q.r, doneCookie, done+":"+url.QueryEscape(address), doneTime)
	return q.goTo(address)
}

// did returns what was done just before this page, and deletes the cookie. A page's own requests
// leave the cookie alone.
func (q *request) did() string {
	done, address, _ := strings.Cut(q.cookie(q.r, doneCookie), ":")
	if address != url.QueryEscape(q.r.URL.RequestURI()) || q.r.Header.Get("HX-Request") != "" {
		return ""
	}
	q.setCookie(q.w, q.r, doneCookie, "", 0)
	return done
}

package console

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
)

// A designView is the page that shows the design tokens and every component.
type designView struct {
	*view
	Groups   []tokenGroup
	Lines    []*timeline
	Spark    *spark
	Switches []choice
}

// A tokenGroup are tokens that belong together. Name is that of its text.
type tokenGroup struct {
	Name   string
	Tokens []designToken
}

// A designToken is one design token of tokens.css.
type designToken struct{ Name, Value string }

// Colour reports whether the token is a colour.
func (t designToken) Colour() bool { return strings.HasPrefix(t.Value, "light-dark(") }

// Type reports whether the token is a size of text.
func (t designToken) Type() bool { return strings.HasPrefix(t.Name, "--text-") && !t.Colour() }

// Length reports whether the token is another length.
func (t designToken) Length() bool { return !t.Type() && lengthToken.MatchString(t.Value) }

// tokenGroups are the names of the groups, in the order of tokens.css.
var tokenGroups = []string{"design.surfaces", "design.text", "design.accent", "design.meanings", "design.type", "design.space", "design.shape", "design.sizes"}

var (
	tokenGroupStart = regexp.MustCompile(`(?s)\n  /\*.*?\*/\n`)
	tokenLine       = regexp.MustCompile(`(?m)^  (--[a-z0-9-]+): (.*);$`)
	lengthToken     = regexp.MustCompile(`^[0-9.]+px$`)
)

// tokens are all tokens of the stylesheet.
var tokens = sync.OnceValue(func() (all []tokenGroup) {
	css, err := assets.ReadFile("assets/tokens.css")
	if err != nil {
		panic(err) // cannot happen: the file is embedded
	}
	_, block, _ := strings.Cut(string(css), ":root {")
	block, _, _ = strings.Cut(block, "\n}")
	for i, part := range tokenGroupStart.Split(block, -1)[1:] {
		g := tokenGroup{Name: tokenGroups[i]}
		for _, m := range tokenLine.FindAllStringSubmatch(part, -1) {
			g.Tokens = append(g.Tokens, designToken{m[1], m[2]})
		}
		all = append(all, g)
	}
	return all
})

// designPage shows the design tokens, and every component as the templates make it.
func (q *request) designPage() error {
	now := time.Now()
	v := &designView{
		view: q.view("page.design"), Groups: tokens(),
		Spark:    newSpark(sampleHour(now), now),
		Switches: []choice{{Name: "all", To: "/design", Is: true}, {Name: "failing", To: "/design"}, {Name: "paused", To: "/design"}},
	}
	task, log, planned := sampleTask(now)
	for _, width := range []float64{wideLine, phoneLine} {
		v.Lines = append(v.Lines, q.visitor.lang.line(width, task, log, nil, planned, false, now))
	}
	return q.render(http.StatusOK, "design", v)
}

// sampleTask is a notification that was refused twice, with its next attempts.
func sampleTask(now time.Time) (t *bellman.Task, log []bellman.Attempt, planned []time.Time) {
	began := now.Add(-50 * time.Second)
	t = &bellman.Task{ID: bellman.FirstID(began), Status: bellman.Status{Began: began, Attempts: 3}}
	for i, a := range []bellman.Attempt{{Result: bellman.Unreachable}, {Result: bellman.ErrorStatus, Status: 502}, {Result: bellman.Accepted, Status: 200}} {
		a.Number, a.Started = i+1, began.Add(time.Duration(i)*15*time.Second)
		log = append(log, a)
	}
	for _, after := range []time.Duration{2, 5, 10, 30, 60} {
		planned = append(planned, now.Add(after*time.Minute))
	}
	return t, log, planned
}

// sampleHour is an hour in which an endpoint stopped answering.
func sampleHour(now time.Time) *figures.Recent {
	r := &figures.Recent{}
	for m := range int64(60) {
		minute := figures.Minute{At: now.Unix()/60 - 59 + m, Attempts: uint32(20 + m%7)}
		if minute.Accepted = minute.Attempts; m > 45 {
			minute.Accepted = 0
		}
		r.Attempts, r.Accepted = r.Attempts+int64(minute.Attempts), r.Accepted+int64(minute.Accepted)
		r.Minutes = append(r.Minutes, minute)
	}
	return r
}

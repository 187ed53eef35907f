package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/store"
)

const (
	mostTyped  = 4                     // searches as one types that run at once; others wait
	typedTime  = 10 * time.Millisecond // how long one may search the newest tasks after its first reading
	typedRows  = 5                     // results of each group
	leastTyped = 2                     // characters of a text for which the newest tasks are searched
	namesAge   = 2 * time.Second       // how old the endpoints may be that searches compare with a text
)

// A typedView is what the search box offers while somebody types.
type typedView struct {
	*view
	Groups []typedGroup
	N      int // results
}

// A typedGroup is the results of one type.
type typedGroup struct {
	Name  string // of its text, below finds
	Finds []find
	Full  bool // there may be more
}

// A find is one result.
type find struct {
	Text    string
	Note    string // more about it
	Address string
}

// searchTyped returns what the search box offers while somebody types: recent searches if there is
// no text, or else what equals or begins with the text, by type. Its cost is bounded: the lookups
// use an index or the registries, and the newest tasks are searched for a short time. The box needs
// the script for it.
func (q *request) searchTyped() error {
	select {
	case q.typing <- struct{}{}:
		defer func() { <-q.typing }()
	case <-q.r.Context().Done(): // the text has changed
		return nil
	}
	text := strings.TrimSpace(q.r.URL.Query().Get("q"))
	v := &typedView{view: q.view("page.search")}
	switch {
	case text == "":
		for _, recent := range v.Recent {
			v.add("recent", find{recent, "", query("/search", "q", recent)})
		}
	case len(text) <= maxFilter:
		if err := q.typed(v, text); err != nil {
			return err
		}
	}
	return q.renderIn("part.finds", http.StatusOK, "search", v)
}

// add adds a result to a group, unless the group is full or has it.
func (v *typedView) add(group string, f find) {
	i := slices.IndexFunc(v.Groups, func(g typedGroup) bool { return g.Name == group })
	if i < 0 {
		i = len(v.Groups)
		v.Groups = append(v.Groups, typedGroup{Name: group})
	}
	g := &v.Groups[i]
	if most := max(typedRows, len(v.Recent)); len(g.Finds) < most && !slices.ContainsFunc(g.Finds, func(is find) bool { return is.Address == f.Address }) {
		g.Finds = append(g.Finds, f)
		g.Full = len(g.Finds) == typedRows && group != "recent"
		v.N++
	}
}

// typed adds the results of a text.
func (q *request) typed(v *typedView, text string) error {
	tasks, err := q.equal(text)
	if err != nil {
		return err
	}
	q.addTasks(v, tasks)
	names, err := q.namesWith(text)
	if err != nil {
		return err
	}
	for _, n := range names {
		v.add(typedNames[n.What], find{n.Name, n.Title, n.Address})
	}
	if len(tasks) > 0 || len(text) < leastTyped || hostOf(text) != "" {
		return nil
	}
	tasks, _, err = q.newestWith(text, typedRows, newSearch(typedTime))
	q.addTasks(v, tasks)
	return err
}

// typedNames are the groups of the names of a begun.
var typedNames = map[string]string{"field.merchant_no": "merchants", "field.account": "accounts", "field.queue": "queues", "col.endpoint": "endpoints"}

// equal returns the newest tasks that have a text as their id, order number or key.
func (q *request) equal(text string) (tasks []*bellman.Task, err error) {
	if id, err := bellman.ParseID(strings.ToLower(text)); err == nil {
		if t, err := q.o.Reader.Task(q.r.Context(), id); err == nil {
			return []*bellman.Task{t}, nil
		}
	}
	for _, f := range []store.Filter{{OrderNo: text}, {Key: text}} {
		found, _, err := q.o.Reader.List(q.r.Context(), f, bellman.ID{}, typedRows)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, found...)
	}
	return tasks, nil
}

// addTasks adds tasks as orders, as notices of a channel, or as other tasks.
func (q *request) addTasks(v *typedView, tasks []*bellman.Task) {
	lang := q.visitor.lang
	for _, r := range q.rows(tasks) {
		f := find{cmp.Or(r.OrderNo, r.Key, r.ID.String()), r.MerchantNo, "/tasks/" + r.ID.String()}
		switch {
		case r.Told != nil:
			f.Note = join(f.Note, lang.named("reason", r.Told.Result))
			v.add("notices", f)
		case r.Order != nil && r.Order.State != "" && !r.Order.Beside:
			f.Note, f.Address = join(f.Note, lang.named("order", r.Order.State)), orderAddress(r.MerchantNo, r.OrderNo)
			v.add("orders", f)
		case r.Poll != nil:
			f.Note = join(f.Note, lang.named("poll", r.Poll.State))
			v.add("tasks", f)
		default:
			f.Note = join(f.Note, r.Queue, lang.named("state", r.State.String()))
			v.add("tasks", f)
		}
	}
}

// join joins the texts that are not empty.
func join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " · ")
}

// endpointNames returns the endpoints of all nodes. Searches within a short time share one reading.
func (c *Console) endpointNames(ctx context.Context) ([]string, error) {
	return c.endpoints.get(ctx, namesAge, func(ctx context.Context) (names []string, err error) {
		all, err := c.o.Engine.Figures(ctx, figures.Ask{Endpoints: true})
		for i := range all.Endpoints {
			names = append(names, all.Endpoints[i].Endpoint)
		}
		return names, err
	})
}

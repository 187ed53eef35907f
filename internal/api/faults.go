package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// maxFaults bounds the wrong fields that one answer names.
const maxFaults = 50

// single is the place of a task that is not one of a batch.
const single = -1

// faults gathers what is wrong with one request, or one task of a batch.
type faults struct {
	at        int // the task's place in its batch, or single
	list      []client.Fault
	malformed string // why this is no JSON to rely on; empty: it is
}

// add notes a wrong field; the empty name is the whole.
func (f *faults) add(name, message string) {
	if len(f.list) >= maxFaults {
		return
	}
	location := f.whole()
	if len(f.list) > 0 && f.list[0].Location == location {
		return // what is no object at all lacks no fields
	}
	if name != "" {
		location += "." + name
	}
	f.list = append(f.list, client.Fault{Location: location, Message: message})
}

// whole is where the task, or the request, stands.
func (f *faults) whole() string {
	if f.at == single {
		return "body"
	}
	return "body.tasks[" + strconv.Itoa(f.at) + "]"
}

// has reports whether a field, or something in it, is known to be wrong already.
func (f *faults) has(name string) bool {
	at := f.whole() + "." + name
	return slices.ContainsFunc(f.list, func(e client.Fault) bool {
		rest, in := strings.CutPrefix(e.Location, at)
		return in && (rest == "" || rest[0] == '.')
	})
}

func (f *faults) unknown(name string) { f.add(cut(name), "there is no such field") }

func (f *faults) twice(name string) {
	f.malformed = "a field is given twice"
	f.add(name, "is given twice")
}

// text reads the text of a field where s stands.
func (f *faults) text(s *scanner, name string) (string, error) {
	text, err := s.text()
	if err == nil {
		return text, nil
	}
	if errors.Is(err, errHalf) {
		f.malformed = "a text is not whole"
		f.add(name, err.Error())
		return "", nil
	}
	return text, err
}

// take adds what the engine or a handler found in fields of which nothing is known
// to be wrong yet: what it says of the others may come of that.
func (f *faults) take(invalid *bellman.Invalid) {
	known := *f
	for _, e := range invalid.Fields {
		if field, _, _ := strings.Cut(e.Field, "."); !known.has(field) {
			f.add(e.Field, e.Problem)
		}
	}
}

// problem returns the answer to these faults, or nil if there are none.
func (f *faults) problem() *client.Problem {
	switch {
	case len(f.list) == 0:
		return nil
	case f.malformed != "":
		return newProblem(http.StatusBadRequest, "malformed JSON: "+f.malformed, f.list...)
	}
	return newProblem(http.StatusUnprocessableEntity, wrong(len(f.list)), f.list...)
}

// wrong says how many fields are wrong.
func wrong(n int) string {
	switch {
	case n == 1:
		return "a field is wrong"
	case n >= maxFaults:
		return fmt.Sprintf("%d fields or more are wrong", maxFaults)
	}
	return fmt.Sprintf("%d fields are wrong", n)
}

// cut bounds a name that is shown to the one who sent it.
func cut(name string) string {
	if len(name) <= 60 {
		return name
	}
	return fmt.Sprintf("%.60s…", name)
}

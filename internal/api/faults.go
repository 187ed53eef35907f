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
	"github.com/bellmanhq/bellman/internal/nearest"
)

// maxFaults is the largest number of wrong fields in one answer.
const maxFaults = 50

// single is the place of a task outside a batch.
const single = -1

// faults collects the mistakes of one request, or of one task of a batch.
type faults struct {
	at        int // the task's index in its batch, or single
	list      []client.Fault
	malformed string // why the JSON cannot be used; empty: it can
}

// add adds a wrong field; the empty name is the whole task or request.
func (f *faults) add(name, message string) {
	if len(f.list) >= maxFaults {
		return
	}
	location := f.whole()
	if len(f.list) > 0 && f.list[0].Location == location {
		return // a value that is no object lacks no fields
	}
	if name != "" {
		location += "." + name
	}
	f.list = append(f.list, client.Fault{Location: location, Message: message})
}

// whole returns the path of the task or request.
func (f *faults) whole() string {
	if f.at == single {
		return "body"
	}
	return "body.tasks[" + strconv.Itoa(f.at) + "]"
}

// has reports whether a field, or a part of it, is known to be wrong.
func (f *faults) has(name string) bool {
	at := f.whole() + "." + name
	return slices.ContainsFunc(f.list, func(e client.Fault) bool {
		rest, in := strings.CutPrefix(e.Location, at)
		return in && (rest == "" || rest[0] == '.')
	})
}

// unknown adds a field that does not exist, with the known name that it resembles.
func (f *faults) unknown(name string, known ...string) {
	message := "there is no such field"
	if near := nearest.Of(name[strings.LastIndexByte(name, '.')+1:], 2, known...); near != "" {
		message += ": want " + near + "?"
	}
	f.add(cut(name), message)
}

func (f *faults) twice(name string) {
	f.malformed = "a field is given twice"
	f.add(name, "is given twice")
}

// text reads the text of a field at s.
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

// take adds mistakes that the engine or a handler found, except in fields that are known to be
// wrong: those may be consequences.
func (f *faults) take(invalid *bellman.Invalid) {
	known := *f
	for _, e := range invalid.Fields {
		if field, _, _ := strings.Cut(e.Field, "."); !known.has(field) {
			f.add(e.Field, e.Problem)
		}
	}
}

// problem returns the answer with these mistakes, or nil if there are none.
func (f *faults) problem() *client.Problem {
	switch {
	case len(f.list) == 0:
		return nil
	case f.malformed != "":
		return newProblem(http.StatusBadRequest, "malformed JSON: "+f.malformed, f.list...)
	}
	return newProblem(http.StatusUnprocessableEntity, wrong(len(f.list)), f.list...)
}

// wrong returns a text with the number of wrong fields.
func wrong(n int) string {
	switch {
	case n == 1:
		return "a field is wrong"
	case n >= maxFaults:
		return fmt.Sprintf("%d fields or more are wrong", maxFaults)
	}
	return fmt.Sprintf("%d fields are wrong", n)
}

// cut shortens a name that is shown to its sender.
func cut(name string) string {
	if len(name) <= 60 {
		return name
	}
	return fmt.Sprintf("%.60s…", name)
}

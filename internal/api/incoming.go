package api

import (
	"cmp"
	"errors"
	"net/http"
	"sync"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// Task parses the JSON of a task like POST /v1/tasks, without adding it. queue and key are
// defaults; the default key of an order is its merchant's number and its own. The error lists all
// mistakes; it is a
// *[source.Later] if it is not about the text. Task keeps no reference to text.
func (a *API) Task(text []byte, queue, key string) (*bellman.Task, error) {
	if len(text) > maxJSON {
		return nil, told(tooLarge("message", maxJSON))
	}
	o := asked.Get().(*wanted)
	defer func() {
		*o = wanted{}
		asked.Put(o)
	}()
	if err := decodeTask(text, o); err != nil {
		return nil, told(malformed(err))
	}
	o.in.Queue = cmp.Or(o.in.Queue, queue)
	if kind := a.kindOf(o.in.Queue); kind != "order" && kind != "poll" {
		o.in.Key = cmp.Or(o.in.Key, key)
	}
	t, refused := a.ask(&o.in, &o.faults)
	switch {
	case refused != nil && refused.Status >= http.StatusInternalServerError: // such as a merchant that cannot be read
		return nil, &source.Later{Err: told(refused)}
	case refused != nil:
		return nil, told(refused)
	}
	return t, nil
}

// asked are reused, because messages come at ten thousand a second.
var asked = sync.Pool{New: func() any { return new(wanted) }}

// told returns the text of a problem, for callers without HTTP.
func told(p *client.Problem) error {
	text := p.Detail
	for _, f := range p.Errors {
		text += "; " + f.Location + ": " + f.Message
	}
	return errors.New(text)
}

package api

import (
	"cmp"
	"errors"
	"sync"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
)

// Task makes a task of its JSON as POST /v1/tasks does, without adding it. Where it
// names no queue it is of queue, and where it has no key, of key; an order without
// one has its merchant's and its own number. The error says everything that is wrong
// with it. It keeps nothing of text.
func (a *API) Task(text []byte, queue, key string) (*bellman.Task, error) {
	if len(text) > a.maxJSON() {
		return nil, told(tooLarge("message", a.maxJSON()))
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
	if a.kindOf(o.in.Queue) != "order" {
		o.in.Key = cmp.Or(o.in.Key, key)
	}
	t, refused := a.ask(&o.in, &o.faults)
	if refused != nil {
		return nil, told(refused)
	}
	return t, nil
}

// asked are what messages ask for, which come by the ten thousand a second.
var asked = sync.Pool{New: func() any { return new(wanted) }}

// told is a problem as text, for who asked for nothing over HTTP.
func told(p *client.Problem) error {
	text := p.Detail
	for _, f := range p.Errors {
		text += "; " + f.Location + ": " + f.Message
	}
	return errors.New(text)
}

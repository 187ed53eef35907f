package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/engine/figures"
	"github.com/bellmanhq/bellman/internal/api"
	"github.com/bellmanhq/bellman/internal/brokers"
	"github.com/bellmanhq/bellman/internal/brokers/nats"
	"github.com/bellmanhq/bellman/internal/brokers/rabbitmq"
	"github.com/bellmanhq/bellman/internal/brokers/source"
	"github.com/bellmanhq/bellman/internal/config"
)

// openConnections makes the publishers of the configured brokers. They connect later, so a broker
// that is down does not delay the start.
func (s *Server) openConnections(c *config.Config) (wrong config.Problems) {
	s.connections = make(map[string]deliver.Connection, len(c.Connections))
	for _, connection := range c.Connections {
		kind, url, err := connection.Resolve()
		var to brokers.Connection
		if err == nil {
			to, err = brokers.Open(kind, brokers.Options{URL: url, Client: s.known(), CA: connection.CA, Credentials: connection.Credentials})
		}
		if err != nil {
			wrong = append(wrong, c.Refused("connections."+connection.Name, err)...)
			continue
		}
		s.connections[connection.Name], s.senders = to, append(s.senders, to)
	}
	return wrong
}

// known is the name of this node in the broker's own tools.
func (s *Server) known() string { return strings.TrimSpace("bellman " + s.config.Node) }

// openSources makes the sources. They connect later.
func (s *Server) openSources(c *config.Config, ready front) error {
	connections := make(map[string]config.Connection, len(c.Connections))
	for _, connection := range c.Connections {
		connections[connection.Name] = connection
	}
	for i := range c.Sources {
		from := &c.Sources[i]
		kind, url, err := connections[from.Connection].Resolve()
		switch {
		case err != nil:
			return &ConfigError{c.Refused("connections."+from.Connection, err).Err()}
		case kind != from.Kind():
			return &ConfigError{fmt.Errorf("sources[%d]: connection %s is of another kind of broker", i, from.Connection)}
		}
		o := source.Options{
			Name:   from.Name(),
			Broker: s.broker(from, url, connections[from.Connection]),
			Tasks:  arriving{ready, s.api},
			Into:   from.Into,
			Logger: s.log,
		}
		if s.traces != nil {
			o.Tracer = s.traces
		}
		if from.Map != nil {
			if o.Mapping, err = source.CompileMapping(from.Map); err != nil {
				return &ConfigError{fmt.Errorf("sources[%d]: %w", i, err)}
			}
		}
		s.sources = append(s.sources, source.New(o))
	}
	return nil
}

// broker returns the broker from which a source reads.
func (s *Server) broker(from *config.Source, url string, c config.Connection) source.Broker {
	if from.Kind() == config.NATS {
		return &nats.Stream{
			URL: url, Access: nats.Access{CA: c.CA, Credentials: c.Credentials}, Name: from.Stream, Durable: from.Durable,
			Subjects: from.Subjects, DeadLetter: from.DeadLetter, AsItIs: from.AsItIs, MakeDead: from.MakeDead, Prefetch: from.Prefetch, Client: s.known(),
		}
	}
	q := &rabbitmq.Queue{
		URL: url, Name: from.Queue, DeadLetter: from.DeadLetter, AsItIs: from.AsItIs, MakeDead: from.MakeDead,
		Prefetch: from.Prefetch, Client: s.known(),
	}
	for _, b := range from.Bind {
		q.Bind = append(q.Bind, rabbitmq.Binding(b))
	}
	return q
}

// take runs the sources until ctx ends and their received messages are stored.
func (s *Server) take(ctx context.Context) {
	var running sync.WaitGroup
	for _, from := range s.sources {
		running.Go(func() { from.Run(ctx) })
	}
	running.Wait()
}

// sourceInfos describes the sources, in the order of the configuration.
func (s *Server) sourceInfos() []source.Info {
	infos := make([]source.Info, len(s.sources))
	for i, from := range s.sources {
		infos[i] = from.Info()
	}
	return infos
}

// arriving adds messages as tasks, like creates over HTTP. But a received message is never rejected
// for overload.
type arriving struct {
	front
	api *api.API
}

func (a arriving) Task(text []byte, queue, key string) (*bellman.Task, error) {
	return a.api.Task(text, queue, key)
}

// Closed returns why intake is closed, by the measurement that also rejects creates over HTTP, and
// whether the store accepts anything at all.
func (a arriving) Closed(ctx context.Context) string {
	if err := a.Ready(ctx); err != nil {
		if errors.Is(err, bellman.ErrClosed) {
			return "stopping"
		}
		return err.Error()
	}
	return shutBy(a.Intake())
}

// shutBy returns why intake is closed; empty if it is open. Tasks are counted only as far as needed
// to know that.
func shutBy(i figures.Intake) string {
	switch {
	case i.Open:
		return ""
	case i.HeapHigh > 0 && (i.Heap > i.HeapHigh || i.Waiting < i.Low):
		return fmt.Sprintf("overloaded: %d MiB in the heap, and flow.heap is %d; it goes on below %d", i.Heap>>20, i.HeapHigh>>20, i.HeapHigh/8*7>>20)
	default:
		return fmt.Sprintf("overloaded: at least %d tasks wait, and flow.high is %d; it goes on below %d", i.Waiting, i.High, i.Low)
	}
}

// Package brokers lists the brokers that bellman sends to. "Add a scheme" in deliver/DESIGN.md says
// how to add one.
package brokers

import (
	"fmt"
	"slices"

	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/brokers/nats"
	"github.com/bellmanhq/bellman/internal/brokers/rabbitmq"
)

// A Connection is a [deliver.Connection] that holds resources until it is closed.
type Connection interface {
	deliver.Connection
	Close()
}

// Options describe how to reach one broker.
type Options struct {
	URL         string // of the server, with user and password
	Client      string // shown to the broker's operator
	CA          string // a PEM file of certificate authorities; empty: the system's
	Credentials string // a file with the client's credentials; empty: none
}

// A kind is one kind of broker.
type kind struct {
	scheme *deliver.Scheme
	urls   []string // the schemes of the URLs of its servers
	open   func(Options) Connection
}

// kinds is never changed.
var kinds = []kind{
	{rabbitmq.Scheme, []string{"amqp", "amqps"}, func(o Options) Connection { return rabbitmq.NewSender(o.URL, o.Client) }},
	{nats.Scheme, []string{"nats", "tls"}, func(o Options) Connection {
		return nats.NewSender(o.URL, o.Client, nats.Access{CA: o.CA, Credentials: o.Credentials})
	}},
}

// Schemes are the address schemes of all brokers. They are never changed.
var Schemes = func() (all deliver.Schemes) {
	for _, k := range kinds {
		all = append(all, k.scheme)
	}
	return all
}()

// Kind returns the name of the broker kind that serves a URL scheme, which is also the name of its
// [deliver.Scheme]; empty: there is none.
func Kind(urlScheme string) string {
	for _, k := range kinds {
		if slices.Contains(k.urls, urlScheme) {
			return k.scheme.Name
		}
	}
	return ""
}

// Open returns a connection to a broker. It connects when something is sent, so an unreachable broker is no
// error.
func Open(name string, o Options) (Connection, error) {
	for _, k := range kinds {
		if k.scheme.Name == name {
			return k.open(o), nil
		}
	}
	return nil, fmt.Errorf("no broker is called %.40q", name)
}

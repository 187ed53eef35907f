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

// A Kind is one kind of broker. Its name in the code is that of its Scheme.
type Kind struct {
	Scheme  *deliver.Scheme // of the addresses of tasks
	Name    string          // for people: RabbitMQ
	System  string          // messaging.system of the semantic conventions of OpenTelemetry: rabbitmq
	URLs    []string        // the schemes of the URLs of its servers
	Server  string          // the form of such a URL, for errors: amqp://USER:PASSWORD@HOST:5672/VHOST
	Several bool            // a URL may name several servers, with commas between
	Fields  []string        // the fields of a connection that open uses, beside url: ca, credentials

	open func(Options) Connection
}

// Kinds are all kinds of brokers. They are never changed.
var Kinds = []Kind{{
	Scheme: rabbitmq.Scheme, Name: "RabbitMQ", System: "rabbitmq",
	URLs: []string{"amqp", "amqps"}, Server: "amqp://USER:PASSWORD@HOST:5672/VHOST",
	Fields: []string{"ca"}, // config writes it into the URL
	open:   func(o Options) Connection { return rabbitmq.NewSender(o.URL, o.Client) },
}, {
	Scheme: nats.Scheme, Name: "NATS", System: "nats",
	URLs: []string{"nats", "tls"}, Server: "nats://HOST:4222", Several: true,
	Fields: []string{"ca", "credentials"},
	open: func(o Options) Connection {
		return nats.NewSender(o.URL, o.Client, nats.Access{CA: o.CA, Credentials: o.Credentials})
	},
}}

// Schemes are the address schemes of all kinds. They are never changed.
var Schemes = func() (all deliver.Schemes) {
	for i := range Kinds {
		all = append(all, Kinds[i].Scheme)
	}
	return all
}()

// KindOf returns the kind whose [deliver.Scheme] has a name; nil: there is none.
func KindOf(scheme string) *Kind {
	return find(func(k *Kind) bool { return k.Scheme.Name == scheme })
}

// KindOfServer returns the kind whose servers have URLs of a scheme; nil: there is none.
func KindOfServer(scheme string) *Kind {
	return find(func(k *Kind) bool { return slices.Contains(k.URLs, scheme) })
}

func find(is func(*Kind) bool) *Kind {
	for i := range Kinds {
		if is(&Kinds[i]) {
			return &Kinds[i]
		}
	}
	return nil
}

// Open returns a connection to a broker of the kind whose scheme has a name. It connects when
// something is sent, so an unreachable broker is no error.
func Open(scheme string, o Options) (Connection, error) {
	k := KindOf(scheme)
	if k == nil {
		return nil, fmt.Errorf("no broker is called %.40q", scheme)
	}
	return k.open(o), nil
}

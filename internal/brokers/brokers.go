// Package brokers lists the brokers that bellman sends to. To add one, write a package beside
// rabbitmq with a [deliver.Scheme] and a [deliver.Connection], name its scheme here, and open its
// connections in package server.
package brokers

import (
	"github.com/bellmanhq/bellman/deliver"
	"github.com/bellmanhq/bellman/internal/brokers/nats"
	"github.com/bellmanhq/bellman/internal/brokers/rabbitmq"
)

// Schemes are the addresses of brokers. Nobody changes them.
var Schemes = deliver.Schemes{rabbitmq.Scheme, nats.Scheme}

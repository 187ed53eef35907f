package rabbitmq

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman/deliver"
)

// Scheme is the address scheme of RabbitMQ: amqp://CONNECTION/EXCHANGE/ROUTINGKEY. An empty
// exchange is the default one, which routes to the queue of the key's name.
var Scheme = &deliver.Scheme{
	Name:  "amqp",
	Form:  "amqp://CONNECTION/EXCHANGE/ROUTINGKEY",
	Check: func(path string) error { _, _, err := routeOf(path); return err },
}

// routeOf parses the path of an address.
func routeOf(path string) (exchange, key string, err error) {
	exchange, key, both := strings.Cut(path, "/")
	if !both {
		return "", "", errors.New("names no routing key: want amqp://CONNECTION/EXCHANGE/ROUTINGKEY, or amqp://CONNECTION//QUEUE")
	}
	if exchange, err = url.PathUnescape(exchange); err == nil {
		key, err = url.PathUnescape(key)
	}
	switch {
	case err != nil:
		return "", "", errors.New("its exchange or routing key cannot be read: want what is no letter or digit as %XX")
	case exchange == "" && key == "":
		return "", "", errors.New("names neither an exchange nor a queue: want amqp://CONNECTION/EXCHANGE/ROUTINGKEY, or amqp://CONNECTION//QUEUE")
	case len(exchange) > maxShort || len(key) > maxShort:
		return "", "", fmt.Errorf("its exchange or routing key is longer than %d bytes", maxShort)
	}
	return exchange, key, nil
}

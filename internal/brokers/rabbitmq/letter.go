package rabbitmq

import (
	"maps"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/bellmanhq/bellman/internal/brokers/source"
)

// spare is left free in the frame of a dead letter's headers, in bytes: the broker adds
// x-delivery-count when it delivers the dead letter again.
const spare = 64

// letter returns a dead letter: the message, with the reason and the queue that it came from among
// its headers. frame is the size of the connection's frames; 0: there is no limit.
//
// All headers must fit into one frame. Otherwise the broker closes the connection and delivers the
// message again, for ever. If the message's own headers leave little room, the reason is cut. If
// they leave none, reason and queue are left out.
func letter(d *amqp.Delivery, reason, queue string, frame int) amqp.Publishing {
	p := amqp.Publishing{
		Headers: maps.Clone(d.Headers), ContentType: d.ContentType, ContentEncoding: d.ContentEncoding, DeliveryMode: amqp.Persistent,
		Priority: d.Priority, CorrelationId: d.CorrelationId, ReplyTo: d.ReplyTo, MessageId: d.MessageId,
		Timestamp: d.Timestamp, Type: d.Type, AppId: d.AppId, Body: d.Body,
	}
	if p.Headers == nil {
		p.Headers = amqp.Table{}
	}
	p.Headers[source.ReasonHeader], p.Headers[source.SourceHeader] = reason, queue
	switch over := headerFrame(&p) + spare - frame; {
	case frame == 0, over <= 0:
	case over < len(reason):
		p.Headers[source.ReasonHeader] = strings.ToValidUTF8(reason[:len(reason)-over], "")
	default:
		delete(p.Headers, source.ReasonHeader)
		delete(p.Headers, source.SourceHeader)
	}
	return p
}

// headerFrame returns the size of the frame with a message's headers, or a little more.
func headerFrame(p *amqp.Publishing) int {
	n := 8 + 2 + 2 + 8 + 2 + 1 + 1 + 8 // frame, class, weight, size, flags, delivery mode, priority, timestamp
	for _, text := range [...]string{p.ContentType, p.ContentEncoding, p.CorrelationId, p.ReplyTo, p.MessageId, p.Type, p.AppId} {
		n += 1 + len(text)
	}
	return n + size(p.Headers)
}

// size returns the size of a header's value, or a little more.
func size(value any) int {
	const kind, length, largest = 1, 4, 8 // bytes; the largest is a number of 64 bits
	switch v := value.(type) {
	case string:
		return kind + length + len(v)
	case []byte:
		return kind + length + len(v)
	case []any:
		n := kind + length
		for _, one := range v {
			n += size(one)
		}
		return n
	case amqp.Table:
		n := kind + length
		for name, one := range v {
			n += 1 + len(name) + size(one)
		}
		return n
	}
	return kind + largest
}

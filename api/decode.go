package api

import (
	"fmt"

	"github.com/bellmanhq/bellman/client"
)

// maxBatch is how many tasks one batch may have.
const maxBatch = 1000

// An order is one task as it was asked for, and what is wrong with it.
type order struct {
	in     client.CreateTask // JSON is a part of the request's buffer
	faults faults
	bytes  int // of its JSON
}

// decodeTask reads the body of a create. Its error means that body is no JSON;
// what else is wrong is in the order.
func decodeTask(body []byte, o *order) error {
	s, err := scan(body)
	if err != nil {
		return err
	}
	o.faults.at = single
	if err := decodeOrder(s, o); err != nil {
		return err
	}
	return s.end()
}

// decodeBatch reads the body of a batch. Its faults are about the batch, not
// about the tasks in it. It stops reading after more than maxBatch tasks.
func decodeBatch(body []byte) (orders []order, f faults, err error) {
	s, err := scan(body)
	if err != nil {
		return nil, f, err
	}
	f.at = single
	if s.peek() != '{' {
		f.add("", "want an object such as {\"tasks\":[…]}")
		_, err := s.value(0)
		return nil, f, or(err, s.end)
	}
	given := false
	err = s.members(func(field []byte) error {
		name := string(field)
		switch {
		case name != "tasks":
			f.unknown(name)
		case given:
			f.twice(name)
		case s.peek() != '[':
			given = true
			f.add(name, "want an array of tasks")
		default:
			given = true
			orders, err = decodeOrders(s)
			return err
		}
		_, err := s.value(1)
		return err
	})
	if err := or(err, s.end); err != nil {
		return nil, f, err
	}
	switch {
	case !given:
		f.add("tasks", "is required")
	case len(f.list) == 0 && (len(orders) == 0 || len(orders) > maxBatch):
		f.add("tasks", fmt.Sprintf("want 1 to %d tasks", maxBatch))
	}
	return orders, f, nil
}

func decodeOrders(s *scanner) ([]order, error) {
	var orders []order
	err := s.elements(func() error {
		if len(orders) > maxBatch {
			_, err := s.value(2)
			return err
		}
		orders = append(orders, order{})
		o := &orders[len(orders)-1]
		o.faults.at = len(orders) - 1
		return decodeOrder(s, o)
	})
	return orders, err
}

// fields are those of client.CreateTask: the texts, in the order of decodeOrder,
// and three more.
var fields = [...]string{"queue", "key", "merchant_no", "order_no", "event", "url", "method", "body",
	"delay", "schedule", "success", "timeout", "max_age", "repeat", "due", "json", "headers"}

const (
	dueField = iota + 14
	jsonField
	headersField
)

// decodeOrder reads one task where s stands.
func decodeOrder(s *scanner, o *order) error {
	start := s.pos
	defer func() { o.bytes = s.pos - start }()
	if s.peek() != '{' {
		o.faults.add("", "want an object")
		_, err := s.value(1)
		return err
	}
	in, f := &o.in, &o.faults
	texts := [...]*string{&in.Queue, &in.Key, &in.MerchantNo, &in.OrderNo, &in.Event, &in.URL, &in.Method, &in.Body,
		&in.Delay, &in.Schedule, &in.Success, &in.Timeout, &in.MaxAge, &in.Repeat}
	var seen [len(fields)]bool
	return s.members(func(field []byte) error {
		n := 0
		for n < len(fields) && fields[n] != string(field) {
			n++
		}
		switch {
		case n == len(fields):
			f.unknown(string(field))
			_, err := s.value(2)
			return err
		case seen[n]:
			f.twice(fields[n])
			_, err := s.value(2)
			return err
		}
		seen[n] = true
		var err error
		switch {
		case n == jsonField:
			in.JSON, err = s.value(2)
		case n == headersField:
			in.Headers, err = decodeHeaders(s, f)
		case s.peek() != '"':
			f.add(fields[n], "want text in quotes")
			_, err = s.value(2)
		case n == dueField:
			err = decodeDue(s, in, f)
		default:
			*texts[n], err = s.text()
		}
		return err
	})
}

func decodeDue(s *scanner, in *client.CreateTask, f *faults) error {
	text, err := s.text()
	if err != nil {
		return err
	}
	if in.Due.UnmarshalText([]byte(text)) != nil || in.Due.IsZero() {
		f.add("due", "want a time such as 2026-11-20T15:04:05.123Z")
	}
	return nil
}

func decodeHeaders(s *scanner, f *faults) (map[string]string, error) {
	if s.peek() != '{' {
		f.add("headers", "want an object of names and texts")
		_, err := s.value(2)
		return nil, err
	}
	headers := map[string]string{}
	return headers, s.members(func(field []byte) error {
		name := string(field)
		_, given := headers[name]
		if given {
			f.twice("headers." + cut(name))
		}
		if s.peek() != '"' {
			f.add("headers."+cut(name), "want text in quotes")
			_, err := s.value(3)
			return err
		}
		value, err := s.text()
		headers[name] = value
		return err
	})
}

// or returns err, or else what f returns.
func or(err error, f func() error) error {
	if err != nil {
		return err
	}
	return f()
}

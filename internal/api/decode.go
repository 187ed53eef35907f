package api

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bellmanhq/bellman/client"
)

// A wanted is a requested task and the mistakes in it.
type wanted struct {
	in     client.CreateTask // its JSON is a part of the request's buffer
	faults faults
	bytes  int // length of its JSON
}

// decodeTask reads the body of a create. An error means that the body is no JSON; other mistakes
// are in o.
func decodeTask(body []byte, o *wanted) error {
	s, err := scan(body)
	if err != nil {
		return err
	}
	o.faults.at = single
	if err := decodeOne(s, o); err != nil {
		return err
	}
	return s.end()
}

type wantedBatch struct {
	tasks []wanted
	dry   bool // nothing is created
}

// decodeBatch reads the body of a batch. Its faults concern the batch, not its tasks. It stops
// after client.MaxBatch tasks and one more.
func decodeBatch(body []byte) (in wantedBatch, f faults, err error) {
	s, err := scan(body)
	if err != nil {
		return in, f, err
	}
	f.at = single
	if s.peek() != '{' {
		f.add("", "want an object such as {\"tasks\":[…]}")
		_, err := s.value()
		return in, f, or(err, s.end)
	}
	given, dry := false, false
	err = s.members(func(field []byte) error {
		name := string(field)
		switch {
		case name == "dry_run" && dry:
			f.twice(name)
		case name == "dry_run":
			dry = true
			return decodeFlag(s, &f, name, &in.dry)
		case name != "tasks":
			f.unknown(name, "tasks", "dry_run")
		case given:
			f.twice(name)
		case s.peek() != '[':
			given = true
			f.add(name, "want an array of tasks")
		default:
			given = true
			in.tasks, err = decodeTasks(s)
			return err
		}
		_, err := s.value()
		return err
	})
	if err := or(err, s.end); err != nil {
		return in, f, err
	}
	switch {
	case !given:
		f.add("tasks", "is required")
	case len(f.list) == 0 && (len(in.tasks) == 0 || len(in.tasks) > client.MaxBatch):
		f.add("tasks", fmt.Sprintf("want 1 to %d tasks", client.MaxBatch))
	}
	return in, f, nil
}

func decodeTasks(s *scanner) ([]wanted, error) {
	var tasks []wanted
	err := s.elements(func() error {
		if len(tasks) > client.MaxBatch {
			_, err := s.value()
			return err
		}
		tasks = append(tasks, wanted{})
		o := &tasks[len(tasks)-1]
		o.faults.at = len(tasks) - 1
		if err := decodeOne(s, o); err != nil {
			return err
		}
		if len(tasks) == 1 { // room for the others, if they are as long as this one
			tasks = slices.Grow(tasks, min(s.left()/o.bytes, client.MaxBatch))
		}
		return nil
	})
	return tasks, err
}

// fields are the fields of client.CreateTask: first textFields texts, in the order of decodeOne,
// then the others, in the order of the constants below.
var fields = [...]string{"queue", "key", "merchant_no", "order_no", "event", "url", "method", "body",
	"delay", "schedule", "success", "timeout", "max_age", "repeat", "expires", "code_life", "ordering_key", "channel_order_no", "account", "currency", "ref_no",
	"due", "order_created", "json", "headers", "vars", "notify", "resume", "supersedes", "amount", "expires_at"}

const textFields = 21

const (
	dueField = iota + textFields
	createdField
	jsonField
	headersField
	varsField
	notifyField
	resumeField
	supersedesField
	amountField
	expiresAtField
)

// decodeOne reads the task at s.
func decodeOne(s *scanner, o *wanted) error {
	start := s.in.InputOffset()
	defer func() { o.bytes = int(s.in.InputOffset() - start) }()
	if s.peek() != '{' {
		o.faults.add("", "want an object")
		_, err := s.value()
		return err
	}
	in, f := &o.in, &o.faults
	texts := [textFields]*string{&in.Queue, &in.Key, &in.MerchantNo, &in.OrderNo, &in.Event, &in.URL, &in.Method, &in.Body,
		&in.Delay, &in.Schedule, &in.Success, &in.Timeout, &in.MaxAge, &in.Repeat, &in.Expires, &in.CodeLife, &in.OrderingKey,
		&in.ChannelOrderNo, &in.Account, &in.Currency, &in.RefNo}
	var seen [len(fields)]bool
	return s.members(func(field []byte) error {
		n := 0
		for n < len(fields) && fields[n] != string(field) {
			n++
		}
		switch {
		case n == len(fields):
			f.unknown(string(field), fields[:]...)
			_, err := s.value()
			return err
		case seen[n]:
			f.twice(fields[n])
			_, err := s.value()
			return err
		}
		seen[n] = true
		var err error
		switch {
		case n == jsonField:
			in.JSON, err = s.value()
		case n == headersField:
			in.Headers, err = decodeTexts(s, f, "headers")
		case n == varsField:
			in.Vars, err = decodeTexts(s, f, "vars")
		case n == notifyField:
			in.Notify, err = decodeNotify(s, f)
		case n == resumeField:
			in.Resume, err = decodeResume(s, f)
		case n == supersedesField:
			err = decodeFlag(s, f, fields[n], &in.Supersedes)
		case n == amountField:
			err = decodeAmount(s, f, fields[n], &in.Amount)
		case s.peek() != '"':
			f.add(fields[n], wantText(s, fields[n]))
			_, err = s.value()
		case n == expiresAtField:
			err = decodeTime(s, f, fields[n], &in.ExpiresAt)
		case n == dueField:
			err = decodeTime(s, f, fields[n], &in.Due)
		case n == createdField:
			err = decodeTime(s, f, fields[n], &in.OrderCreated)
		default:
			*texts[n], err = f.text(s, fields[n])
		}
		return err
	})
}

// decodeAmount reads an amount of money: a whole number without fraction and exponent, above 0.
func decodeAmount(s *scanner, f *faults, field string, to *int64) error {
	text, err := s.value()
	if err != nil {
		return err
	}
	if *to, err = strconv.ParseInt(string(text), 10, 64); err != nil || *to < 1 {
		f.add(field, "want a whole number above 0: the amount in the currency's smallest unit, such as 8800")
	}
	return nil
}

// wantText says what would be right for a text field whose value at s is something else.
func wantText(s *scanner, field string) string {
	example := map[string]string{"delay": "5s", "timeout": "5s", "max_age": "3d", "repeat": "10m", "expires": "30m", "code_life": "2h",
		"due": "2026-11-20T15:04:05Z", "order_created": "2026-11-20T15:04:05Z", "last": "2026-11-20T15:04:05Z", "began": "2026-11-20T15:04:05Z"}[field]
	switch {
	case s.peek() == 'n':
		return "is null: leave it out, or want text in quotes"
	case example != "":
		return "want text in quotes, such as \"" + example + "\""
	}
	return "want text in quotes"
}

// decodeFlag reads a boolean field.
func decodeFlag(s *scanner, f *faults, field string, to *bool) error {
	kind := s.peek()
	if *to = kind == 't'; kind != 't' && kind != 'f' {
		f.add(field, "want true or false")
	}
	_, err := s.value()
	return err
}

func decodeTime(s *scanner, f *faults, field string, to *client.Time) error {
	text, err := f.text(s, field)
	if err != nil {
		return err
	}
	if to.UnmarshalText([]byte(text)) != nil || to.IsZero() {
		f.add(field, noTime(text))
	}
	return nil
}

// decodeTexts reads a field that is an object of texts.
func decodeTexts(s *scanner, f *faults, field string) (map[string]string, error) {
	if s.peek() != '{' {
		f.add(field, "want an object of names and texts")
		_, err := s.value()
		return nil, err
	}
	texts := map[string]string{}
	return texts, s.members(func(member []byte) error {
		name := string(member)
		at := field + "." + cut(name)
		if _, given := texts[name]; given {
			f.twice(at)
		}
		if s.peek() != '"' {
			f.add(at, wantText(s, name))
			_, err := s.value()
			return err
		}
		value, err := f.text(s, at)
		texts[name] = value
		return err
	})
}

// decodeObject reads a field that is an object. It calls read at the value of each known member
// that did not occur before.
func decodeObject(s *scanner, f *faults, field, example string, known []string, read func(name, at string) error) error {
	if s.peek() != '{' {
		f.add(field, "want an object such as "+example)
		_, err := s.value()
		return err
	}
	seen := map[string]bool{}
	return s.members(func(member []byte) error {
		name := string(member)
		at := field + "." + cut(name)
		switch {
		case !slices.Contains(known, name):
			f.unknown(at, known...)
		case seen[name]:
			f.twice(at)
		case name != "json" && name != "attempts" && s.peek() != '"':
			f.add(at, wantText(s, name))
		default:
			seen[name] = true
			return read(name, at)
		}
		seen[name] = true
		_, err := s.value()
		return err
	})
}

// decodeNotify reads the notification of an order. Its json must not have a field twice, because
// other code adds fields to it.
func decodeNotify(s *scanner, f *faults) (*client.Notify, error) {
	n := &client.Notify{}
	example, known := `{"url":"https://merchant.example/notify"}`, []string{"url", "json"}
	return n, decodeObject(s, f, "notify", example, known, func(name, at string) (err error) {
		if name == "url" {
			n.URL, err = f.text(s, at)
			return err
		}
		if n.JSON, err = s.value(); err != nil {
			return err
		}
		return unique(n.JSON)
	})
}

// decodeResume reads the state of a task in another system.
func decodeResume(s *scanner, f *faults) (*client.Resume, error) {
	r := &client.Resume{}
	example, known := `{"attempts":3,"last":"2026-11-20T15:04:05Z"}`, []string{"attempts", "last", "began"}
	return r, decodeObject(s, f, "resume", example, known, func(name, at string) error {
		switch name {
		case "last":
			return decodeTime(s, f, at, &r.Last)
		case "began":
			return decodeTime(s, f, at, &r.Began)
		}
		raw, err := s.value()
		n, wrong := strconv.Atoi(string(raw))
		if r.Attempts = n; err == nil && wrong != nil {
			f.add(at, "want a whole number")
		}
		return err
	})
}

// or returns err, or the result of f if err is nil.
func or(err error, f func() error) error {
	if err != nil {
		return err
	}
	return f()
}

package sender

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/field"
)

// A Message is what is published.
type Message struct {
	ID      string // by which a broker, or who reads the message, knows that it has it already
	Event   string // the task's; may be empty
	Header  http.Header
	Body    []byte
	Created time.Time
}

// A Publisher publishes to one broker. It is safe for concurrent use.
type Publisher interface {
	// Publish returns when the broker has the message in safety, with what the broker
	// said of it. An error is a *Refusal, ctx's, or says why the broker cannot be
	// reached; none has a password in it.
	Publish(ctx context.Context, to Address, m *Message) (answer string, err error)
}

// A Refusal is the answer of a broker that does not take a message.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// A Connection is a broker that tasks may be sent to.
type Connection struct {
	Kind      string // AMQP or NATS
	Publisher Publisher
}

// Rules of a queue, for its messages.
type Rules struct {
	URL         string                // where tasks go that name no address; may be no broker's
	Sign        sign.Config           // the zero Config: messages are not signed
	Connections map[string]Connection // by their names
	Own         []string              // names of those that a task may name in an address of its own; none: it may name no broker
	Else        Handler               // makes the attempts that go to no broker

	// PropagateTrace sends traceparent and tracestate of the attempt's span, where there
	// is one, in the place of those that a task has.
	PropagateTrace bool
}

// A Handler makes attempts, and looks at tasks before they are accepted.
type Handler interface {
	bellman.Handler
	bellman.Checker
}

var _ bellman.Router = (*handler)(nil)

// New returns the handler of a queue with these rules. An error names the rule that
// is wrong. The secrets are read now.
func New(r Rules) (Handler, error) {
	s := &handler{rules: r}
	if Is(r.URL) {
		home, err := Parse(r.URL)
		if err == nil {
			_, err = s.find(home)
		}
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		s.home = &home
	}
	var err error
	if s.signer, err = sign.New(r.Sign); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return s, nil
}

type handler struct {
	rules  Rules
	home   *Address // the queue's own, if it is a broker's
	signer sign.Signer
}

// goes returns where a task goes; is reports whether that is a broker.
func (h *handler) goes(task *bellman.Task) (to Address, is bool, err error) {
	switch {
	case task.URL == "" && h.home != nil:
		return *h.home, true, nil
	case !Is(task.URL):
		return Address{}, false, nil
	}
	to, err = Parse(task.URL)
	return to, true, err
}

// connection is the one that an address of a task names. An address may come from
// whoever is to be told, and unchecked: it names what the queue allows, or the
// queue's own address.
func (h *handler) connection(to Address) (Connection, error) {
	home := h.home != nil && to == *h.home
	switch {
	case home || slices.Contains(h.rules.Own, to.Connection):
		return h.find(to)
	case len(h.rules.Own) == 0:
		return Connection{}, errors.New("is a broker's, and tasks of this queue may name none: want an address over HTTP, or the name of the connection among the queue's connections")
	}
	return Connection{}, fmt.Errorf("connection %.100q is not for tasks of this queue: want %s, or its name among the queue's connections", to.Connection, strings.Join(h.rules.Own, ", "))
}

// find returns the connection that an address names.
func (h *handler) find(to Address) (Connection, error) {
	c, found := h.rules.Connections[to.Connection]
	switch {
	case !found && len(h.rules.Connections) == 0:
		return c, fmt.Errorf("there is no connection %.100q: the configuration has none", to.Connection)
	case !found:
		return c, fmt.Errorf("there is no connection %.100q: want %s", to.Connection, strings.Join(slices.Sorted(maps.Keys(h.rules.Connections)), ", "))
	case c.Kind != to.Kind:
		return c, fmt.Errorf("connection %q is of another kind: want %s://%s/…", to.Connection, c.Kind, to.Connection)
	}
	return c, nil
}

// Check fills in Endpoint, and returns an *bellman.Invalid that names every field
// that no attempt could do with: url, method, headers.NAME, body.
func (h *handler) Check(task *bellman.Task) error {
	to, is, err := h.goes(task)
	if !is {
		return h.rules.Else.Check(task)
	}
	bad := new(bellman.Invalid)
	if err == nil {
		_, err = h.connection(to)
	}
	if err != nil {
		bad.Add("url", err.Error())
	} else if task.Endpoint == "" {
		task.Endpoint = to.Endpoint()
	}
	if task.Method != "" && task.Method != http.MethodPost {
		bad.Add("method", "a message to a broker has none: leave it out")
	}
	task.Method = http.MethodPost
	for _, name := range slices.Sorted(maps.Keys(task.Header)) {
		if problem := wrongHeader(name, task.Header[name]); problem != "" {
			bad.Add("headers."+strings.ToValidUTF8(name[:min(len(name), 40)], ""), problem)
		}
	}
	if h.signer != nil {
		m := sign.Message{Header: header(task, "", 1), Body: task.Body}
		if err := h.signer.Check(&m); err != nil {
			bad.Add("body", "cannot be signed: "+err.Error())
		}
	}
	return bad.Err()
}

// Route says what its merchant's rules are for a task that goes to no broker.
func (h *handler) Route(ctx context.Context, task *bellman.Task) (bellman.Route, error) {
	if _, is, _ := h.goes(task); is {
		return bellman.Route{}, nil
	}
	if guide, ok := h.rules.Else.(bellman.Router); ok {
		return guide.Route(ctx, task)
	}
	return bellman.Route{}, nil
}

// wrongHeader says what is wrong with a header of a message; empty: nothing.
func wrongHeader(name, value string) string {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !field.IsName(name) || len(name) > 200:
		return "not a header's name: want letters, digits and hyphens, 200 at most"
	case strings.HasPrefix(canonical, "Bellman-"):
		return "names that begin with Bellman- are set by bellman"
	case strings.HasPrefix(canonical, "Nats-"):
		return "would tell the broker something: leave it out"
	case !field.IsValue(value) || !utf8.ValidString(value):
		return "its value has a control character, or white space at an end"
	}
	return ""
}

// Attempt publishes one message and says what follows from the broker's answer.
func (h *handler) Attempt(ctx context.Context, task *bellman.Task, number int) bellman.Verdict {
	to, is, err := h.goes(task)
	if !is {
		return h.rules.Else.Attempt(ctx, task, number)
	}
	var connection Connection
	if err == nil {
		connection, err = h.connection(to)
	}
	if err != nil {
		return bellman.Verdict{Result: bellman.Unreachable, Error: "not sent: url: " + err.Error()}
	}
	id := task.ID.String()
	m := &Message{ID: messageID(task, id, number), Event: task.Event, Header: header(task, id, number), Body: task.Body, Created: task.Created()}
	if h.rules.PropagateTrace {
		field.Propagate(m.Header, bellman.TraceOf(ctx))
	}
	if h.signer != nil {
		signed := sign.Message{ID: id, Time: time.Now(), Header: m.Header, Body: m.Body}
		if err := h.signer.Sign(&signed); err != nil {
			return bellman.Verdict{Result: bellman.Unreachable, Error: "not sent: sign: " + err.Error()}
		}
		m.Body = signed.Body
	}
	answer, err := connection.Publisher.Publish(ctx, to, m)
	var refusal *Refusal
	switch {
	case err == nil:
		return bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Response: answer}
	case errors.As(err, &refusal):
		return bellman.Verdict{Result: bellman.Refused, Error: line(refusal.Reason)}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return bellman.Verdict{Result: bellman.TimedOut, Error: "the broker did not confirm in time"}
	}
	return bellman.Verdict{Result: bellman.Unreachable, Error: line(err.Error())}
}

// messageID is by what a message is known: the task's id, so that an attempt that
// is repeated because nobody knows how it went is the same message. One that
// somebody asked for, and each round of a task that repeats itself, is another.
func messageID(task *bellman.Task, id string, number int) string {
	switch {
	case task.Trigger == bellman.ByHand:
		return id + "/" + strconv.Itoa(number)
	case task.Repeat != "":
		return id + "@" + strconv.FormatInt(task.Began.UnixMilli(), 10)
	}
	return id
}

// header is a task's header, and ours.
func header(task *bellman.Task, id string, number int) http.Header {
	h := make(http.Header, len(task.Header)+4)
	for name, value := range task.Header {
		h.Set(name, value)
	}
	h.Set("Bellman-Task", id)
	h.Set("Bellman-Attempt", strconv.Itoa(number))
	if h.Get("Content-Type") == "" && field.LooksJSON(task.Body) {
		h.Set("Content-Type", "application/json")
	}
	return h
}

// line makes one line of a text.
func line(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}

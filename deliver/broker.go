package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/cause"
)

// A Scheme is a kind of address of brokers: NAME://CONNECTION/PATH. CONNECTION is the name of one
// of [Rules.Connections], never a host: a task cannot choose which broker is reached. A scheme
// whose addresses name a host, such as https, has a [DefaultPort] instead.
type Scheme struct {
	Name string // of its URLs, in lower case: amqp
	Form string // of its URLs, for errors: amqp://CONNECTION/EXCHANGE/ROUTINGKEY

	// Check returns what is wrong with the path of an address, and what would be right; nil: the
	// path is valid. The path is percent-encoded and does not begin with a slash.
	Check func(path string) error

	// Reserved is the prefix of the headers that are commands to the broker, such as Nats-. A task
	// may not set them. Empty: there are none.
	Reserved string
}

// A Connection sends messages to one broker. It is safe for concurrent use.
type Connection interface {
	// Scheme is the scheme of the addresses that the connection serves.
	Scheme() *Scheme

	// Send returns after the broker has stored the message. answer is for the attempt log. path is
	// one that the scheme's Check accepted. The error is a *Refusal, the error of ctx, or why the
	// broker cannot be reached. No error contains a password.
	Send(ctx context.Context, path string, m *Message) (answer string, err error)
}

// A Refusal is the error of a broker that was reached and rejects the message.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// Schemes are the schemes of brokers that a program knows.
type Schemes []*Scheme

// A BrokerURL is the address of a message: SCHEME://CONNECTION/PATH.
type BrokerURL struct {
	Scheme     *Scheme
	Connection string
	Path       string // percent-encoded, without the slash at its start
}

// of returns the scheme of a URL; nil: it is not the URL of a broker.
func (s Schemes) of(text string) *Scheme {
	name, _, found := strings.Cut(text, "://")
	if !found {
		return nil
	}
	for _, scheme := range s {
		if strings.EqualFold(name, scheme.Name) {
			return scheme
		}
	}
	return nil
}

// Has reports whether a URL has the scheme of a broker, valid or not.
func (s Schemes) Has(text string) bool { return s.of(text) != nil }

// Parse reads the URL of a broker. An error says what is wrong, and what would be right.
func (s Schemes) Parse(text string) (BrokerURL, error) {
	if len(text) > bellman.MaxURL {
		return BrokerURL{}, fmt.Errorf("longer than %d bytes", bellman.MaxURL)
	}
	scheme := s.of(text)
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return BrokerURL{}, errors.New("not a URL: want " + s.forms())
	case scheme == nil:
		return BrokerURL{}, errors.New("want " + s.forms())
	case u.User != nil || u.Port() != "" || strings.ContainsAny(u.Host, ":[]"):
		return BrokerURL{}, fmt.Errorf("names an address: want the name of a connection of the configuration, such as %s://main/…", scheme.Name)
	case u.Host == "":
		return BrokerURL{}, fmt.Errorf("names no connection: want %s", scheme.Form)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return BrokerURL{}, errors.New("has a query or a fragment (? or #): write them as %3F and %23")
	}
	to := BrokerURL{Scheme: scheme, Connection: u.Host, Path: strings.TrimPrefix(u.EscapedPath(), "/")}
	return to, scheme.Check(to.Path)
}

// forms are the forms of all schemes.
func (s Schemes) forms() string {
	forms := make([]string, len(s))
	for i, scheme := range s {
		forms[i] = scheme.Form
	}
	return strings.Join(forms, " or ")
}

// Endpoint returns the endpoint for limits, breaker and fairness: the connection, in lower case.
func (u BrokerURL) Endpoint() string { return u.Scheme.Endpoint(u.Connection) }

// Endpoint returns the endpoint of a connection of this scheme.
func (s *Scheme) Endpoint(connection string) string {
	return s.Name + "://" + strings.ToLower(connection)
}

// broker returns the address of the broker to which a task is sent; nil: the task is sent over
// HTTP. The task's own address overrides the queue's. A merchant's address is never a broker's.
func (h *Handler) broker(task *bellman.Task) (*BrokerURL, error) {
	switch {
	case task.URL == "" && h.homeBroker != nil:
		return h.homeBroker, nil
	case !h.schemes.Has(task.URL):
		return nil, nil
	}
	to, err := h.schemes.Parse(task.URL)
	return &to, err
}

// connection returns the connection that an address of a task names. The receiver may have chosen
// the address. So the queue must allow the connection, or the address must be the queue's own.
func (h *Handler) connection(to *BrokerURL) (Connection, error) {
	home := h.homeBroker != nil && *to == *h.homeBroker
	switch {
	case home || slices.Contains(h.own, to.Connection):
		return h.find(to)
	case len(h.own) == 0:
		return nil, errors.New("is the address of a broker, and the queue has no connections: want an HTTP address, or the broker's connection in the queue's setting connections")
	}
	return nil, fmt.Errorf("connection %.100q is not for tasks of this queue: want %s, or its name among the queue's connections", to.Connection, strings.Join(h.own, ", "))
}

// find returns the connection that an address names.
func (h *Handler) find(to *BrokerURL) (Connection, error) {
	c, found := h.connections[to.Connection]
	switch {
	case !found && len(h.connections) == 0:
		return nil, fmt.Errorf("there is no connection %.100q: the configuration has none", to.Connection)
	case !found:
		return nil, fmt.Errorf("there is no connection %.100q: want %s", to.Connection, strings.Join(slices.Sorted(maps.Keys(h.connections)), ", "))
	case c.Scheme() != to.Scheme:
		return nil, fmt.Errorf("connection %q is of another kind: want %s://%s/…", to.Connection, c.Scheme().Name, to.Connection)
	}
	return c, nil
}

// checkBroker checks a task that is sent to a broker, and fills in Method and Endpoint. wrong is
// the error of its address, or nil.
func (h *Handler) checkBroker(task *bellman.Task, to *BrokerURL, wrong error, bad *bellman.Invalid) {
	if wrong == nil {
		_, wrong = h.connection(to)
	}
	if wrong != nil {
		bad.Add("url", wrong.Error())
	} else if task.Endpoint == "" {
		task.Endpoint = to.Endpoint()
	}
	if task.Method != "" && task.Method != http.MethodPost {
		bad.Add("method", "a message to a broker has none: leave it out")
	}
	task.Method = http.MethodPost
	for _, name := range slices.Sorted(maps.Keys(task.Header)) {
		problem := ""
		switch canonical := http.CanonicalHeaderKey(name); {
		case len(name) > 200:
			problem = "its name is longer than 200 bytes"
		case to.Scheme.Reserved != "" && strings.HasPrefix(canonical, to.Scheme.Reserved):
			problem = "would tell the broker something: leave it out"
		case !utf8.ValidString(task.Header[name]):
			problem = "its value is not UTF-8"
		}
		if problem != "" {
			bad.Add("headers."+trim(name), problem)
		}
	}
}

// publish sends one message to a broker.
func (h *Handler) publish(ctx context.Context, task *bellman.Task, number int, to *BrokerURL) bellman.Verdict {
	v := h.publishOnce(ctx, task, number, to)
	if v.Next != bellman.Succeed && restarted(task) {
		v.Data = []byte(round(task)) // the next attempt sends the same message
	}
	return v
}

func (h *Handler) publishOnce(ctx context.Context, task *bellman.Task, number int, to *BrokerURL) bellman.Verdict {
	connection, err := h.connection(to)
	if err != nil {
		return unsent("url: " + err.Error())
	}
	m, err := h.message(ctx, task, number, "", false, h.signer)
	if err != nil {
		return unsent("sign: " + err.Error())
	}
	answer, err := connection.Send(ctx, to.Path, &m)
	var refusal *Refusal
	switch {
	case err == nil:
		return bellman.Verdict{Next: bellman.Succeed, Result: bellman.Accepted, Response: answer}
	case errors.As(err, &refusal):
		return bellman.Verdict{Result: bellman.Refused, Error: cause.Line(refusal.Reason)}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return bellman.Verdict{Result: bellman.TimedOut, Error: "the broker did not confirm in time"}
	}
	return bellman.Verdict{Result: bellman.Unreachable, Error: cause.Line(err.Error())}
}

// messageID identifies a message to brokers and receivers. It is the task's id, so that an attempt
// that is repeated because its outcome is unknown is the same message. A manual attempt is another
// message, and so are the attempts of a restarted schedule, and of each round of a task that
// repeats.
func messageID(task *bellman.Task, id string, number int) string {
	switch {
	case task.Trigger == bellman.ByHand && task.Before != nil:
		return id + "/" + strconv.Itoa(number)
	case task.Repeat != "" || restarted(task):
		return id + "@" + round(task)
	}
	return id
}

// round identifies one run of a task's schedule.
func round(task *bellman.Task) string { return strconv.FormatInt(task.Began.UnixMilli(), 10) }

// restarted reports whether a person started the schedule again. The first attempt after that is
// manual, and interrupts no other state. The verdict of an attempt leaves the round in Data for the
// next one.
func restarted(task *bellman.Task) bool {
	return task.Trigger == bellman.ByHand && task.Before == nil || string(task.Data) == round(task)
}

// A Message is what one attempt sends, over HTTP or through a broker.
type Message struct {
	ID      string // see messageID; brokers deduplicate by it
	Event   string // the task's; may be empty
	Header  http.Header
	Query   string // of an HTTP address, with the signature if the scheme writes it there
	Body    []byte
	Created time.Time // when the task was added
}

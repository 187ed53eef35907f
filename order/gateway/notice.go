package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/order/internal/exchange"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

// NoticeOptions say how the notices of a gateway are verified and read. Verify, Order and States
// are required.
//
// The body of a notice is JSON, or what States reads. A form is read as a JSON object of texts, for
// Order and for rules: {"order":"A1","state":"paid"} for order=A1&state=paid.
type NoticeOptions struct {
	Verify sign.VerifyConfig // over the raw body

	// Items is where the body has a list of items: field names with dots between them. Order and
	// States read each item as if it were the body. Empty: the body is one item.
	Items string

	// Order evaluates to the number that the channel knows the order by: a text or a whole number.
	// A list means that the item says the same of several orders.
	Order *rule.Value

	States *states.Query // reads an item as it reads the answer to a query, with status 200

	Accepted order.NoticeAnswer // to a notice that was accepted; default: 200, text success
	Refused  order.NoticeAnswer // to another; default: 400, text fail
}

// maxItems bounds the notices that one body makes.
const maxItems = 1000

// Notices reads the notices of a gateway. It is an [order.NoticeReader], and safe for concurrent
// use. Printing it shows no secret.
type Notices struct {
	scheme            string
	verifier          *sign.Verifier
	items             []string
	order             *rule.Value
	states            *states.Query
	accepted, refused order.NoticeAnswer
}

var _ order.NoticeReader = (*Notices)(nil)

// NewNotices reads the secrets. An error wraps a *[bellman.Invalid] that names every wrong option,
// and contains no secret.
func NewNotices(o NoticeOptions) (*Notices, error) {
	if o.Order == nil || o.States == nil {
		return nil, errors.New("gateway: notice: order and states are needed: without them no notice means anything")
	}
	n := &Notices{scheme: o.Verify.Scheme, order: o.Order, states: o.States}
	if o.Items != "" {
		n.items = strings.Split(o.Items, ".")
	}
	bad := new(bellman.Invalid)
	var err error
	if n.verifier, err = sign.NewVerifier(o.Verify); err != nil {
		bad.Note("verify", err)
	}
	const text = "text/plain; charset=utf-8"
	n.accepted = withDefaults(o.Accepted, order.NoticeAnswer{Status: http.StatusOK, ContentType: text, Body: "success"})
	n.refused = withDefaults(o.Refused, order.NoticeAnswer{Status: http.StatusBadRequest, ContentType: text, Body: "fail"})
	for name, a := range map[string]order.NoticeAnswer{"accepted": n.accepted, "refused": n.refused} {
		if a.Status < 200 || a.Status > 599 {
			bad.Add("answer."+name+".status", fmt.Sprintf("%d: want 200 to 599", a.Status))
		}
	}
	if err := bad.Err(); err != nil {
		return nil, fmt.Errorf("gateway: notice: %w", err)
	}
	return n, nil
}

// withDefaults returns an answer with the status, or everything, of another where it has none.
func withDefaults(a, other order.NoticeAnswer) order.NoticeAnswer {
	if a == (order.NoticeAnswer{}) {
		return other
	}
	a.Status = cmp.Or(a.Status, other.Status)
	if a.Body != "" {
		a.ContentType = cmp.Or(a.ContentType, other.ContentType)
	}
	return a
}

// ReadNotice verifies a notice and reads its items. An item that cannot be read has an Err, and
// does not keep the others from being read.
func (n *Notices) ReadNotice(raw *order.RawNotice) (items []order.Notice, hint string, err error) {
	if len(raw.Body) > order.MaxBody {
		return nil, "", fmt.Errorf("the notice has more than %d bytes", order.MaxBody)
	}
	untrusted := n.verifier.Verify(raw.Header, raw.Body, raw.At)
	bodies, err := n.split(raw)
	switch {
	case untrusted != nil && err == nil && len(bodies) > 0:
		return nil, n.hint(bodies[0], raw.Header), fmt.Errorf("the notice cannot be trusted: %w", untrusted)
	case untrusted != nil:
		return nil, "", fmt.Errorf("the notice cannot be trusted: %w", untrusted)
	case err != nil:
		items = []order.Notice{{Err: err}}
	}
	for _, body := range bodies {
		items = append(items, n.read(body, raw.Header)...)
	}
	if len(items) > maxItems {
		items = []order.Notice{{Err: fmt.Errorf("the notice is about %d orders: want %d or fewer", len(items), maxItems)}}
	}
	id := n.id(raw)
	for i := range items {
		if items[i].ID = id; id != "" && len(items) > 1 {
			items[i].ID = fmt.Sprintf("%s/%d", id, i+1)
		}
	}
	return items, "", nil
}

// split returns the items of a body.
func (n *Notices) split(raw *order.RawNotice) ([][]byte, error) {
	body := raw.Body
	if media, _, err := mime.ParseMediaType(raw.Header.Get("Content-Type")); err == nil && media == typeForm {
		if json.Valid(body) && bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
			return nil, errors.New("the notice is JSON, and its Content-Type says that it is a form: want application/json")
		}
		if body, err = formAsJSON(body); err != nil {
			return nil, err
		}
	}
	if n.items == nil {
		return [][]byte{body}, nil
	}
	at := json.RawMessage(body)
	for _, name := range n.items {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(at, &fields); err != nil {
			return nil, fmt.Errorf("items: no object has the field %.40q", name)
		}
		at = fields[name]
	}
	var list []json.RawMessage
	if err := json.Unmarshal(at, &list); err != nil || len(list) == 0 {
		return nil, errors.New("items: want a list with at least one item")
	}
	if len(list) > maxItems {
		return nil, fmt.Errorf("items: %d: want %d or fewer", len(list), maxItems)
	}
	bodies := make([][]byte, len(list))
	for i, item := range list {
		bodies[i] = item
	}
	return bodies, nil
}

// formAsJSON returns the fields of a form as a JSON object.
func formAsJSON(body []byte) ([]byte, error) {
	fields, err := formFields(body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// formFields returns the fields of a form. A name that is there twice is refused.
func formFields(body []byte) (map[string]string, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("the notice is not a form")
	}
	fields := make(map[string]string, len(form))
	for name, values := range form {
		if len(values) > 1 {
			return nil, fmt.Errorf("the notice has the field %.40q twice", name)
		}
		fields[name] = values[0]
	}
	return fields, nil
}

// read reads one item: a notice for each order that it is about.
func (n *Notices) read(body []byte, header http.Header) []order.Notice {
	read := n.states.Read(order.Answer{Result: bellman.Accepted, Status: http.StatusOK, Header: exchange.Header(header), Body: body}, 0)
	value, err := n.evaluate(body, header)
	if err != nil {
		return []order.Notice{{Of: order.OfPayment, Answer: read.Answer, Err: fmt.Errorf("order: %w", err)}}
	}
	values, isList := value.([]any)
	if !isList {
		values = []any{value}
	}
	if len(values) == 0 {
		return []order.Notice{{Of: order.OfPayment, Answer: read.Answer, Err: errors.New("order: the list is empty")}}
	}
	items := make([]order.Notice, len(values))
	for i, value := range values {
		item := order.Notice{Of: order.OfPayment, Answer: read.Answer}
		if item.OrderNo, err = number(value); err == nil && item.OrderNo == "" {
			err = errors.New("is empty")
		}
		if err != nil {
			item.Err = fmt.Errorf("order: %w", err)
		} else {
			item.Reading, item.Taken = read.Reading, read.Taken
		}
		items[i] = item
	}
	return items
}

func (n *Notices) evaluate(body []byte, header http.Header) (any, error) {
	return n.order.Evaluate(&rule.Answer{Status: http.StatusOK, Body: body, Header: header}, rule.Facts{})
}

// hint is the number of the order that an item names which cannot be trusted.
func (n *Notices) hint(body []byte, header http.Header) string {
	value, err := n.evaluate(body, header)
	if err != nil {
		return ""
	}
	no, err := number(value)
	if err != nil {
		return ""
	}
	return asHint(no)
}

// asHint returns the number of an order that nobody signed; empty: it is none that an order can
// have.
func asHint(no string) string {
	if len(no) > 128 || strings.ContainsFunc(no, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return no
}

// id is the sender's id of a notice, where its scheme has one.
func (n *Notices) id(raw *order.RawNotice) string {
	switch n.scheme {
	case sign.StandardWebhooks:
		return raw.Header.Get("Webhook-Id")
	case sign.Stripe:
		var event struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw.Body, &event) == nil {
			return event.ID
		}
	}
	return ""
}

// AnswerNotice returns one of the two answers of the options.
func (n *Notices) AnswerNotice(accepted bool, _ string) order.NoticeAnswer {
	if accepted {
		return n.accepted
	}
	return n.refused
}

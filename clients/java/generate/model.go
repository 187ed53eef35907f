package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A model is what the templates write.
type model struct {
	Enums      []enum
	Records    []record
	Operations []method
}

type enum struct {
	Name   string
	Values []string
}

type record struct {
	Name            string
	Fields          []field
	Asked, Answered bool   // it is written, it is read
	Implements      string // the sealed interface of an operation with several answers
}

type field struct {
	Name, JSON, Doc string
	Type            string // in a component of the record
	Bare            bool   // Type is a primitive
	Required        bool
	Read            string // the expression that reads it from r
	Value           bool   // an enum
}

type method struct {
	Name, Summary, Description string
	Verb, Path                 string   // Path is a Java expression
	Segments                   []string // the path's parameters
	Query                      []field
	QueryType                  string // the record that the query is, where it is long
	Body                       string // its type; empty: none
	BodyOptional               bool
	Answer, Read               string   // Answer is void, String or a type
	Stated                     bool     // the status says whether it was made
	Either                     []string // names of the records of several answers
}

// shared names the enums that several schemas have: by their first values.
var shared = map[string]string{
	"overloaded,store_slow,shards_unowned": "AttentionKind", "failing,late,paused": "MerchantTrouble",
	"pending,succeeded,failed": "TaskState", "running,done,cancelled": "ResendState", "accepted,refused,error_status": "AttemptResult",
	"PENDING,PAID,PAID_REFUNDED": "OrderState", "PAID,PAID_REFUNDED": "LatePayment", "PAID,PAID_REFUNDED,CLOSED": "OrderOutcome", "once,restart": "ResendMode", "payment,refund,transfer": "NoticeSubject", "applied,duplicate,held": "NoticeResult",
	"schedule,manual,settle": "AttemptTrigger", "notify,order,poll": "TaskKind", "PENDING,DONE,FAILED_THERE": "PollState", "closed,open,half_open": "BreakerState", "ok,full": "HealthStatus",
	"standard_webhooks,wechat_rsa,md5_params": "SignScheme", "overdue,endpoint_failing,orders_unknown": "AlarmCondition", "connecting,consuming,paused": "SourceState",
	"missing_here,missing_there,amount": "DifferenceKind", "channel,file": "BillSource", "trade,fund_flow": "BillKind", "wechatpay,alipay": "AccountChannel", "waiting,running,done": "ReconciliationState", "running,done": "SettlingState",
}

// renamed are fields that Java has other plans for.
var renamed = map[string]string{"for": "holding", "notify": "notification", "wait": "waiting"}

func (d *doc) model() (*model, error) {
	m := &model{}
	asked, answered := make(map[string]bool), map[string]bool{"Event": true}
	d.reach(d.Components.Schemas["Event"], answered)
	for _, item := range d.Paths {
		for _, op := range item {
			if op.RequestBody != nil && !op.uploads() {
				d.reach(op.RequestBody.Content["application/json"].Schema, asked)
			}
			for _, response := range op.Responses {
				for _, media := range response.Content {
					d.reach(media.Schema, answered)
				}
			}
		}
	}
	enums := make(map[string][]string)
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		r := record{Name: name, Asked: asked[name], Answered: answered[name]}
		for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
			f, err := makeField(p, s.Properties[p], slices.Contains(s.Required, p), enums)
			if err != nil {
				return nil, fmt.Errorf("schema %s: %w", name, err)
			}
			r.Fields = append(r.Fields, f)
		}
		slices.SortStableFunc(r.Fields, func(a, b field) int { // what is required first
			return boolean(b.Required) - boolean(a.Required)
		})
		m.Records = append(m.Records, r)
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, verb := range []string{"get", "post", "put", "delete"} {
			op := d.Paths[path][verb]
			if op == nil || op.Responses["200"].Content["text/event-stream"].Schema != nil {
				continue // a stream is not one answer: Bellman.events
			}
			if op.uploads() {
				continue // a file is no JSON: an HTTP client sends it
			}
			if err := m.add(path, verb, op, enums); err != nil {
				return nil, fmt.Errorf("%s %s: %w", verb, path, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		m.Enums = append(m.Enums, enum{name, enums[name]})
	}
	return m, nil
}

func makeField(name string, s *schema, required bool, enums map[string][]string) (field, error) {
	f := field{Name: camel(name), JSON: name, Doc: s.Description, Required: required}
	if other := renamed[name]; other != "" {
		f.Name = other
	}
	typ, item, err := javaType(s, enums)
	if err != nil {
		return f, fmt.Errorf("%s: %w", name, err)
	}
	if doc := f.Doc; len(s.Enum) > 0 && doc == "" {
		f.Doc = strings.Join(s.Enum, ", ") + "."
	}
	f.Type, f.Value = typ, len(s.Enum) > 0
	nullable := !required || len(s.AnyOf) > 0 || slices.Contains(s.Type, "null")
	read, bare := item, ""
	switch typ {
	case "Integer":
		read, bare = "int32", "int"
	case "Long":
		read, bare = "int64", "long"
	case "Double":
		read, bare = "number", "double"
	case "Boolean":
		read, bare = "bool", "boolean"
	}
	zero := ""
	if bare != "" && !nullable {
		f.Type, f.Bare = bare, true
		zero = map[string]string{"int": ", 0", "long": ", 0L", "double": ", 0.0", "boolean": ", false"}[bare]
	}
	switch {
	case strings.HasPrefix(typ, "List<"):
		f.Read = fmt.Sprintf("r.list(%q, %s)", name, item)
	case strings.HasPrefix(typ, "Map<"):
		f.Read = fmt.Sprintf("r.map(%q, %s)", name, item)
	case strings.Contains(read, "::"):
		f.Read = fmt.Sprintf("r.shape(%q, %s)", name, read)
	default:
		f.Read = fmt.Sprintf("r.%s(%q%s)", read, name, zero)
	}
	return f, nil
}

// javaType returns the boxed Java type of a schema, and what reads a value of it: the name of a
// method of a Reader, or a function.
func javaType(s *schema, enums map[string][]string) (typ, read string, err error) {
	if name := s.ref(); name != "" {
		return name, name + "::of", nil
	}
	if len(s.Enum) > 0 {
		name := shared[strings.Join(s.Enum[:min(len(s.Enum), 3)], ",")]
		if name == "" {
			return "", "", fmt.Errorf("the enum %q has no name: give it one in shared", s.Enum)
		}
		if known := enums[name]; known != nil && !slices.Equal(known, s.Enum) {
			return "", "", fmt.Errorf("the enum %s is %q and %q", name, known, s.Enum)
		}
		enums[name] = s.Enum
		return name, name + "::of", nil
	}
	kind := ""
	for _, t := range s.Type {
		if t != "null" {
			kind = t
		}
	}
	switch kind {
	case "":
		return "Object", "any", nil
	case "string":
		if s.Format == "date-time" {
			return "Instant", "time", nil
		}
		return "String", "text", nil
	case "boolean":
		return "Boolean", "bool", nil
	case "number":
		return "Double", "number", nil
	case "integer":
		if s.Format == "int64" {
			return "Long", "int64", nil
		}
		return "Integer", "int32", nil
	case "array":
		typ, read, err := javaType(s.Items, enums)
		return "List<" + typ + ">", element(typ, read), err
	case "object":
		var of schema
		if err := json.Unmarshal(s.AdditionalProperties, &of); err != nil {
			return "", "", fmt.Errorf("an object without a name: %w", err)
		}
		typ, read, err := javaType(&of, enums)
		return "Map<String, " + typ + ">", element(typ, read), err
	}
	return "", "", fmt.Errorf("there is no Java type for %q", kind)
}

// element is a function that reads one element of a list or map.
func element(typ, read string) string {
	if strings.Contains(read, "::") {
		return read
	}
	return typ + ".class::cast"
}

// add adds an operation.
func (m *model) add(path, verb string, op *operation, enums map[string][]string) error {
	o := method{Name: camel(op.OperationID), Summary: op.Summary, Description: op.Description, Verb: strings.ToUpper(verb)}
	var parts []string
	for i, part := range strings.Split(path, "{") {
		if i > 0 {
			name, rest, _ := strings.Cut(part, "}")
			o.Segments = append(o.Segments, camel(name))
			parts, part = append(parts, "segment("+camel(name)+")"), rest
		}
		if part != "" {
			parts = append(parts, fmt.Sprintf("%q", part))
		}
	}
	o.Path = strings.Join(parts, " + ")
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		f, err := makeField(p.Name, p.Schema, false, enums)
		if err != nil {
			return err
		}
		f.Doc = p.Description
		o.Query = append(o.Query, f)
	}
	if len(o.Query) > 2 {
		o.QueryType = pascal(op.OperationID) + "Query"
		m.Records = append(m.Records, record{Name: o.QueryType, Fields: o.Query, Asked: true})
	}
	if op.RequestBody != nil {
		o.Body, o.BodyOptional = op.RequestBody.Content["application/json"].Schema.ref(), !op.RequestBody.Required
	}
	answers := make(map[string]string) // by status
	o.Answer = "void"
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		content := op.Responses[status].Content
		switch name := content["application/json"].Schema; {
		case status == "default":
		case name != nil && name.ref() != "":
			answers[status] = name.ref()
			o.Answer = name.ref()
		case len(content) > 0:
			o.Answer = "String"
		}
	}
	if len(answers) == 0 {
		m.Operations = append(m.Operations, o)
		return nil
	}
	o.Stated = len(answers) > 1
	o.Read = "(status, json) -> " + o.Answer + ".of(json)"
	if o.Stated && answers["200"] != o.Answer { // 202, and 200 with something else
		one, other := answers["200"], o.Answer
		o.Either, o.Stated = []string{other, one}, false
		o.Answer = pascal(op.OperationID) + "Answer"
		o.Read = fmt.Sprintf("(status, json) -> status == 200 ? %s.of(json) : %s.of(json)", one, other)
		for i, r := range m.Records {
			if slices.Contains(o.Either, r.Name) {
				m.Records[i].Implements = "Operations." + o.Answer
			}
		}
	}
	m.Operations = append(m.Operations, o)
	return nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// camel is a name of a field or a method in Java.
func camel(name string) string {
	name = pascal(name)
	return strings.ToLower(name[:1]) + name[1:]
}

// pascal is a name of a class in Java.
func pascal(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/order/states"
	"github.com/bellmanhq/bellman/rule"
)

var verifyFields = []field[sign.VerifyConfig]{
	{name: "scheme", set: func(c *sign.VerifyConfig, s string) error { return choice(&c.Scheme, s, sign.VerifySchemes()...) }},
	{name: "header", set: func(c *sign.VerifyConfig, s string) error { return filled(&c.Header, s) }},
	{name: "secrets", read: func(r *reader, path string, n ast.Node, c *sign.VerifyConfig) { c.Secrets = r.secrets(n, path) }},
	{name: "tolerance", set: func(c *sign.VerifyConfig, s string) error { return atLeast(&c.Tolerance, s, time.Second) }},
}

var noticeAnswerFields = []field[NoticeAnswer]{
	{name: "status", set: func(a *NoticeAnswer, s string) error { return number(&a.Status, s, 200, 599) }},
	{name: "body", set: func(a *NoticeAnswer, s string) error { a.Body = s; return nil }},
}

var noticeFields = []field[Notice]{
	{name: "verify", read: readVerify},
	{name: "items", set: func(to *Notice, s string) error { return dotted(&to.Items, s) }},
	{name: "order", set: func(to *Notice, s string) error { return compiled(&to.Order, s, rule.CompileValue) }},
	{name: "state", set: func(to *Notice, s string) error { return compiled(&to.State, s, states.CompileQueryValue) }},
	{name: "states", read: func(r *reader, path string, n ast.Node, to *Notice) {
		to.States = readReadings(r, path, n, compiles(states.CompileQuery), compiles(states.CompileQueryRules))
	}},
	{name: "answer.accepted", read: func(r *reader, path string, n ast.Node, to *Notice) {
		fill(r, n, path, noticeAnswerFields, &to.Accepted)
	}},
	{name: "answer.refused", read: func(r *reader, path string, n ast.Node, to *Notice) {
		fill(r, n, path, noticeAnswerFields, &to.Refused)
	}},
}

// dotted reads names of fields with dots between them.
func dotted(to *string, s string) error {
	if slices.Contains(strings.Split(s, "."), "") {
		return fmt.Errorf("%.40q: a name is empty: want names with one dot between them, such as data.items", s)
	}
	*to = s
	return nil
}

// readVerify reads who signs a gateway's notices. Secrets outside the file are tried out in
// CheckSecrets.
func readVerify(r *reader, path string, n ast.Node, to *Notice) {
	kept := len(r.kept)
	if fill(r, n, path, verifyFields, &to.Verify) && to.Verify.Scheme == "" {
		r.note(n, path+".scheme", "is missing: a notice that nobody signed decides nothing")
	}
	for i := range r.kept[kept:] {
		r.kept[kept+i].fits = func(text string) error {
			c := to.Verify
			c.Secrets = []sign.Secret{sign.NewSecret(text)}
			_, err := sign.NewVerifier(c)
			if err != nil {
				return errors.New(strings.TrimPrefix(err.Error(), "secrets[0]: "))
			}
			return nil
		}
	}
}

// readNotice reads how a gateway's notices are verified and read.
func readNotice(r *reader, path string, n ast.Node, q *Queue) {
	to := new(Notice)
	q.Order.Notice = to
	noted := len(r.problems)
	fill(r, n, path, noticeFields, to)
	if len(r.problems) > noted {
		return
	}
	if to.Verify.Scheme == "" {
		r.note(n, path+".verify", "is missing: want {scheme: …, secrets: […]}; a notice that nobody signed decides nothing")
	}
	if to.Order == "" {
		r.note(n, path+".order", "is missing: want an expression for the channel's order number, such as json.out_trade_no")
	}
	if to.States.zero() == (to.State == "") {
		r.note(n, path+".states", "want states, as for query, or state, an expression for the name of the state: one of them")
	}
}

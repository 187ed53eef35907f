package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/coded"
)

// labels are the texts under which forms show the API's fields.
var labels = map[string]string{
	"filter": "field.filter", "filter.created_from": "field.from", "filter.created_to": "field.to",
	"mode": "resend.mode", "rate": "resend.rate", "due": "field.due", "outcome": "act.outcome", "reason": "act.reason", "queue": "field.queue", "endpoint": "col.endpoint", "life": "link.life",
	"merchant_no": "field.merchant_no", "order_no": "field.order_no", "name": "merchant.name", "notify_url": "merchant.url", "sign": "merchant.sign",
	"sign.scheme": "merchant.sign", "sign.secrets": "merchant.keys", "sign.serial": "merchant.serial", "sign.params": "merchant.params", "sign.header": "merchant.header", "secret": "merchant.secret", "overlap": "merchant.overlap",
	"account": "field.account", "channel": "account.channel", "url": "account.url", "mch_id": "account.mch_id", "sub_mch_id": "account.sub_mch_id", "app_id": "account.app_id",
	"seller_id": "account.seller_id", "serial": "account.serial", "account.rate": "account.rate", "private_key": "account.private_key", "api_v3_key": "account.api_v3_key", "platform_keys": "account.platform_key",
	"alipay_public_keys": "account.alipay_public_keys", "app_auth_token": "account.app_auth_token", "app_certificate": "account.app_certificate", "certificate": "account.certificate", "root_certificates": "account.root_certificates",
	"schedule": "field.schedule", "success": "field.success", "timeout": "field.timeout",
	"per_endpoint.concurrency": "queue.concurrency", "per_endpoint.rate": "queue.rate",
}

// problem describes an error in the visitor's language, by the error's code and parameters {a}, {b}
// and so on. An error without a code keeps its own words.
func (l *language) problem(why error) string {
	text, said := l.coded(why)
	if !said {
		return why.Error()
	}
	return text
}

// coded describes an error that has a code.
func (l *language) coded(why error) (text string, said bool) {
	e, is := errors.AsType[*coded.Error](why)
	if !is {
		return "", false
	}
	text, said = l.texts["problem."+e.Code]
	for i, arg := range e.Args() {
		if inside, is := arg.(error); is {
			arg = l.problem(inside)
		}
		text = strings.ReplaceAll(text, "{"+string(rune('a'+i))+"}", arg.(string))
	}
	return text, said
}

// field describes what is wrong with a field.
func (l *language) field(f *bellman.FieldError) string {
	if text, said := l.coded(f.Why); said {
		return text
	}
	return f.Problem
}

// invalid describes what is wrong with which fields, under the names that forms show.
func (l *language) invalid(e *bellman.Invalid) string {
	texts := make([]string, len(e.Fields))
	for i := range e.Fields {
		f := &e.Fields[i]
		name, _, _ := strings.Cut(f.Field, "[") // without the index of an element
		label, is := labels[name]
		if filter, of := strings.CutPrefix(name, "filter."); !is && of {
			label, is = "field."+filter, slices.Contains(taskFields, filter) || slices.Contains(orderFields, filter)
		}
		if is {
			name = l.say(label)
		} else {
			name = f.Field
		}
		texts[i] = name + ": " + l.field(f)
		if i < len(e.Fields)-1 && !strings.HasSuffix(texts[i], ".") && !strings.HasSuffix(texts[i], "。") {
			texts[i] += ";"
		}
	}
	return strings.Join(texts, " ")
}

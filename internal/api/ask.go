package api

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/schedule"
)

// Limits on the fields of a task, besides those of package bellman. The limits of texts are also in
// the tags of client.CreateTask; a test compares them.
const (
	maxMethod   = 16
	maxRepeat   = 200
	maxDuration = 64

	maxHeaderName  = 256
	maxHeaderValue = 8192

	maxVars    = 64
	maxVarName = 64
	maxVar     = 4000
)

// ask converts a request to a task for the engine. It adds mistakes to f; then the task must not be
// used.
func ask(in *client.CreateTask, f *faults) *bellman.Task {
	t := &bellman.Task{
		Queue: in.Queue, Key: in.Key,
		MerchantNo: in.MerchantNo, OrderNo: in.OrderNo, Event: in.Event,
		URL: in.URL, Method: in.Method, Header: in.Headers,
		Schedule: in.Schedule, Success: in.Success, Repeat: in.Repeat,
		OrderingKey: in.OrderingKey, Supersedes: in.Supersedes,
		StartAt: in.Due.Time,
	}
	if r := in.Resume; r != nil {
		t.Origin = &bellman.Origin{Resume: &bellman.Resume{Attempts: r.Attempts, Last: r.Last.Time, Began: r.Began.Time}}
	}
	askLabels(in, f)
	bounded(f, "url", in.URL, bellman.MaxURL)
	bounded(f, "method", in.Method, maxMethod)
	bounded(f, "schedule", in.Schedule, bellman.MaxRule)
	bounded(f, "success", in.Success, bellman.MaxRule)
	bounded(f, "repeat", in.Repeat, maxRepeat)
	headers(f, in.Headers)
	askBody(in, f, t)
	askTimes(in, f, t)
	t.MaxAge = duration(f, "max_age", in.MaxAge, time.Millisecond, schedule.MaxDuration)
	return t
}

// askLabels checks the fields that tasks of every kind have.
func askLabels(in *client.CreateTask, f *faults) {
	if in.Queue == "" && !f.has("queue") {
		f.add("queue", "is required")
	}
	label(f, "queue", in.Queue, bellman.MaxName)
	for _, key := range []struct{ name, value string }{{"key", in.Key}, {"ordering_key", in.OrderingKey}} {
		label(f, key.name, key.value, bellman.MaxKey)
		if len(key.value) > bellman.MaxKey && utf8.RuneCountInString(key.value) <= bellman.MaxKey {
			f.add(key.name, fmt.Sprintf("is longer than %d bytes", bellman.MaxKey))
		}
	}
	label(f, "merchant_no", in.MerchantNo, bellman.MaxName)
	label(f, "order_no", in.OrderNo, bellman.MaxName)
	label(f, "event", in.Event, bellman.MaxName)
}

func askBody(in *client.CreateTask, f *faults, t *bellman.Task) {
	switch {
	case in.JSON == nil:
		if in.Body != "" {
			t.Body = []byte(in.Body)
		}
	case in.Body != "":
		f.add("json", "give body or json, not both")
	default:
		t.Body = bytes.Clone(in.JSON)
		for name := range in.Headers {
			if strings.EqualFold(name, "Content-Type") {
				return
			}
		}
		if t.Header == nil {
			t.Header = map[string]string{}
		}
		t.Header["Content-Type"] = "application/json"
	}
}

func askTimes(in *client.CreateTask, f *faults, t *bellman.Task) {
	if !in.Due.IsZero() && in.Delay != "" {
		f.add("delay", "give due or delay, not both")
	}
	if y := in.Due.Year(); !in.Due.IsZero() && (y < 1970 || y > 9999) {
		f.add("due", "want a time from 1970 to 9999")
	}
	t.Delay = duration(f, "delay", in.Delay, 0, schedule.MaxDuration)
	if in.Delay != "" && t.Delay == 0 {
		t.Delay = -1 // 0s means now, even if the queue has a delay
	}
	t.Timeout = duration(f, "timeout", in.Timeout, time.Millisecond, bellman.MaxTimeout)
}

// duration reads a duration from low to high; a text that is empty or wrong is 0.
func duration(f *faults, name, text string, low, high time.Duration) time.Duration {
	if text == "" {
		return 0
	}
	if !bounded(f, name, text, maxDuration) {
		return 0
	}
	d, err := schedule.ParseDuration(text)
	switch {
	case err != nil:
		f.add(name, err.Error())
	case d < low || d > high:
		f.add(name, fmt.Sprintf("want %s to %s", schedule.FormatDuration(low), schedule.FormatDuration(high)))
		d = 0
	}
	return d
}

// label checks a text that people search for.
func label(f *faults, name, text string, limit int) {
	if !bounded(f, name, text, limit) {
		return
	}
	for i := range len(text) {
		if text[i] < 0x20 || text[i] == 0x7f {
			f.add(name, "has a control character")
			return
		}
	}
}

// bounded checks the length of a text, in characters.
func bounded(f *faults, name, text string, limit int) bool {
	if len(text) > limit && utf8.RuneCountInString(text) > limit {
		f.add(name, fmt.Sprintf("is longer than %d characters", limit))
		return false
	}
	return true
}

func headers(f *faults, headers map[string]string) {
	if len(headers) > bellman.MaxHeaders {
		f.add("headers", fmt.Sprintf("has %d names: want at most %d", len(headers), bellman.MaxHeaders))
		return
	}
	var seen map[string]bool
	if len(headers) > 1 {
		seen = make(map[string]bool, len(headers))
	}
	for name, value := range headers {
		at := "headers." + cut(name)
		switch {
		case len(name) > maxHeaderName || !httpguts.ValidHeaderFieldName(name):
			f.add(at, fmt.Sprintf("is not a header's name: want 1 to %d letters, digits and hyphens", maxHeaderName))
		case len(value) > maxHeaderValue:
			f.add(at, fmt.Sprintf("is longer than %d bytes", maxHeaderValue))
		case strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }):
			f.add(at, "has a control character")
		}
		if seen != nil {
			lower := strings.ToLower(name)
			if seen[lower] {
				f.add(at, "is given twice, in upper and lower case")
			}
			seen[lower] = true
		}
	}
}

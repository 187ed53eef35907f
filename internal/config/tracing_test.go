package config

import (
	"errors"
	"strings"
	"testing"
)

func TestTracing(t *testing.T) {
	tests := []struct{ text, want string }{ // want: a part of the error; empty: there is none
		{"tracing: {endpoint: 'http://127.0.0.1:4318'}", ""},
		{"tracing: {endpoint: 'https://otlp.example/otlp/', headers: {Authorization: 'env:OTLP'}, sample: 0}", ""},
		{"tracing: {endpoint: ''}", ""},
		{"tracing: {endpoint: '127.0.0.1:4318'}", "tracing.endpoint: is no address of a collector: want http://HOST:4318"},
		{"tracing: {endpoint: 'http://127.0.0.1:4317'}", "usually speaks gRPC"},
		{"tracing: {endpoint: 'http://me:geheim@collector'}", "has more than host and path"},
		{"tracing: {endpoint: 'http://c', sample: 1.5}", "want a number from 0 to 1"},
		{"tracing: {endpoint: 'http://c', sample: NaN}", "want a number from 0 to 1"},
		{"tracing: {endpoint: 'http://c', headers: {'a b': x}}", "is not a header's name"},
		{"tracing: {endpoint: 'http://c', headers: {content-type: x}}", "is set by bellman"},
		{"tracing: {endpoint: 'http://c', headers: {a: \"geheim\\nx\"}}", "is no header's value"},
		{"tracing: {endpoint: 'http://c', attributes: {'': x}}", "has no name"},
		{"tracing: {endpoint: 'http://c', gibtsnicht: x}", "unknown field: want endpoint, headers, sample, service or attributes"},
		{"tracing: {sample: 0.1}", "tracing.sample: has no meaning without tracing.endpoint"},
		{"tracing: {headers: {a: b}}", "tracing.headers: has no meaning without tracing.endpoint"},
		{"queues: {a: {propagate_trace: true}}", "queues.a.propagate_trace: has no meaning without tracing.endpoint"},
		{"queues: {a: {propagate_trace: maybe}}", "want true or false"},
	}
	for _, tt := range tests {
		_, err := checked(tt.text)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v; want %q", tt.text, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "geheim"):
			t.Errorf("%s: %v; want an error that shows no secret", tt.text, err)
		}
	}
}

func TestTracingEndpoint(t *testing.T) {
	for text, want := range map[string]string{"http://c": "http://c", "http://c/": "http://c", "https://c/otlp/v1/traces": "https://c/otlp", "": ""} {
		var got string
		if err := collector(&got, text); err != nil || got != want {
			t.Errorf("collector(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestTracingSecretIsMissing(t *testing.T) {
	c, err := Parse([]byte("tracing: {endpoint: 'http://c', headers: {a: 'env:BELLMAN_TEST_IS_NOT_SET'}}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckSecrets(); err == nil || !strings.Contains(err.Error(), "tracing.headers.a") {
		t.Errorf("CheckSecrets() = %v; want one that names tracing.headers.a", err)
	}
	if _, err := c.Tracing.Header(); err == nil || !strings.HasPrefix(err.Error(), "headers.a: ") {
		t.Errorf("Header() = %v; want an error that names headers.a", err)
	}
}

// Who gave an endpoint that is none is told that alone.
func TestWrongEndpointIsOneMistake(t *testing.T) {
	_, err := Parse([]byte("tracing:\n  endpoint: nonsense\n  sample: 0.5\n"))
	if ps, is := errors.AsType[Problems](err); !is || len(ps) != 1 {
		t.Errorf("Parse() = %v, want one problem", err)
	}
}

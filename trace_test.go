package bellman_test

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParseTrace(t *testing.T) {
	tests := []struct {
		parent string
		want   string // Parent; empty: the header is invalid
	}{
		{parent, parent},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03"},
		{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like", parent},
		{"cc" + parent[2:], parent},

		{"", ""},
		{"00", ""},
		{strings.ToUpper(parent), ""},
		{"ff" + parent[2:], ""},
		{"0g" + parent[2:], ""},
		{parent + "-", ""},
		{parent + "-00", ""},
		{"cc" + parent[2:] + ".what", ""},
		{" " + parent, ""},
		{parent + "\n", ""},
		{parent[:54], ""},
		{strings.ReplaceAll(parent, "-", "_"), ""},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e473ß-00f067aa0ba902b7-01", ""},
		{strings.Repeat("0", 1<<20), ""},
	}
	for _, tt := range tests {
		got := ""
		if trace := bellman.ParseTrace(tt.parent, ""); trace != nil {
			got = trace.Parent()
		}
		if got != tt.want {
			t.Errorf("ParseTrace(%.80q).Parent() = %q; want %q", tt.parent, got, tt.want)
		}
	}
}

func TestParseTraceState(t *testing.T) {
	tests := []struct{ state, want string }{
		{"", ""},
		{"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"},
		{" a@b=1 , c=2 ", "a@b=1 , c=2"},
		{"a", ""},
		{"a=", ""},
		{"=a", ""},
		{"A=1", ""},
		{"a=b=c", ""},
		{"a=1\r\nX-Admin: yes", ""},
		{"a=\x7f", ""},
		{"a=ü", ""},
		{strings.Repeat("a=1,", 32) + "a=1", ""},
		{"a=" + strings.Repeat("x", 257), ""},
		{strings.Repeat("abcdefg=12345678,", 31)[:513], ""},
	}
	for _, tt := range tests {
		trace := bellman.ParseTrace(parent, tt.state)
		if trace == nil || trace.State != tt.want {
			t.Errorf("ParseTrace(parent, %.80q) = %+v; want State %q", tt.state, trace, tt.want)
		}
	}
}

// A valid trace is sent on, and read from a store, unchanged.
func FuzzParseTrace(f *testing.F) {
	f.Add(parent, "a=1,b=2")
	f.Add("01"+parent[2:]+"-x", " a=1")
	f.Add("00", "\x00")
	f.Fuzz(func(t *testing.T, header, state string) {
		trace := bellman.ParseTrace(header, state)
		if trace == nil {
			return
		}
		if again := bellman.ParseTrace(trace.Parent(), trace.State); again == nil || *again != *trace {
			t.Errorf("ParseTrace(%q, %q) = %+v, and parsed again %+v; want the same", header, state, trace, again)
		}
		kept, err := trace.AppendBinary([]byte("row"))
		var read bellman.Trace
		if err != nil || read.UnmarshalBinary(kept[3:]) != nil || read != *trace {
			t.Errorf("%+v is stored as %x, %v, and read as %+v; want the same", trace, kept, err, read)
		}
		if strings.ContainsFunc(trace.State, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("State is %q; want a valid header value", trace.State)
		}
	})
}

func TestDigestLeavesOriginOut(t *testing.T) {
	one := bellman.Task{Queue: "q", Key: "k", Body: []byte("b")}
	other := one
	other.SetTrace(bellman.ParseTrace(parent, "a=1"))
	other.SetCreatedBy("a key")
	if one.Digest() != other.Digest() {
		t.Error("the Digest depends on the Trace or on CreatedBy, so a repeated request would be a conflict")
	}
}

func TestTraceBinaryCutShort(t *testing.T) {
	if err := new(bellman.Trace).UnmarshalBinary(make([]byte, 24)); err == nil {
		t.Error("UnmarshalBinary of 24 bytes: no error")
	}
}

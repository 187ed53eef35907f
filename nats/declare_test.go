package nats

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/source/sourcetest"
)

// Dead letters that nothing takes, where nothing is to be declared, are told with what
// to do.
func TestAsItIsMissing(t *testing.T) {
	at, name := sourcetest.NATS(t), sourcetest.Name(t)
	s, err := (&Stream{URL: at, Name: name, Durable: "d", DeadLetter: "dead." + name, AsItIs: true}).Open(t.Context())
	if err == nil {
		s.Close()
		t.Fatal("opened; want an error")
	}
	if got := err.Error(); !strings.Contains(got, `subject "dead.`+name+`": `) || !strings.HasSuffix(got, "make one that takes that subject, or name a subject of yours as dead_letter") {
		t.Errorf("got %q; want it to say what to make", got)
	}
}

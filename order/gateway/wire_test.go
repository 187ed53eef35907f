package gateway

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
)

// overTheWire is what a server reads of a request.
func overTheWire(t *testing.T, r *http.Request) *http.Request {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	read, err := http.ReadRequest(bufio.NewReader(&b))
	if err != nil {
		t.Fatalf("%v: %q", err, b.String())
	}
	return read
}

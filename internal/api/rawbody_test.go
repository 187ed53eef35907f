package api

import (
	"testing"

	"github.com/bellmanhq/bellman/client"
)

// The buffer of a body is another request's before the body is decoded.
func TestRawBodyIsKept(t *testing.T) {
	var body rawBody[client.PutMerchant]
	buffer := []byte(`{"name":"one"}`)
	body.keep(buffer)
	copy(buffer, `{"name":"two"}`)
	if got := string(body.raw); got != `{"name":"one"}` {
		t.Errorf("the body is %s after its buffer was used again; want it unchanged", got)
	}
}

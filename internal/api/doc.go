// Package api serves bellman's HTTP API: JSON under /v1, the OpenAPI document that describes it,
// and the probes. It turns requests into calls on an [Engine] and a [Reader], and decides nothing
// about tasks itself.
//
// The shapes of its JSON are those of package client. The two calls that create tasks are the most
// frequent, so this package reads and writes their JSON itself (decode.go, encode.go), and huma
// only describes them. With encoding/json a create would cost the server a sixth more processor
// time. All other calls go through huma.
package api

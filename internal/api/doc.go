// Package api serves bellman's HTTP API: JSON under /v1, the OpenAPI document
// it is described by, and the probes. It turns requests into calls on an
// [Engine] and a [Reader], and decides nothing about tasks itself.
//
// The shapes of its JSON are those of package client. Creating is what happens
// most: those two calls are read and written by hand (decode.go, encode.go), and
// huma only describes them; everything else goes through huma. With encoding/json
// in place of encode.go a create took 133 µs of the server's processor time instead
// of 114 (medians of eight runs of bellman bench creates --quick, in turn).
package api

// Package api serves bellman's HTTP API: JSON under /v1, the OpenAPI document
// it is described by, and the probes. It turns requests into calls on an
// [Engine] and a [Reader], and decides nothing about tasks itself.
//
// The shapes of its JSON are those of package client. Creating is what happens
// most: those two calls are read and written by hand (decode.go, encode.go),
// everything else goes through huma. Both come from one registration, and a
// test holds them to the same answers.
package api

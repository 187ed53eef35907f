// Package client calls a bellman server over HTTP. Its types are the shapes of the API's JSON; the
// server uses the same types. It needs the standard library only.
//
// A [Client] has a method for each call. An error answer of the server is a *[Problem]. Lists with
// pages are iterators. The context bounds the duration of a call. No call is repeated unless
// [Options].Retries allows it.
package client

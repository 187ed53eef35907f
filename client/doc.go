// Package client speaks to a bellman server over HTTP, and has the shapes of
// its JSON: what the server writes is made of these same types. It needs the
// standard library only.
//
// A [Client] has a method for each call. What the server refuses comes back as
// a *[Problem]; lists that have pages are iterators. Nothing is retried: to
// create with a key is safe to repeat, and whoever calls knows how long to try.
package client

// Package client speaks to a bellman server over HTTP, and has the shapes of
// its JSON: what the server writes is made of these same types. It needs the
// standard library only.
//
// A [Client] has a method for each call. What the server refuses comes back as
// a *[Problem]; lists that have pages are iterators. The context says how
// long a call may take. Nothing is made again unless [Options].Retries says so:
// what cannot be done twice by that, such as to create with a key.
package client

// Package console serves bellman's pages for people: what happens, what happened
// to one task or one order, and the few things that are done by hand. Pages are
// made on the server and work without JavaScript for reading; a small script of
// ours, htmx and uPlot make them live.
//
// It stands on the narrow interfaces of ports.go and decides nothing about tasks
// itself. No page reads more of a store than a bounded number of rows: what is
// not found within that is offered as "look further back".
//
// # Who may
//
// People sign in with the name of a key and the key itself. Without keys everybody
// may do everything, as in the API: then listen on a loopback address only.
//
// # Texts
//
// Each text is in words/en.json and words/zh.json under the same name; pages name
// it as {{t "name"}}. Tests find names that are missing in one of them, and those
// that nothing uses.
package console

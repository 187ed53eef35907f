// Package console serves bellman's pages for operations staff: present figures, the history of a
// task or an order, and a few manual actions. Pages and charts are rendered on the server and can
// be read without JavaScript. A small script and htmx update them live.
//
// It uses the narrow interfaces of ports.go and makes no decision about tasks itself. Each page
// reads a bounded number of rows from a store. If it finds nothing in them, it offers to look
// further back.
//
// # Access
//
// People sign in with a key and its name. Without keys everybody may do everything, as in the API:
// then listen on a loopback address only.
//
// # Texts
//
// Each text is in words/en.json and words/zh.json under the same name; pages use it as {{t
// "name"}}. Tests find names that are missing in one of the files, and names that are not used.
package console

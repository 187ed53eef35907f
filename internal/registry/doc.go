// Package registry keeps entries of one kind, such as merchants, in a store: one document each,
// with sealed secrets, and a bounded number of them in memory. Changes by other processes are
// visible within a second.
//
// Secrets are sealed (encrypted) before they are written, and opened only to use them.
package registry

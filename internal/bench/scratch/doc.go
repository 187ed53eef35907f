// Package scratch creates, fills and drops databases in a running server, for measurements and
// tests. It observes a store from outside, as the operator of the database does.
package scratch

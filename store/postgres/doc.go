// Package postgres is the store in a PostgreSQL database, for several nodes or
// for a database that is there already. What it keeps, and how it commits, is
// described in doc.go of internal/sqlstore; this package is what PostgreSQL does in a
// way of its own.
//
// A flight of statements is a pipeline, rows are inserted from arrays, and the
// server ends a transaction whose client has stopped in the middle of it.
package postgres

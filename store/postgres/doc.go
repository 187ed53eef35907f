// Package postgres is the store in a PostgreSQL database, for a cluster of nodes or beside an
// existing database. doc.go of internal/sqlstore describes the layout and how commits work. This
// package holds what is particular to PostgreSQL.
//
// A flight of statements is one pipeline. Rows are inserted from arrays. The server ends a
// transaction whose client hangs in the middle of it.
package postgres

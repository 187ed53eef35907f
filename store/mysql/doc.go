// Package mysql is the store in a MySQL 8 or MariaDB database, or in one that
// speaks their protocol. What it keeps, and how it commits, is described in doc.go of
// internal/sqlstore; this package is what these databases do in a way of their own.
//
// Keys are VARBINARY, because text of every collation but none pads or folds;
// rows are inserted many at a time, as large as a packet may be; and who won an
// idempotent insert is read back, because the number of affected rows does not
// say it.
package mysql

// Package mysql is the store in a MySQL 8 or MariaDB database, or in a database with their
// protocol. doc.go of internal/sqlstore describes the layout and how commits work. This package
// holds what is particular to these databases.
//
// Keys are VARBINARY, because every text collation but the binary one pads or folds. Rows are
// inserted many at a time, up to the size of a packet. The winner of an idempotent insert is read
// back, because the number of affected rows does not tell it.
package mysql

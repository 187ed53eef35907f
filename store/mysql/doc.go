// Package mysql is the store in a MySQL 8 or MariaDB database, or in a database with their
// protocol. doc.go of internal/sqlstore describes the layout and how commits work. This package
// holds what is particular to these databases.
//
// Keys are VARBINARY, because text collations ignore case or trailing blanks. One statement inserts
// many rows, up to the size of a packet. After an idempotent insert the store reads back which rows
// are new, because the number of affected rows does not show it.
package mysql

package postgres

// NewDatabase is newDatabase, for examples.
var NewDatabase = newDatabase

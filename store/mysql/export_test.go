package mysql

import "testing"

// NewDatabase is newDatabase, for examples.
var NewDatabase = newDatabase

// DSN is an address as the driver itself takes it.
func DSN(t *testing.T, address string) string {
	config, err := parseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	return config.FormatDSN()
}

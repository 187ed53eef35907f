package mysql

import "testing"

// DSN converts an address to the form that the driver takes.
func DSN(t *testing.T, address string) string {
	config, err := parseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	return config.FormatDSN()
}

package config

import (
	"crypto/x509"
	"fmt"
	"os"
)

// CheckFiles checks the files of connections. It returns Problems if one cannot be read, or if a ca has no
// certificate. A server starts all the same, and retries to connect until the files exist.
func (c *Config) CheckFiles() error {
	var ps Problems
	for _, connection := range c.Connections {
		at := "connections." + connection.Name
		if connection.CA != "" {
			text, err := os.ReadFile(connection.CA)
			if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
				err = fmt.Errorf("%s has no certificate: want a file of PEM, with lines BEGIN CERTIFICATE", connection.CA)
			}
			if err != nil {
				ps = append(ps, c.places[at+".ca"].problem(at+".ca", err.Error()))
			}
		}
		if connection.Credentials != "" {
			if _, err := os.ReadFile(connection.Credentials); err != nil {
				ps = append(ps, c.places[at+".credentials"].problem(at+".credentials", err.Error()))
			}
		}
	}
	return ps.err()
}

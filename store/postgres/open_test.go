package postgres

import (
	"context"
	"testing"
)

// TestSession checks the settings of each session, whatever the server's defaults are.
func TestSession(t *testing.T) {
	d := connectTest(t, newDatabase(t))
	want := map[string]string{"transaction_isolation": "read committed", "synchronous_commit": "on", "jit": "off",
		"idle_in_transaction_session_timeout": "3s", "lock_timeout": "3s", "application_name": "bellman"}
	for name, value := range want {
		var have string
		if err := d.pool.QueryRow(context.Background(), "SELECT current_setting($1)", name).Scan(&have); err != nil || have != value {
			t.Errorf("%s = %q, %v; want %q", name, have, err, value)
		}
	}
}
